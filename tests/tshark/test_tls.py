"""What is said in TLS is shown as what is said in plain text, when the secrets are there."""
import itertools
import random
import re
import ssl

import pytest

import pcap
import postgres
import sharkd
import tls
from pdml import connections, packets, same
from test_passes import lasting
from test_segments import told

SMALL = (1, 300, 4, 5, 30, 17, 2, 90, 2000)

WAYS = {
    'after a request, 1.3': tls.Way(),
    'after a request, 1.2': tls.Way(ssl.TLSVersion.TLSv1_2, alpn=False),
    'after a request, small records': tls.Way(records=SMALL),
    'after a request, small records of 1.2': tls.Way(ssl.TLSVersion.TLSv1_2, records=SMALL),
    'after a request, other port': tls.Way(records=(700,), port=6543),
    'after a request, other port, 1.2': tls.Way(ssl.TLSVersion.TLSv1_2, port=6543),
    'direct': tls.Way(direct=True),
    'direct, 1.2, small records': tls.Way(ssl.TLSVersion.TLSv1_2, direct=True, records=SMALL),
    'direct, other port': tls.Way(direct=True, records=(700,), port=6543),
    'direct, no ALPN': tls.Way(direct=True, alpn=False),
    'direct, no ALPN, 1.2, other port': tls.Way(ssl.TLSVersion.TLSv1_2, direct=True, alpn=False, records=(700,), port=6543),
}

# The TCP segments: as they come, and of other sizes.
CUTS = {'as said': None, 'of 1460': (1460,), 'small': (7, 1460, 3, 5, 60_000, 1)}

# On a port that is not PostgreSQL's a few bytes do not tell what it is, neither in a segment nor in a record.
NAMES = [(name, cut) for name, way in WAYS.items() for cut in CUTS
         if cut == 'as said' or way.version == ssl.TLSVersion.TLSv1_3 and (cut != 'small' or way.port == 5432)]

FIRST_PORT = 51234                      # of the clients

REPLICATION = ('pg15_coalesced', 'pg16_proto4_parallel', 'pg16_several_starts')
RECORDED = ('pg15_tls', 'pg18_tls_direct')


@pytest.fixture
def encrypted(capture, certificate, tmp_path):
    """The connection of the capture in all ways of encryption, each from a port of its own: path and content."""
    def make(content):
        keylog, made = tmp_path / 'keys.log', []
        for n, (way, cut) in enumerate(NAMES):
            talk = tls.encrypt(content, certificate, WAYS[way], keylog, FIRST_PORT + n)
            made.append(pcap.resegment(talk, itertools.cycle(CUTS[cut])) if CUTS[cut] else talk)
        joined = pcap.join(made)
        return joined._replace(secrets=(tls.secrets(keylog.read_bytes()),))
    return capture.derive('tls', make)


@pytest.mark.captures(*REPLICATION)
def test_same_as_plain_text(wireshark, capture, encrypted):
    path, content = encrypted
    plain = connections(wireshark.pdml(capture).frames(), pcap.endpoints(capture.content))
    plain = {direction: [told(m) for m in messages] for (_, direction), messages in plain.items()}
    assert len(plain) == 2
    for two_pass in (False, True):
        found = connections(wireshark.messages(path, two_pass=two_pass).frames(), pcap.endpoints(content))
        for n, name in enumerate(NAMES):
            for direction in plain:
                shown, = [found.pop(way) for way in list(found) if way[1] == direction and way[0][0][1] == FIRST_PORT + n] or [[]]
                same(plain[direction], map(told, shown), f'{name}, {direction}:')
        assert not found


@pytest.mark.captures('pg15_coalesced', 'pg16_proto4_parallel')
def test_passes(wireshark, capture, encrypted):
    """One pass, two passes and clicks in any order show the same."""
    path, _ = encrypted
    one, two = wireshark.messages(path), wireshark.messages(path, two_pass=True)
    same(map(lasting, one.frames()), map(lasting, two.frames()))
    trees = sharkd.trees(wireshark.text(path).text())
    ours = [number for number, lines in trees.items() if any('PostgreSQL Replication' in line for line in lines)]
    assert len(ours) >= 2 * len(NAMES)
    with sharkd.Sharkd(wireshark) as window:
        for number in range(1, window.load(path) + 1, 7):
            window.frame(number)
        for number in random.Random(3).sample(ours, min(200, len(ours))):
            same(window.frame(number), trees[number], f'frame {number}')


@pytest.mark.captures('pg16_several_starts')
def test_layers(wireshark, encrypted):
    """However many records are in a frame, it counts once, and what comes several times in a row is counted."""
    path, _ = encrypted
    fields = ('frame.protocols', '_ws.col.Protocol', '_ws.col.Info')
    lines = wireshark.tshark(path, '-Y', 'pgrepl', '-T', 'fields', *(x for f in fields for x in ('-e', f))).text().splitlines()
    assert len(lines) > 100
    layers, protocols, infos = zip(*(line.split('\t') for line in lines))
    assert {(way.split(':').count('pgsql'), way.split(':').count('pgrepl')) for way in layers} == {(1, 1)}
    assert set(protocols) == {'PGREPL'}
    assert any('×' in info for info in infos)
    assert not [info for info in infos if re.search(r'(Insert [\w.]+|Keepalive [\w/]+)( ×\d+)?, \1\b', info)]


@pytest.mark.captures(*RECORDED)
def test_without_tls(wireshark, capture):
    """With TLS switched off Wireshark's own picture stays."""
    choice = ('-T', 'pdml', '-Y', 'tcp.stream > 0', '--disable-protocol', 'tls')
    without = packets(wireshark.tshark(capture, *choice, plugin=False).bytes())
    assert len(without) > 100
    same(without, packets(wireshark.tshark(capture, *choice).bytes()))


@pytest.mark.captures('pg15_keepalives')
def test_disabled(wireshark, encrypted):
    path, content = encrypted
    without, disabled = packets(wireshark.without(path).bytes()), packets(wireshark.disabled(path).bytes())
    assert len(without) == len(content.packets)
    same(without, disabled)


def data(messages):
    """What a server sends in a stream, without the time at which it does."""
    return [[f for f in told(m)[1] if not f[0].startswith(('pgrepl.send_time', 'pgrepl.delay.send'))] for m in messages
            if any(f.name == 'pgrepl.wal_start' for f in m.fields)]


@pytest.mark.captures(*RECORDED)
def test_recorded(wireshark, capture):
    """A real server says the same in plain text, with TLS 1.3 and with TLS 1.2."""
    found = connections(wireshark.pdml(capture).frames(), pcap.endpoints(capture.content))
    plain, *others = [data(m) for (_, direction), m in found.items() if direction == pcap.SERVER]
    assert len(plain) > 40 and len(others) == 2
    for other in others:
        same(plain, other)


@pytest.mark.captures(*RECORDED)
def test_key_log(wireshark, capture, save, scratch):
    """Secrets in a file do what secrets in the capture do; without any TLS is left to Wireshark."""
    without = save(capture.content._replace(secrets=()))
    secrets, = capture.content.secrets
    path = scratch.path / 'keys.log'
    path.write_bytes(tls.key_log(secrets))
    scratch.give(path)
    for two_pass in (False, True):
        there = wireshark.pdml(capture, two_pass=two_pass)
        from_file = wireshark.tshark(without, '-T', 'pdml', '-o', f'tls.keylog_file:{path}', two_pass=two_pass)
        same(map(lasting, there.frames()), map(lasting, from_file.frames()))
        closed = wireshark.pdml(without, two_pass=two_pass).frames()
        for frame, secret in zip(there.frames(), closed):
            assert not (secret.messages and 'tls' in frame.protocols)
        assert any('tls' in f.protocols and not s.messages for f, s in zip(there.frames(), closed) if f.messages)


@pytest.mark.parametrize('two_pass', [False, True])
@pytest.mark.parametrize('port', [5432, 6543])
def test_no_tls_in_mid_stream(wireshark, save, port, two_pass):
    """What looks like a ClientHello on a connection in plain text changes nothing."""
    keepalive = (pcap.SERVER, postgres.keepalive(1, 849288006153206))
    start = [(direction, data) for _, _, direction, data in pcap.arrivals(postgres.logical_stream([]))]
    said = [*start, keepalive, (pcap.CLIENT, bytes.fromhex('16030100050100000100')), keepalive, (pcap.CLIENT, b'\x16'), keepalive]
    frames = wireshark.messages(save(pcap.conversation(said, server_port=port)), two_pass=two_pass).frames()
    letters = [f.value for frame in frames for m in frame.messages for f in m.fields if f.name == 'pgrepl.copydata.type']
    assert letters == ['6b'] * 3


def test_changed_secrets_show(wireshark, certificate, save, tmp_path):
    """What is compared above comes out of TLS and nowhere else: with another key nothing does."""
    talk = postgres.logical_stream([postgres.keepalive(n, 849288006153206) for n in range(9)])
    keylog = tmp_path / 'keys.log'
    made = tls.encrypt(talk, certificate, tls.Way(), keylog)
    text = keylog.read_bytes()
    wrong = re.sub(rb'(?<=_0 )(\w+ )..', rb'\g<1>00', text)
    assert wrong != text
    shown = {right: sum(len(f.messages) for f in wireshark.messages(
        save(made._replace(secrets=(tls.secrets(log),)))).frames()) for right, log in ((True, text), (False, wrong))}
    assert shown == {True: 9, False: 0}
