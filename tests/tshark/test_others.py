"""Other protocols, on any port, look as they do without the plugin."""
import random

import pytest

import pcap
import postgres
import tls
from pcap import CLIENT, SERVER
from pdml import packets, same

HTTP = [(CLIENT, b'GET /k HTTP/1.1\r\nHost: d\r\n\r\n'), (SERVER, b'HTTP/1.1 200 OK\r\nContent-Length: 29\r\n\r\n' + b'd\0\0\0\x16krw' + b'h' * 21)]

TALKS = {
    'HTTP': HTTP,
    'SSH': [(CLIENT, b'SSH-2.0-a\r\n'), (SERVER, b'SSH-2.0-b\r\n'), (CLIENT, b'\0\0\x05\x14\x09\x14' + bytes(1300))],
    'SMTP': [(SERVER, b'220 d ESMTP\r\n'), (CLIENT, b'EHLO d\r\n'), (SERVER, b'250-d\r\n250 HELP\r\n')],
    'Redis': [(CLIENT, b'*3\r\n$3\r\nSET\r\n$1\r\nd\r\n$4\r\nwkrh\r\n'), (SERVER, b'+OK\r\n')],
    'torrent': [(CLIENT, b'd1:ad2:id20:' + b'w' * 20 + b'e1:q4:ping1:t2:kk1:y1:qe')],
    'MySQL': [(SERVER, b'\x4a\0\0\0\x0a8.0.36\0' + b'krwh' * 16), (CLIENT, b'\x15\0\0\0\x03select user from user')],
    'rows that are copied': [(SERVER, postgres.message(b'd', b'k' + b'0' * 16 + b'\n') * 3), (CLIENT, postgres.message(b'd', b'r' * 34))],
}


def noise(seed, first=b''):
    generator = random.Random(seed)
    return [(generator.choice((CLIENT, SERVER)), first + generator.randbytes(generator.randint(1, 1400))) for _ in range(200)]


@pytest.mark.parametrize('port', [6543, 40001, 443])
def test_other_ports(wireshark, save, port):
    talks = [*TALKS.values(), noise(1), noise(2, b'd'), noise(3, b'd\0\0\0'), noise(4, b'\x16\x03\x01'), noise(5, b'\x17\x03\x03')]
    path = save(pcap.join([pcap.conversation(talk, 51234 + n, port) for n, talk in enumerate(talks)]))
    same(packets(wireshark.without(path).bytes()), packets(wireshark.pdml(path).bytes()))


@pytest.mark.parametrize('port', [6543, 443])
def test_in_tls(wireshark, save, certificate, tmp_path, port):
    keylog = tmp_path / 'keys.log'
    way = tls.Way(direct=True, alpn=False, port=port)
    talks = [*TALKS.values(), noise(6), noise(7, b'd\0\0\0')]
    joined = pcap.join([tls.encrypt(pcap.conversation(talk), certificate, way, keylog, 51234 + n) for n, talk in enumerate(talks)])
    path = save(joined._replace(secrets=(tls.secrets(keylog.read_bytes()),)))
    without = wireshark.without(path)
    assert 'GET /k' in without.text()
    same(packets(without.bytes()), packets(wireshark.pdml(path).bytes()))


def test_a_difference_shows(wireshark, save):
    """The same comparison finds replication on these ports."""
    path = save(postgres.logical_stream([postgres.keepalive(1, 849288006153206)], server_port=6543))
    with pytest.raises(AssertionError):
        same(packets(wireshark.without(path).bytes()), packets(wireshark.pdml(path).bytes()))
