"""Transactions, acknowledgements and lag in streams that are not as they should be."""
import random
import resource
import struct

import pytest

import pcap
import postgres
import sharkd
from pcap import CLIENT, SERVER
from pdml import same
from test_passes import lasting
from test_statistics import statistics

NOW = 849288006153206                   # a time of the server's clock
STREAMING = "proto_version '4', publication_names '\"p\"', streaming 'on'"
TWO_PHASE = "proto_version '3', publication_names '\"p\"', two_phase 'on'"


# --- messages -----------------------------------------------------------------------------------------------

def data(*parts, lsn=0x1000):
    return postgres.xlog_data(lsn, NOW, b''.join(parts))


def u32(*numbers):
    return struct.pack(f'>{len(numbers)}I', *numbers)


def u64(*numbers):
    return struct.pack(f'>{len(numbers)}Q', *numbers)


def begin(xid, lsn):
    return data(b'B', u64(lsn, NOW), u32(xid))


def commit(lsn):
    return data(b'C\0', u64(lsn, lsn + 8, NOW))


def insert(xid=None):
    return data(b'I', u32(xid) if xid else b'', u32(16385), b'N\0\1t\0\0\0\1x')


def start(xid, first=1):
    return data(b'S', u32(xid), bytes([first]))


STOP = data(b'E')


def stream_commit(xid, lsn=0x2000):
    return data(b'c', u32(xid), b'\0', u64(lsn, lsn + 8, NOW))


def abort(xid, subxid=None):
    return data(b'A', u32(xid, subxid or xid))


def begin_prepare(xid, gid, lsn=0x3000):
    return data(b'b', u64(lsn, lsn + 8, NOW), u32(xid), gid, b'\0')


def prepare(xid, gid, lsn=0x3000):
    return data(b'P\0', u64(lsn, lsn + 8, NOW), u32(xid), gid, b'\0')


def commit_prepared(xid, gid, lsn=0x4000):
    return data(b'K\0', u64(lsn, lsn + 8, NOW), u32(xid), gid, b'\0')


def rollback_prepared(xid, gid, lsn=0x5000):
    return data(b'r\0', u64(lsn, lsn + 8, NOW, NOW), u32(xid), gid, b'\0')


def status(write, flush, apply):
    return postgres.message(b'd', b'r' + u64(write, flush, apply, NOW) + b'\0')


def command(slot='s', options=STREAMING):
    return postgres.message(b'Q', f'START_REPLICATION SLOT "{slot}" LOGICAL 0/0 ({options})'.encode() + b'\0')


OPENING = [(CLIENT, postgres.startup(user='me', database='db', replication='database')),
           (SERVER, postgres.message(b'R', u32(0)) + postgres.message(b'Z', b'I'))]
BOTH = postgres.message(b'W', b'\0\0\0')


class Lost(bytes):
    """A piece that the capture does not have."""


def conversation(*pieces, slot='s', options=STREAMING, **ports):
    """A stream; pieces are of the server, or (CLIENT, bytes). Frame FIRST has the first."""
    pieces = [piece if isinstance(piece, tuple) else (SERVER, piece) for piece in pieces]
    whole = pcap.conversation([*OPENING, (CLIENT, command(slot, options)), (SERVER, BOTH), *pieces], **ports)
    lost = [FIRST - 1 + i for i, (_, piece) in enumerate(pieces) if isinstance(piece, Lost)]
    return pcap.drop(whole, *lost)


FIRST = 8


# --- what is shown ------------------------------------------------------------------------------------------

NAMES = {'xid': 'txn.xid', 'begin': 'txn.begin_frame', 'prepare': 'txn.prepare_frame', 'end': 'txn.end_frame',
         'outcome': 'txn.outcome', 'changes': 'txn.changes', 'ack': 'ack.frame', 'write': 'lag.write', 'flush': 'lag.flush',
         'apply': 'lag.apply'}
SHORT = {f'pgrepl.{name}': short for short, name in NAMES.items()}


def facts(frame):
    """The generated fields of a frame's only message, and the names of its remarks."""
    message, = frame.messages
    found = {SHORT[f.name]: f.show if f.name == 'pgrepl.txn.outcome' else int(f.show) for f in message.fields if f.name in SHORT}
    notes = {e.message.partition(':')[0] for e in frame.experts if e.ours} - {'Unknown relation'}
    return {**found, **({'notes': notes} if notes else {})}


def known_at_once(frame):
    """What is the same in one pass and two. After a loss the transaction's end tells which it was."""
    number, protocols, messages = lasting(frame)
    later = {'pgrepl.txn.xid', 'pgrepl.txn.begin_frame'}
    return number, protocols, [(pos, size, [f for f in fields if f.name not in later]) for pos, size, fields in messages]


def shown(wireshark, save, capture):
    """{frame: facts} with all that a second pass knows; one pass and clicks in any order agree."""
    path = save(capture)
    one, two = wireshark.pdml(path).frames(), wireshark.pdml(path, two_pass=True).frames()
    same(map(known_at_once, one), map(known_at_once, two))
    trees = sharkd.trees(wireshark.text(path).text())
    ours = [frame.number for frame in two if frame.messages]
    with sharkd.Sharkd(wireshark) as window:
        window.load(path)
        for number in random.Random(3).sample(ours, len(ours)):
            same(window.frame(number), trees[number], f'frame {number}')
    return {frame.number: facts(frame) for frame in two if frame.messages}


def of(xid, begin_frame, end_frame, outcome='committed', **more):
    """Facts, without those that are None."""
    found = {'xid': xid, 'begin': begin_frame, 'end': end_frame, 'outcome': outcome, **more}
    return {name: value for name, value in found.items() if value is not None}


UNFINISHED, NOT_BEGUN = {'Transaction not finished'}, {'Begin not seen'}


# --- plain transactions -------------------------------------------------------------------------------------

def test_commit_without_begin(wireshark, save):
    """The first packets of the stream are lost."""
    found = shown(wireshark, save, conversation(
        Lost(begin(7, 0x100)), insert(), insert(), commit(0x100), begin(8, 0x200), insert(), commit(0x200)))
    unseen, seen = of(None, None, 10), of(8, 11, 13)
    assert found == {8: unseen, 9: unseen, 10: {**unseen, 'notes': NOT_BEGUN}, 11: seen, 12: seen, 13: {**seen, 'changes': 1}}


def test_begin_without_commit(wireshark, save):
    found = shown(wireshark, save, conversation(
        begin(7, 0x100), insert(), begin(8, 0x200), commit(0x200), commit(0x300)))
    assert found == {8: of(7, 8, None, None), 9: of(7, 8, None, None), 10: of(8, 10, 11, notes=UNFINISHED),
                     11: of(8, 10, 11, changes=0), 12: of(None, None, 12, notes=NOT_BEGUN)}


def test_commit_of_another(wireshark, save):
    """It names another commit record than Begin has."""
    found = shown(wireshark, save, conversation(begin(7, 0x100), insert(), commit(0x200)))
    assert found == {8: of(7, 8, None, None), 9: of(7, 8, None, None), 10: of(None, None, 10, notes=NOT_BEGUN)}


def test_the_same_xid_again(wireshark, save):
    """After 2^32 others, or because the server sends it again; also streamed."""
    found = shown(wireshark, save, conversation(
        begin(7, 0x100), insert(), commit(0x100), begin(7, 0x200), commit(0x200),
        start(7), insert(7), STOP, abort(7), start(7), insert(7), insert(7), STOP, stream_commit(7)))
    plain, empty, gone, last = of(7, 8, 10), of(7, 11, 12), of(7, 13, 16, 'rolled back'), of(7, 17, 21)
    assert found == {8: plain, 9: plain, 10: {**plain, 'changes': 1}, 11: empty, 12: {**empty, 'changes': 0},
                     13: gone, 14: gone, 15: gone, 16: {**gone, 'notes': {'Rolled back'}},
                     17: last, 18: last, 19: last, 20: last, 21: {**last, 'changes': 2}}


def test_lost_in_a_transaction(wireshark, save):
    """The Commit names the record that Begin has named: both are of the same."""
    found = shown(wireshark, save, conversation(begin(7, 0x100), insert(), Lost(insert()), insert(), commit(0x100)))
    assert found == dict.fromkeys(range(8, 12), of(7, 8, 11))


def test_lost_twice_in_a_transaction(wireshark, save):
    found = shown(wireshark, save, conversation(
        begin(7, 0x100), insert(), Lost(insert()), insert(), Lost(insert()), insert(), commit(0x100)))
    assert found == dict.fromkeys(range(8, 13), of(7, 8, 12))


def test_lost_between_two_transactions(wireshark, save):
    """The end of one and the beginning of the next are gone: what follows is of the next."""
    found = shown(wireshark, save, conversation(
        begin(7, 0x100), insert(), Lost(commit(0x100) + begin(8, 0x200)), insert(), commit(0x200), begin(9, 0x300), commit(0x300)))
    unseen = of(None, None, 11)
    assert found == {8: of(7, 8, None, None), 9: of(7, 8, None, None), 10: unseen, 11: {**unseen, 'notes': NOT_BEGUN},
                     12: of(9, 12, 13), 13: of(9, 12, 13, changes=0)}


def test_lost_twice_between_two_transactions(wireshark, save):
    """What came between the losses may be of any; not of what comes after."""
    found = shown(wireshark, save, conversation(
        begin(7, 0x100), Lost(insert()), insert(), Lost(commit(0x100) + begin(8, 0x200)), insert(), commit(0x200)))
    assert 'end' not in found[9] and 'xid' not in found[9]
    assert found[10] == of(None, None, 11) and found[11] == of(None, None, 11, notes=NOT_BEGUN)


def change(capture, segment):
    """The capture with each TCP packet as segment() makes it."""
    packets = [p._replace(data=pcap.build(segment(pcap.parse(p, capture.linktype)))) for p in capture.packets]
    return capture._replace(packets=packets)


def test_numbers_wrap_around(wireshark, save):
    """TCP's sequence numbers, in the middle of a transaction and of a message."""
    whole = conversation(begin(7, 0x100), insert(), insert(), commit(0x100))
    middle = pcap.parse(whole.packets[FIRST + 1], whole.linktype).seq + 20
    server = pcap.parse(whole.packets[FIRST], whole.linktype).source

    def shifted(s):
        name = 'seq' if s.source == server else 'ack'
        return s._replace(**{name: getattr(s, name) - middle})

    found = shown(wireshark, save, change(whole, shifted))
    assert found == {8: of(7, 8, 11), 9: of(7, 8, 11), 10: of(7, 8, 11), 11: of(7, 8, 11, changes=2)}


def test_sent_twice(wireshark, save):
    """A retransmission is no second row."""
    whole = conversation(begin(7, 0x100), insert(), insert(), commit(0x100))
    found = shown(wireshark, save, pcap.duplicate(pcap.duplicate(whole, 9), 8))
    assert found == {n: of(7, 8, 13, changes=2 if n == 13 else None) for n in (8, 9, 11, 13)}


def test_the_same_ports_again(wireshark, save):
    """A new connection knows nothing of the one before."""
    first, second = conversation(begin(7, 0x100), insert()), conversation(insert(), commit(0x100), begin(8, 0x200), commit(0x200))
    second = change(second, lambda s: s._replace(seq=s.seq + 100_000, ack=s.ack and s.ack + 100_000))
    found = shown(wireshark, save, pcap.join([first, second]))
    at = len(first.packets) + FIRST
    unseen, seen = of(None, None, at + 1), of(8, at + 2, at + 3)
    assert found == {8: of(7, 8, None, None), 9: of(7, 8, None, None), at: unseen, at + 1: {**unseen, 'notes': NOT_BEGUN},
                     at + 2: seen, at + 3: {**seen, 'changes': 0}}


def durations(wireshark, path):
    return [[f.show for f in m.fields if f.name in ('pgrepl.txn.duration', 'pgrepl.ack.time')]
            for frame in wireshark.pdml(path, two_pass=True).frames() for m in frame.messages]


@pytest.mark.parametrize('times, wanted', [
    ((0, 1_500_000_000, 2_000_000_000), ['1.500000000', '0.500000000']),
    ((1_500_000_000, 0, -2_000_000_001), ['-1.500000000', '-2.000000001']),      # the clock was set back
    ((2**63 + 1, 2**63 + 2, 2**63 + 3), []),                                    # the year 2262
    ((0, 2**63 + 1, 2**63 + 2), []),
], ids=['forwards', 'backwards', 'far', 'between'])
def test_clocks(wireshark, save, times, wanted):
    """Durations are right or not shown."""
    capture = conversation(begin(7, 0x100), commit(0x100), (CLIENT, status(0x108, 0x108, 0)))
    base = 0 if max(times) > 2**63 else 1_700_000_000 * 10**9
    packets = list(capture.packets)
    packets[FIRST - 1:FIRST + 2] = pcap.retime(packets[FIRST - 1:FIRST + 2], [base + t for t in times])
    path = save(capture._replace(packets=packets))
    assert durations(wireshark, path) == [[], wanted, []]
    wireshark.tshark(path, '-q', '-z', 'pgrepl,tree').text()


OUT_OF_ORDER = pcap.swap(conversation(begin(7, 0x100), insert(), insert(), insert(), commit(0x100)), 9)


def test_packets_out_of_order(wireshark, save):
    """TCP does not hand on what comes too late."""
    assert shown(wireshark, save, OUT_OF_ORDER) == dict.fromkeys((8, 9, 10, 12), of(7, 8, 12))


def test_packets_put_in_order(wireshark, save):
    """TCP is told to wait for what is late: nothing is missing."""
    path = save(OUT_OF_ORDER)
    frames = wireshark.tshark(path, '-o', 'tcp.reassemble_out_of_order:TRUE', '-T', 'pdml', two_pass=True).frames()
    every = [{SHORT[f.name]: f.show for f in m.fields if f.name in SHORT} for frame in frames for m in frame.messages]
    assert len(every) == 5 and {m['xid'] for m in every} == {'7'} and every[-1].get('changes') == '3'


def test_lost_with_a_begin_of_its_own(wireshark, save):
    """Only the Commit is lost."""
    found = shown(wireshark, save, conversation(begin(7, 0x100), Lost(commit(0x100)), begin(8, 0x200), commit(0x200)))
    assert found == {8: of(7, 8, None, None), 9: of(8, 9, 10, notes=UNFINISHED), 10: of(8, 9, 10, changes=0)}


# --- streamed transactions ----------------------------------------------------------------------------------

def test_block_begins_in_a_block(wireshark, save):
    found = shown(wireshark, save, conversation(
        start(7), insert(7), start(8), insert(8), STOP, start(7, 0), insert(7), STOP, stream_commit(7), stream_commit(8, 0x3000)))
    first, second = of(7, 8, 16), of(8, 10, 17)
    assert found == {8: first, 9: first, 10: second, 11: second, 12: second, 13: first, 14: first, 15: first,
                     16: first, 17: {**second, 'changes': 1}}


def test_first_block_twice(wireshark, save):
    """The second is another transaction's: nothing is counted twice."""
    found = shown(wireshark, save, conversation(start(7), insert(7), start(7), insert(7), STOP, stream_commit(7)))
    again = of(7, 10, 13)
    assert found == {8: of(7, 8, None, None), 9: of(7, 8, None, None), 10: again, 11: again, 12: again, 13: {**again, 'changes': 1}}


def test_stop_without_start(wireshark, save):
    found = shown(wireshark, save, conversation(STOP, begin(7, 0x100), STOP, insert(), commit(0x100), STOP))
    assert found[8] == found[13] == {} and found[9] == of(7, 9, None, None)
    assert found[12] == of(None, None, 12, notes=NOT_BEGUN)


def test_xid_0(wireshark, save):
    """No transaction has it; it must not be taken for one of which nothing is known."""
    found = shown(wireshark, save, conversation(
        start(7), insert(7), STOP, start(0), insert(7), STOP, begin(0, 0x100), insert(), commit(0x100), stream_commit(7)))
    assert [found[n] for n in (8, 9, 10)] == [of(7, 8, 17)] * 3 and found[17] == of(7, 8, 17, changes=1)
    assert found[14] == found[15] == of(None, 14, 16)


def test_lost_in_a_block(wireshark, save):
    found = shown(wireshark, save, conversation(
        start(7), insert(7), Lost(insert(7)), insert(7), STOP, start(7, 0), insert(7), STOP, stream_commit(7)))
    assert found == dict.fromkeys(range(8, 16), of(7, 8, 15))


def test_lost_in_a_block_before_a_subtransaction(wireshark, save):
    """A row of a subtransaction does not tell of which transaction; the next row does."""
    found = shown(wireshark, save, conversation(
        start(7), insert(7), Lost(insert(7)), insert(20), insert(7), STOP, stream_commit(7)))
    whole = of(7, 8, 13)
    assert {n: found[n] for n in (8, 9, 11, 13)} == dict.fromkeys((8, 9, 11, 13), whole)


def test_lost_between_blocks(wireshark, save):
    """The Stop of one block and the Start of the next are gone: their rows know their transactions."""
    found = shown(wireshark, save, conversation(
        start(7), insert(7), STOP, start(8), insert(8), Lost(STOP + start(7, 0)), insert(7), STOP, stream_commit(7),
        stream_commit(8, 0x3000)))
    first, second = of(7, 8, 15), of(8, 11, 16)
    assert found == {8: first, 9: first, 10: first, 11: second, 12: second, 13: first, 14: first, 15: first, 16: second}


def test_lost_start(wireshark, save):
    found = shown(wireshark, save, conversation(Lost(start(7)), insert(7), STOP, start(7, 0), insert(7), STOP, stream_commit(7)))
    last = of(7, None, 13)
    assert [found[n] for n in (10, 11, 12)] == [last] * 3 and found[13] == {**last, 'notes': NOT_BEGUN}


def test_a_lost_stop_is_no_lost_end(wireshark, save):
    """The streamed transaction goes on; nothing says that it is not finished."""
    found = shown(wireshark, save, conversation(
        start(7), insert(7), Lost(STOP), begin(8, 0x100), commit(0x100), start(7, 0), STOP, stream_commit(7)))
    assert not [n for n in found if 'notes' in found[n]], found
    assert found[14] == of(7, 8, 14)


# --- prepared transactions ----------------------------------------------------------------------------------

def test_prepared_on_two_slots(wireshark, save):
    """The same transaction goes to two slots, which come to its end at different times."""
    ports = {'options': TWO_PHASE}
    a = conversation(begin_prepare(7, b'g'), insert(), prepare(7, b'g'), commit_prepared(7, b'g'), slot='a', client_port=50001, **ports)
    b = conversation(begin_prepare(7, b'g'), insert(), prepare(7, b'g'), commit_prepared(7, b'g'), slot='b', client_port=50002, **ports)
    packets = [p for pair in zip(a.packets, b.packets) for p in pair]
    capture = a._replace(packets=pcap.retime(packets, [a.packets[0].time + 1000 * i for i in range(len(packets))]))
    found = shown(wireshark, save, capture)
    for first in (2 * FIRST - 1, 2 * FIRST):
        numbers = range(first, first + 8, 2)
        whole = of(7, first, first + 6, prepare=first + 4)
        assert {n: {k: v for k, v in found[n].items() if k != 'changes'} for n in numbers} == dict.fromkeys(numbers, whole)


def test_prepared_on_another_connection(wireshark, save):
    """A new connection of the same slot brings the end; of another slot it does not."""
    a = conversation(begin_prepare(7, b'g'), prepare(7, b'g'), slot='a', client_port=50001, options=TWO_PHASE)
    b = conversation(commit_prepared(7, b'g'), slot='b', client_port=50002, options=TWO_PHASE)
    c = conversation(rollback_prepared(7, b'g'), slot='a', client_port=50003, options=TWO_PHASE)
    found = shown(wireshark, save, pcap.join([a, b, c]))
    other = len(a.packets) + FIRST
    end = len(a.packets) + len(b.packets) + FIRST
    whole = of(7, 8, end, 'rolled back', prepare=9)
    assert found == {8: whole, 9: {**whole, 'changes': 0}, other: of(7, None, other), end: {**whole, 'notes': {'Rolled back'}}}


def test_other_identifiers(wireshark, save):
    """Neither the xid nor the identifier alone is enough."""
    found = shown(wireshark, save, conversation(
        begin_prepare(7, b'g'), prepare(7, b'g'), commit_prepared(7, b'h'), commit_prepared(8, b'g'), commit_prepared(7, b'g'),
        options=TWO_PHASE))
    assert found[8] == of(7, 8, 12, prepare=9) and found[10] == of(7, None, 10) and found[11] == of(8, None, 11)


def test_prepared_again(wireshark, save):
    """The server sends a prepared transaction again that was not confirmed; the end is that of both."""
    found = shown(wireshark, save, conversation(
        begin_prepare(7, b'g'), prepare(7, b'g'), begin_prepare(7, b'g'), prepare(7, b'g'), commit_prepared(7, b'g'),
        options=TWO_PHASE))
    assert found[8] == of(7, 8, None, 'prepared', prepare=9) and found[12] == of(7, 10, 12, prepare=11)


def test_lost_in_a_prepared_transaction(wireshark, save):
    """What came after the loss shares its end, too."""
    found = shown(wireshark, save, conversation(
        begin_prepare(7, b'g'), Lost(insert()), insert(), Lost(insert()), insert(), prepare(7, b'g'), commit_prepared(7, b'g'),
        options=TWO_PHASE))
    assert found == dict.fromkeys(range(8, 13), of(7, 8, 12, prepare=11))


# --- acknowledgements and lag -------------------------------------------------------------------------------

END = 0xffffffffffffffff


def test_odd_positions(wireshark, save):
    """0/0 tells nothing; the end of all WAL acknowledges everything and is no lag."""
    found = shown(wireshark, save, conversation(
        begin(7, 0x100), commit(0x100), (CLIENT, status(0x108, 0, 0)), (CLIENT, status(END, END, END)), begin(8, 0x200), commit(0x200),
        (CLIENT, status(0, 0, 0)), (CLIENT, status(0x208, 0x207, 0x208)), (CLIENT, status(0x208, 0x208, 0))))
    sent = 0x1000
    assert found[9]['ack'] == 11 and found[13]['ack'] == 16
    assert found[10] == {'write': sent - 0x108} and found[11] == {'write': 0, 'flush': 0, 'apply': 0}
    assert found[14] == {} and found[16] == {'write': sent - 0x208, 'flush': sent - 0x208}
    assert found[15] == {'write': sent - 0x208, 'flush': sent - 0x207, 'apply': sent - 0x208, 'notes': {'Position moved backwards'}}


def test_one_byte_short(wireshark, save):
    found = shown(wireshark, save, conversation(
        begin(7, 0x100), commit(0x100), begin(8, 0x200), commit(0x200), (CLIENT, status(0x208, 0x107, 0)),
        (CLIENT, status(0x208, 0x207, 0)), (CLIENT, status(0x208, 0x208, 0))))
    assert found[9]['ack'] == 13 and found[11]['ack'] == 14


def test_two_streams_on_a_connection(wireshark, save):
    """The second knows nothing of what the first has left open."""
    end = postgres.message(b'C', b'COPY 0\0') + postgres.message(b'Z', b'I')
    found = shown(wireshark, save, conversation(
        begin(7, 0x100), commit(0x100), begin(8, 0x200), end, (CLIENT, command()), BOTH,
        insert(), commit(0x200), begin(9, 0x300), commit(0x300), (CLIENT, status(0x400, 0x308, 0))))
    assert found[10] == of(8, 10, None, None)
    unseen = of(None, None, 15, ack=18)
    assert 'ack' not in found[9] and found[14] == of(None, None, 15) and found[15] == {**unseen, 'notes': NOT_BEGUN}
    assert found[17] == of(9, 16, 17, changes=0, ack=18)


# --- many ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize('count', [100_000])
def test_many_transactions(wireshark, save, count):
    """Also when one status update acknowledges all of them."""
    def piece(n):
        return begin(n + 1, 16 * n + 16) + insert() + commit(16 * n + 16)

    pieces = [b''.join(map(piece, range(n, n + 250))) for n in range(0, count, 250)]
    path = save(conversation(*pieces, (CLIENT, status(16 * count + 8, 16 * count + 8, 0))))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    counted = statistics(wireshark, path, two_pass=True)
    assert counted['Transactions', 'Committed'] == counted['Changes in a transaction', ] == count
    assert counted['Milliseconds until a commit is acknowledged', ] == count
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 10


# --- at random ----------------------------------------------------------------------------------------------

class Server:
    """Makes up a correct stream at random, and knows which transaction each message is of."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pieces, self.owners = [], []                       # of each message its transaction or None
        self.streams, self.prepared, self.last = [], [], 100

    def number(self):
        self.last += 1
        return self.last

    def say(self, piece, owner):
        self.pieces.append(piece)
        self.owners.append(owner)
        owner['messages'].append(len(self.pieces) - 1)

    def transaction(self):
        xid = self.number()
        return {'xid': xid, 'messages': [], 'changes': {xid: 0}, 'end': None, 'gid': b'gid %d' % xid}

    def rows(self, owner, streamed):
        for _ in range(self.random.randint(0, 4)):
            subs = list(owner['changes'])
            xid = self.random.choice(subs) if streamed else owner['xid']
            if streamed and self.random.random() < 0.2:
                xid = self.number()
            owner['changes'][xid] = owner['changes'].get(xid, 0) + 1
            self.say(insert(xid if streamed else None), owner)

    def end(self, owner, piece, decided=True):
        self.say(piece, owner)
        owner['counted'] = len(self.pieces) - 1
        if decided:
            owner['end'] = len(self.pieces) - 1
        else:
            self.prepared.append(owner)

    def plain(self):
        owner, lsn = self.transaction(), 0x10000 + 16 * self.number()
        two_phase = self.random.random() < 0.3
        self.say(begin_prepare(owner['xid'], owner['gid'], lsn) if two_phase else begin(owner['xid'], lsn), owner)
        self.rows(owner, False)
        self.end(owner, prepare(owner['xid'], owner['gid'], lsn) if two_phase else commit(lsn), not two_phase)

    def block(self):
        new = not self.streams or len(self.streams) < 4 and self.random.random() < 0.4
        owner = self.transaction() if new else self.random.choice(self.streams)
        if new:
            self.streams.append(owner)
        self.say(start(owner['xid'], int(new)), owner)
        self.rows(owner, True)
        self.say(STOP, owner)

    def end_stream(self):
        if not self.streams:
            return
        owner = self.random.choice(self.streams)
        xid, how = owner['xid'], self.random.random()
        subs = [sub for sub in owner['changes'] if sub != xid]
        if subs and how < 0.4:
            sub = self.random.choice(subs)
            del owner['changes'][sub]
            self.say(abort(xid, sub), owner)
            return
        self.streams.remove(owner)
        if how < 0.8:
            self.end(owner, stream_commit(xid))
        elif how < 0.9:
            self.end(owner, abort(xid))
        else:
            self.end(owner, data(b'p\0', u64(0x3000, 0x3008, NOW), u32(xid), owner['gid'], b'\0'), False)

    def finish(self):
        if self.prepared:
            owner = self.prepared.pop(self.random.randrange(len(self.prepared)))
            make = self.random.choice([commit_prepared, rollback_prepared])
            self.say(make(owner['xid'], owner['gid']), owner)
            owner['end'] = len(self.pieces) - 1

    def run(self, count):
        while len(self.pieces) < count:
            self.random.choice([self.plain, self.block, self.block, self.end_stream, self.finish])()
        return self


@pytest.mark.parametrize('lost', [0, 0.01, 0.1])
@pytest.mark.parametrize('seed', [1, 2])
def test_never_wrong(wireshark, save, seed, lost):
    """With losses less is known, but nothing wrong is shown; without, all is."""
    server = Server(seed).run(1500)
    chance, pieces, burst = random.Random(seed + 100), [], 0
    for piece in server.pieces:
        burst = burst - 1 if burst else chance.randint(1, 6) if chance.random() < lost else 0
        pieces.append(Lost(piece) if burst else piece)
    there = [i for i, piece in enumerate(pieces) if not isinstance(piece, Lost)]
    frame = {i: FIRST + n for n, i in enumerate(there)}
    options = "proto_version '4', publication_names '\"p\"', streaming 'on', two_phase 'on'"
    path = save(conversation(*pieces, options=options))
    frames = {f.number: facts(f) for f in wireshark.messages(path, two_pass=True).frames()}
    wrong, known = [], 0
    for i in there:
        owner, found = server.owners[i], frames[frame[i]]
        truth = {'xid': owner['xid'], 'begin': frame.get(owner['messages'][0]), 'end': frame.get(owner['end'])}
        if 'changes' in found:
            truth['changes'] = sum(owner['changes'].values())
        known += 'xid' in found
        if any(found.get(name) not in ((truth[name],) if not lost else (truth[name], None)) for name in truth):
            wrong.append((frame[i], found, truth))
    assert not wrong, wrong[:5]
    assert known == len(there) if not lost else known > len(there) / 4
