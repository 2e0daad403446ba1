"""Every expert item: what raises it, in which frames, how serious it is. And whole captures do not raise it."""
import collections
import concurrent.futures
import functools
import os
import re
import shutil
import struct
import subprocess

import pytest

import pcap
import postgres
from wireshark import REPOSITORY, Scratch, Wireshark, trees

CAPTURES = REPOSITORY / 'tests' / 'captures'
BOTH_PASSES = pytest.mark.parametrize('two_pass', [False, True], ids=['one-pass', 'two-pass'])
HEADER = 25                             # of XLogData
PREFIX = 'pgrepl.expert.'


# --- captures that raise them -------------------------------------------------------------------------------

@functools.cache
def recorded(name):
    return pcap.read(CAPTURES / f'{name}.pcapng.gz')


def letters(message):
    """w and the letter of the logical message in XLogData, of another CopyData message its letter."""
    if message.kind != 'd' or message.mode != 'W':
        return ''
    return message.body[:1].decode() + (message.body[HEADER:HEADER + 1].decode() if message.body[:1] == b'w' else '')


def all_of(capture, *wanted):
    return [m for m in postgres.messages(capture)[0] if letters(m) in wanted]


def patch(capture, message, at, new):
    """Other bytes of the same number in a message that is in one packet."""
    packet = capture.packets[message.frame - 1]
    assert packet.data.count(message.body) == 1
    start = packet.data.index(message.body) + at
    data = packet.data[:start] + new + packet.data[start + len(new):]
    packets = list(capture.packets)
    packets[message.frame - 1] = packet._replace(data=data)
    return capture._replace(packets=packets)


def one_patched(name, letter, at, new):
    capture = recorded(name)
    message = all_of(capture, letter)[0]
    return patch(capture, message, at, new), [message.frame]


def malformed():
    """One column more than there is."""
    return one_patched('pg15_proto1_orders', 'wI', HEADER + 6, b'\0\x63')


def trailing_bytes():
    """One column less than there is."""
    return one_patched('pg15_proto1_orders', 'wI', HEADER + 6, b'\0\x01')


def unknown_message():
    return one_patched('pg15_proto1_orders', 'wD', HEADER, b'?')


def not_captured():
    capture, length = recorded('pg15_proto1_orders'), 110
    cut = [m.frame for m in all_of(capture, 'k', 'wB', 'wR', 'wI', 'wU', 'wD', 'wC', 'r')
           if len(capture.packets[m.frame - 1].data) > length]
    return pcap.snap(capture, length), cut


def stream_guessed():
    """The beginning is cut off, on a port that is not PostgreSQL's."""
    capture = recorded('pg15_port6543')
    first = all_of(capture, 'wB')[0].frame
    return capture._replace(packets=capture.packets[first - 1:]), [1]


def unknown_relation():
    return one_patched('pg15_proto1_orders', 'wU', HEADER + 1, b'\0\0\0\x07')


def relation_lost():
    capture = recorded('pg15_proto1_orders')
    rows = [m.frame for m in all_of(capture, 'wI', 'wU', 'wD')]
    lost = all_of(capture, 'wR')[0].frame
    return pcap.drop(capture, lost - 1), [frame - 1 for frame in rows]


def column_count():
    """The table has one column less than its rows."""
    capture = recorded('pg15_proto1_orders')
    relation = all_of(capture, 'wR')[0]
    at = relation.body.index(b'\0', relation.body.index(b'\0', HEADER + 5) + 1) + 2
    count = int.from_bytes(relation.body[at:at + 2], 'big')
    assert 1 < count < 20
    rows = [m.frame for m in all_of(capture, 'wI', 'wU', 'wD')]
    return patch(capture, relation, at, (count - 1).to_bytes(2, 'big')), rows


def value():
    """An int4 of another length: the column is text in truth."""
    row = b'I\0\0\0\x07N\0\x01b\0\0\0\x03abc'
    relation = b'R\0\0\0\x07s\0t\0d\0\x01\0a\0\0\0\0\x17\xff\xff\xff\xff'
    pieces = [postgres.xlog_data(0, 1, relation), postgres.xlog_data(1, 1, row)]
    return postgres.logical_stream(pieces), [FIRST_PIECE + 1]


FIRST_PIECE = 8                         # frame of the first piece of postgres.logical_stream()


def lost_commit():
    """The next Begin says so."""
    capture = recorded('pg15_proto1_orders')
    lost = all_of(capture, 'wC')[1].frame
    following = next(m.frame for m in all_of(capture, 'wB') if m.frame > lost)
    return pcap.drop(capture, lost - 1), [following - 1]


def commit_too_late():
    """Two transactions are turned around so that one begins in the other."""
    capture = recorded('pg15_proto1_orders')
    commit = all_of(capture, 'wC')[0]
    begin = next(m for m in all_of(capture, 'wB') if m.frame > commit.frame)
    at = commit.frame - 1
    before, after = capture.packets[at], capture.packets[begin.frame - 1]
    assert all(pcap.parse(p, capture.linktype).payload[:1] != b'd' for p in capture.packets[commit.frame:begin.frame - 1])
    first, second = (pcap.parse(p, capture.linktype) for p in (before, after))
    packets = list(capture.packets)
    packets[at] = built(before, first._replace(payload=second.payload))
    moved = first.seq + len(second.payload)
    packets[begin.frame - 1] = built(after, second._replace(seq=moved, payload=first.payload))
    return capture._replace(packets=packets), [commit.frame]


def built(packet, segment):
    data = pcap.build(segment)
    return packet._replace(data=data, length=len(data))


def begin_not_seen():
    """The first Begin is lost; the Commit of what has no beginning says so."""
    capture = recorded('pg15_proto1_orders')
    begin, commit = all_of(capture, 'wB')[0].frame, all_of(capture, 'wC')[0].frame
    return pcap.drop(capture, begin - 1), [commit - 1]


def rollback():
    capture = recorded('pg14_proto2_streaming')
    return capture, [m.frame for m in all_of(capture, 'wA')]


def rollback_prepared():
    capture = recorded('pg18_two_phase_streamed')
    return capture, [m.frame for m in all_of(capture, 'wr')]


def no_reply():
    """The first of two keepalives in a row asks for a reply."""
    capture = recorded('pg15_proto1_orders')
    first, second = all_of(capture, 'k', 'r')[:2]
    assert letters(first) == letters(second) == 'k'
    return patch(capture, first, 17, b'\1'), [second.frame]


def position_backwards():
    """A status update that tells less than the one before."""
    updates = [postgres.message(b'd', b'r' + b''.join(n.to_bytes(8, 'big') for n in lsns) + bytes(9))
               for lsns in ((9, 9, 9), (9, 8, 9), (9, 8, 0), (9, 8, 8))]
    capture = postgres.logical_stream([postgres.keepalive(9, 1)])
    capture = with_client(capture, updates)
    return capture, [FIRST_PIECE + 2, FIRST_PIECE + 4]


def swapped_updates():
    """What two status updates tell is exchanged."""
    capture = recorded('pg15_keepalives')
    updates = [m for m in all_of(capture, 'r') if len(m.body) == 34]
    pairs = [(a, b) for a, b in zip(updates, updates[1:]) if a.body[9:17] < b.body[9:17] and a.body[9:17] != bytes(8)
             and capture.packets[a.frame - 1].data.count(a.body) == capture.packets[b.frame - 1].data.count(b.body) == 1]
    a, b = pairs[-1]
    capture = patch(patch(capture, a, 1, b.body[1:25]), b, 1, a.body[1:25])
    below = told_less(capture)
    assert b.frame in below
    return capture, below


def node_client():
    """This client goes back by itself."""
    capture = recorded('pg17_node_client')
    return capture, told_less(capture)


def told_less(capture):
    """Frames of status updates that tell less than the one before."""
    told, below = [0, 0, 0], []
    for m in all_of(capture, 'r'):
        now = [int.from_bytes(m.body[at:at + 8], 'big') for at in (1, 9, 17)]
        if any(0 < n < t for n, t in zip(now, told)):
            below.append(m.frame)
        told = [n or t for n, t in zip(now, told)]
    return below


def with_client(capture, messages):
    """Messages of the client before the end of a made-up conversation."""
    packets = list(capture.packets)
    last = pcap.parse(packets[-4], capture.linktype)            # of the server
    end = pcap.parse(packets[-3], capture.linktype)             # FIN of the client
    seq, time = end.seq, packets[-4].time
    for message in messages:
        time += 1000
        s = end._replace(seq=seq, ack=last.seq + len(last.payload), flags=pcap.PSH | pcap.ACK, payload=message)
        packets.insert(-3, built(packets[-4]._replace(time=time), s))
        seq += len(message)
    for i in (-3, -2, -1):
        s = pcap.parse(packets[i], capture.linktype)
        mine = s.source == end.source
        s = s._replace(seq=s.seq + seq - end.seq) if mine else s._replace(ack=s.ack + seq - end.seq)
        packets[i] = built(packets[i], s)
    return capture._replace(packets=packets)


FIRST_RECORD, SECOND_RECORD = 0x28, 0x78        # in the first WAL of the capture, behind the long page header


def wal_patched(at, new, name='pg15_pg_receivewal'):
    """Other bytes in the first WAL of a physical stream."""
    capture = recorded(name)
    message = next(m for m in postgres.messages(capture)[0] if m.kind == 'd' and m.mode == 'W' and m.body[:1] == b'w')
    assert message.body[HEADER:HEADER + 2] == b'\x10\xd1' and message.body[HEADER + FIRST_RECORD] == SECOND_RECORD - FIRST_RECORD - 2
    return patch(capture, message, HEADER + at, new), [message.frame]


def wal_crc():
    """The last byte of a record is another one."""
    return wal_patched(SECOND_RECORD - 3, b'\xff')


def wal_prev():
    """The second record names another one before it."""
    return wal_patched(SECOND_RECORD + 8, b'\x30')


def wal_record():
    """A block reference of the first record has more data than the record."""
    return wal_patched(FIRST_RECORD + 24 + 2, b'\xff\xff')


def wal_not_located():
    """The page header is none."""
    return wal_patched(0, b'\0\0')


def wal_overwritten():
    """A page says that the record before it was given up."""
    start, size = 0x2000000, 8192
    header = struct.pack('<HHIQII', 0xd110, 2, 1, start, 0, 0) + struct.pack('<QII', 1, 1 << 24, size)
    record = struct.pack('<IIQBBHI', 20000, 7, start - 40, 0, 10, 0, 0)
    first = (header + record).ljust(size, b'\0')
    second = struct.pack('<HHIQII', 0xd110, 8, 1, start + size, 0, 0).ljust(size, b'\0')
    data = [postgres.message(b'd', struct.pack('>cQQq', b'w', at, at + size, 849288006153206) + page)
            for at, page in ((start, first), (start + size, second))]
    start_command = postgres.message(b'Q', b'START_REPLICATION 0/2000000 TIMELINE 1\0')
    return pcap.conversation([
        (pcap.CLIENT, postgres.startup(user='me', replication='true')),
        (pcap.SERVER, postgres.message(b'R', bytes(4)) + postgres.message(b'Z', b'I')),
        (pcap.CLIENT, start_command), (pcap.SERVER, postgres.message(b'W', bytes(3))),
        *((pcap.SERVER, piece) for piece in data)]), [FIRST_PIECE + 1]


ITEMS = 400                             # of a tree, when Wireshark is told to be content with few


def left_out():
    """A frame of hundreds of messages."""
    capture = recorded('pg15_coalesced')
    count = collections.Counter(m.frame for m in all_of(capture, 'wI', 'wD'))
    assert not [n for n in count.values() if 20 < n < 50]       # no doubt about what is too much
    return capture, [frame for frame, n in count.items() if n >= 50]


CASES = [
    ('malformed', 'Errors', malformed),
    ('trailing_bytes', 'Warns', trailing_bytes),
    ('unknown_message', 'Warns', unknown_message),
    ('not_captured', 'Notes', not_captured),
    ('stream_guessed', 'Notes', stream_guessed),
    ('unknown_relation', 'Notes', unknown_relation),
    ('unknown_relation', 'Notes', relation_lost),
    ('column_count', 'Warns', column_count),
    ('value', 'Notes', value),
    ('transaction_unfinished', 'Notes', lost_commit),
    ('transaction_unfinished', 'Notes', commit_too_late),
    ('begin_not_seen', 'Notes', begin_not_seen),
    ('rollback', 'Chats', rollback),
    ('rollback', 'Chats', rollback_prepared),
    ('no_reply', 'Notes', no_reply),
    ('position_backwards', 'Notes', position_backwards),
    ('position_backwards', 'Notes', swapped_updates),
    ('position_backwards', 'Notes', node_client),
    ('wal_crc', 'Errors', wal_crc),
    ('wal_prev', 'Warns', wal_prev),
    ('wal_record', 'Errors', wal_record),
    ('wal_not_located', 'Notes', wal_not_located),
    ('wal_overwritten', 'Chats', wal_overwritten),
    ('left_out', 'Notes', left_out),
]
ELSEWHERE = {'decoder_panic'}           # test_panic below


# --- what Wireshark says ------------------------------------------------------------------------------------

def registered(wireshark):
    """{name: label} of the expert items."""
    rows = [line.split('\t') for line in wireshark.run('tshark', '-G', 'fields').text().splitlines()]
    return {row[2].removeprefix(PREFIX): row[1] for row in rows if row[0] == 'F' and row[2].startswith(PREFIX)}


def table(text):
    """The output of -z expert: {(severity, protocol, summary): count}."""
    found, severity = collections.Counter(), None
    for line in text.splitlines():
        if title := re.match(r'(Errors|Warns|Notes|Chats|Comments) \(\d+\)', line):
            severity = title[1]
        elif severity and (row := re.match(r' *(\d+) +(\S+) +(\S+) +(.*)', line)):
            found[severity, row[3], row[4]] += int(row[1])
    return found


def raised(wireshark, path, name, *more, two_pass=False):
    """Frames that the filter finds, and the table of all items of ours."""
    text = wireshark.tshark(path, '-Y', PREFIX + name, '-T', 'fields', '-e', 'frame.number', '-z', 'expert', *more,
                            two_pass=two_pass).text()
    frames = [int(line) for line in text.splitlines() if re.fullmatch(r'\d+', line)]
    return frames, {key: n for key, n in table(text).items() if key[1] == 'PGREPL'}


def test_all_have_a_case(wireshark):
    assert registered(wireshark).keys() == {name for name, _, _ in CASES} | ELSEWHERE


@BOTH_PASSES
@pytest.mark.parametrize('name, severity, make', CASES, ids=[f'{name}-{make.__name__}' for name, _, make in CASES])
def test_raised(wireshark, save, name, severity, make, two_pass):
    content, wanted = make()
    more = ('-o', f'gui.max_tree_items:{ITEMS}') if name == 'left_out' else ()
    frames, experts = raised(wireshark, save(content), name, *more, two_pass=two_pass)
    assert wanted and frames == sorted(set(wanted))
    label = registered(wireshark)[name]
    said = {key[0] for key in experts if key[2].startswith((label, 'More fields') if name == 'left_out' else label)}
    assert said == {severity}, experts


# What happens in whole captures, too: in all, or for certain in these.
NORMAL = {'rollback'}
KNOWN = {
    'pg15_values_binary': {'value'},    # the wire does not tell what the user's own types are made of
    'pg18_values_binary': {'value'},
    'pg17_node_client': {'position_backwards'},
}


def test_whole_captures_raise_none(wireshark, capture):
    """All of them hold whole connections with nothing lost."""
    experts = table(wireshark.tshark(capture, '-q', '-z', 'expert').text())
    ours = {key for key in experts if key[1] == 'PGREPL'}
    raised_here = {name for name, label in registered(wireshark).items() for key in ours if key[2].startswith(label)}
    assert raised_here - NORMAL == KNOWN.get(capture.source.name.split('.')[0], set()), ours
    assert not [key for key in ours if key[0] in ('Errors', 'Warns') or not key[2].startswith(tuple(registered(wireshark).values()))]


# --- a fault in the core ------------------------------------------------------------------------------------

PANIC = """\
#include "{repository}/include/pgrepl.h"
static inline enum pgrepl_status
failing_next(struct pgrepl_walk *w, struct pgrepl_span *s, size_t n, char *t, size_t m, size_t *count)
{{
    (void)w, (void)s, (void)n, (void)t, (void)m;
    *count = 0;
    return PGREPL_STATUS_PANIC;
}}
#define pgrepl_walk_next failing_next
"""


@pytest.fixture(scope='module')
def panicking(tmp_path_factory):
    """A Wireshark with a plugin whose core fails in each walk."""
    compiler = shutil.which(os.environ.get('CC', 'cc'))
    assert compiler, 'no C compiler'
    series, tree = sorted(trees().items())[-1]
    work = tmp_path_factory.mktemp('panic')
    header = work / 'panic.h'
    header.write_text(PANIC.format(repository=REPOSITORY), encoding='utf-8')
    target = work / 'target'
    built_before = os.environ.get('CARGO_TARGET_DIR', REPOSITORY / 'target')
    done = subprocess.run(['make', '-C', REPOSITORY / 'plugin', f'SYSROOT={tree}', f'CFLAGS=-O0 -include {header}',
                           f'target={target}', f'library={built_before}/release/libpgrepl.a'], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    scratch = Scratch()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv('PGREPL_PLUGIN_DIR', str(target / 'plugin'))
            wireshark = Wireshark(series, tree, scratch, pool)
        for path in wireshark.plugins.rglob('*'):
            scratch.give(path)
        yield wireshark
        wireshark.close()
    scratch.remove()


@BOTH_PASSES
def test_panic(panicking, two_pass):
    content = recorded('pg15_proto1_orders')
    path = panicking.scratch.path / 'panic.pcapng'
    pcap.write(path, content)
    panicking.scratch.give(path)
    assert panicking.missing_plugin() is None
    frames, experts = raised(panicking, path, 'decoder_panic', two_pass=two_pass)
    every = [m.frame for m in postgres.messages(content)[0] if letters(m) or m.kind == 'Q']
    assert every and frames == sorted(set(every))
    assert {key[0] for key in experts} == {'Errors'} and sum(experts.values()) == len(every), experts
