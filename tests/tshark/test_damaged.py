"""Captures and streams that are not whole: short snap length, lost segments, hostile lengths, odd beginnings."""
import struct

import pytest

import pcap
import postgres
from documented import OF_SECOND_PASS
from pcap import CLIENT, SERVER

NOW = 849288006153206
BOTH_PASSES = pytest.mark.parametrize('two_pass', [False, True], ids=['one-pass', 'two-pass'])


def keepalives(n, first=0x1661e08):
    return [postgres.keepalive(first + i, NOW + i) for i in range(n)]


def insert(text, oid=16385):
    body = b'I' + struct.pack('>I', oid) + b'N' + struct.pack('>H', 1) + b't' + struct.pack('>i', len(text)) + text
    return postgres.xlog_data(0x1661e08, NOW, body)


def all_shown(wireshark, path, two_pass, name):
    """Values of a field in all messages; both passes have to agree on everything else too."""
    found = []
    for run in (wireshark.pdml(path), wireshark.pdml(path, two_pass=True)):
        found.append([(frame.number, f.name, f.show) for frame in run.frames() for m in frame.messages for f in m.fields
                      if f.name not in OF_SECOND_PASS])
        assert not [bug for frame in run.frames() for bug in frame.malformed if 'bug' in bug.lower()]
    assert found[0] == found[1]
    return [show for _, field, show in found[two_pass] if field == name]


def info(wireshark, path, *arguments):
    """The Info column of each frame, from a run without a tree."""
    return wireshark.tshark(path, '-o', 'gui.column.format:"Number","%m","Info","%i"', *arguments).text().splitlines()


@pytest.mark.captures('pg15_keepalives', 'pg14_proto2_streaming', 'pg15_coalesced', 'pg15_ddl')
@pytest.mark.parametrize('length', [60, 96, 128, 179])
def test_short_snap_length(wireshark, capture, save, length):
    """It ends, with a tree and without; what is not there is said to be not captured, never malformed."""
    path = save(pcap.snap(capture.content, length))
    assert len(info(wireshark, path)) == len(capture.content.packets)
    info(wireshark, path, '-2')
    frames = wireshark.pdml(path).frames()
    experts = {e.message for frame in frames for e in frame.experts if e.ours and e.severity >= 0x600000}
    assert not experts
    all_shown(wireshark, path, False, 'pgrepl.copydata.type')


@BOTH_PASSES
def test_after_a_lost_segment(wireshark, save, two_pass):
    """Text in the middle of a message looks like letter and length; it must not swallow what follows."""
    rows = [insert(b'n 12 and 1 2 3 and so on ' * 40) for _ in range(3)]
    stream = b''.join(rows)
    pieces = [*keepalives(1), stream[:60], stream[60:400], stream[400:], *keepalives(5, 0x2000000)]
    capture = postgres.logical_stream(pieces)
    lost = next(i for i, p in enumerate(capture.packets) if stream[60:400] in p.data)
    shown = all_shown(wireshark, save(pcap.drop(capture, lost)), two_pass, 'pgrepl.wal_end')
    assert shown[-5:] == [f'0/{0x2000000 + i:X}' for i in range(5)]


@BOTH_PASSES
@pytest.mark.parametrize('length', [0, 3, 0x40000000, 0xffffffff])
def test_impossible_lengths(wireshark, save, two_pass, length):
    pieces = [*keepalives(1), b'd' + struct.pack('>I', length) + b'kxx', *keepalives(2, 0x2000000)]
    path = save(postgres.logical_stream(pieces))
    assert all_shown(wireshark, path, two_pass, 'pgrepl.wal_end') == ['0/1661E08', '0/2000000', '0/2000001']
    said = [e.message for frame in wireshark.pdml(path).frames() for e in frame.experts if e.ours]
    assert any('is not between 4 and' in words for words in said), said


@BOTH_PASSES
def test_stream_that_begins_in_mid_frame(wireshark, save, two_pass):
    """The frame's first part is not ours and its second one is."""
    notice = postgres.message(b'N', b'SNOTICE\0C00000\0Mwell\0\0')
    both = postgres.message(b'W', b'\0\0\0')
    start = "START_REPLICATION SLOT \"s\" LOGICAL 0/0 (proto_version '1', publication_names '\"p\"')"
    capture = pcap.conversation([
        (CLIENT, postgres.startup(user='me', replication='database')),
        (SERVER, postgres.message(b'R', b'\0\0\0\0') + postgres.message(b'Z', b'I')),
        (CLIENT, postgres.message(b'Q', start.encode() + b'\0')),
        (SERVER, notice[:9]),
        (SERVER, notice[9:] + both + keepalives(1)[0]),
        (SERVER, keepalives(2)[1])])
    path = save(capture)
    assert all_shown(wireshark, path, two_pass, 'pgrepl.wal_end') == ['0/1661E08', '0/1661E09']
    trees = [wireshark.tshark(path, '-O', 'pgsql,pgrepl', two_pass=twice).text() for twice in (False, True)]
    assert trees[0] == trees[1]


def test_after_the_stream_lost_bytes_are_not_ours(wireshark, save):
    end = postgres.message(b'C', b'COPY 0\0') + postgres.message(b'Z', b'I')
    row = postgres.message(b'D', struct.pack('>HI', 1, 600) + b'x' * 600)
    capture = postgres.logical_stream([*keepalives(1), end, row[:300], row[300:]])
    lost = next(i for i, p in enumerate(capture.packets) if row[:300] in p.data)
    path = save(pcap.drop(capture, lost))
    assert len([m for frame in wireshark.pdml(path).frames() for m in frame.messages]) == 1


def test_control_characters_stay_in_their_line(wireshark, save):
    name = b'pu\nblic\0a\tb\x1b[31mred\r\0'
    relation = b'R' + struct.pack('>I', 1) + name + b'd' + struct.pack('>H', 0)
    path = save(postgres.logical_stream([postgres.xlog_data(0, NOW, relation)]))
    for text in (wireshark.tshark(path).text(), wireshark.tshark(path, '-V').text()):
        assert '\x1b' not in text and '\r' not in text
        assert 'Relation pu\\nblic.a\\tb\\u{1b}[31mred\\r' in text


def test_info_is_bounded(wireshark, save):
    pairs = [m for n in range(500) for m in (keepalives(1, n)[0], keepalives(1, n)[0])]
    lines = info(wireshark, save(postgres.logical_stream([b''.join(pairs)])))
    assert max(map(len, lines)) < 400


def test_a_refused_slot_says_nothing(wireshark, save):
    """CREATE_REPLICATION_SLOT fails; the slot of that name is another plugin's."""
    def command(text):
        return postgres.message(b'Q', text.encode() + b'\0')

    begin = b'B' + struct.pack('>Qq', 0x1661e08, NOW) + struct.pack('>I', 7)
    capture = pcap.conversation([
        (CLIENT, postgres.startup(user='me', replication='database')),
        (SERVER, postgres.message(b'R', b'\0\0\0\0') + postgres.message(b'Z', b'I')),
        (CLIENT, command('CREATE_REPLICATION_SLOT s LOGICAL test_decoding')),
        (SERVER, postgres.message(b'E', b'SERROR\0C42710\0Mthere\0\0') + postgres.message(b'Z', b'I')),
        (CLIENT, command("START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '1', publication_names 'p')")),
        (SERVER, postgres.message(b'W', b'\0\0\0') + postgres.xlog_data(0x1661e08, NOW, begin))])
    assert all_shown(wireshark, save(capture), False, 'pgrepl.xid') == ['7']
