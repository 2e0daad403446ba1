"""Captures that begin in the middle of a stream, or miss, repeat or swap packets: nothing is invented, and nothing is
lost but the messages that were torn."""
import random

import pytest

import pcap
import sharkd
from documented import DOCUMENTED, OF_SECOND_PASS
from pdml import connections, same

TORN = pytest.mark.captures(
    'pg15_proto1_orders', 'pg14_proto2_streaming', 'pg16_proto4_parallel', 'pg15_coalesced', 'pg15_test_decoding',
    'pg15_pg_receivewal', 'pg16_hot_standby', 'pg15_proto3_two_phase', 'pg18_two_phase_streamed', 'pg16_binary',
    'pg17_immediate')

# Of a transaction whose beginning is missing, its end may tell.
LATER = OF_SECOND_PASS | {'pgrepl.txn.xid', 'pgrepl.txn.begin_frame'}

# Four ways of each kind: so many addresses there are (pcap.moved).
SEEDS = 4


def told(message):
    """The bytes of a message, field by field, and what they say. Names come with Relation messages that may be missing."""
    return [(f.name, f.size, f.show, f.value) for f in message.fields if f.name in DOCUMENTED]


def stream_begins(capture):
    """The index of the packet with the first CopyBothResponse."""
    return next(i for i, packet in enumerate(capture.packets) if b'W\0\0\0\7\0\0\0' in packet.data)


def late(capture, seed):
    """It begins somewhere after the start of the stream."""
    begin = stream_begins(capture)
    cut = random.Random(seed).randrange(begin + 1, begin + 1 + max(1, (len(capture.packets) - begin) // 2))
    return capture._replace(packets=capture.packets[cut:])


def lost(capture, seed):
    """A packet of the stream is missing."""
    return pcap.drop(capture, random.Random(seed).randrange(stream_begins(capture) + 1, len(capture.packets)))


def doubled(capture, seed):
    return pcap.duplicate(capture, random.Random(seed).randrange(stream_begins(capture) + 1, len(capture.packets)))


def swapped(capture, seed):
    return pcap.swap(capture, random.Random(seed).randrange(stream_begins(capture) + 1, len(capture.packets) - 1))


def all_torn(capture):
    """One capture with the streams torn in every way, each at addresses of its own."""
    return pcap.join([pcap.move(tear(capture, seed), n) for n, (tear, seed) in enumerate(ways())])


def ways():
    return [(tear, seed) for tear in (late, lost, doubled, swapped) for seed in range(SEEDS)]


def missing(found, wanted, where=""):
    """The messages of `wanted` that are not among `found`, which has nothing else, in the same order."""
    left, gone = list(found), []
    for message in wanted:
        if left and left[0] == message:
            left.pop(0)
        else:
            gone.append(message)
    assert not left, f"{where} {len(left)} messages are not in the stream, the first: {left[0]}"
    return gone


def messages_of(frames):
    return [m for frame in frames for m in frame.messages if any(f.name == m.LETTER for f in m.fields)]


@TORN
def test_torn(wireshark, capture):
    path, content = capture.derive('torn', all_torn)
    before = connections(wireshark.pdml(capture).frames(), pcap.endpoints(capture.content))
    before = {way: [told(m) for m in messages if told(m)] for way, messages in before.items()}
    one, two = wireshark.messages(path), wireshark.messages(path, two_pass=True)
    after = connections(one.frames(), pcap.endpoints(content))
    gone = {}
    for n, (tear, seed) in enumerate(ways()):
        for (client, server), direction in before:
            found = after.get(((pcap.moved(client, n), pcap.moved(server, n)), direction), [])
            shown = [told(m) for m in found if any(f.name == m.LETTER for f in m.fields)]
            whole = before[(client, server), direction]
            if tear is late:
                # What comes before the capture is not lost.
                first = next((i for i in range(len(whole)) if whole[i:][:1] == shown[:1] and len(whole) - i >= len(shown)), 0)
                whole = whole[first:] if shown else []
            if tear is swapped:
                # They are shown as they come.
                shown, whole = sorted(shown), sorted(whole)
            gone[tear.__name__, seed, direction] = missing(shown, whole, f"{tear.__name__} {seed} {direction}:")
    # A packet holds many messages; all but those of one or two come back.
    most = max(map(len, before.values()))
    in_packet = most if most < 40 else max(len(m.messages) for m in wireshark.pdml(capture).frames())
    for (tear, seed, direction), messages in gone.items():
        assert len(messages) <= {'late': 1, 'lost': 2 * in_packet + 2, 'doubled': 0, 'swapped': 3 * in_packet + 3}[tear], (tear, seed, direction)
    lasting = [[(m.pos, m.size, [f for f in m.fields if f.name not in LATER]) for frame in run.frames() for m in frame.messages]
               for run in (one, two)]
    same(*lasting)


@TORN
def test_a_late_capture_is_taken_up_soon(wireshark, capture, save):
    """At the latest with the second whole message from the server."""
    for seed in range(SEEDS):
        content = late(capture.content, seed)
        cut = len(capture.content.packets) - len(content.packets)
        wanted = [m for frame in wireshark.pdml(capture).frames() if frame.number > cut for m in frame.messages]
        found = messages_of(wireshark.pdml(save(content)).frames())
        assert len(found) >= len(wanted) - 2, seed
        if found:
            notes = [e.message for frame in wireshark.pdml(save(content)).frames() for e in frame.experts if e.ours]
            assert any('no START_REPLICATION was seen' in words for words in notes)


@pytest.mark.captures('pg14_proto2_streaming', 'pg16_hot_standby', 'pg15_test_decoding')
def test_clicks(wireshark, capture):
    """Frames of torn streams, looked at in any order."""
    path, _ = capture.derive('torn', all_torn)
    ours = [frame.number for frame in wireshark.messages(path, two_pass=True).frames() if frame.messages][:400]
    trees = sharkd.trees(wireshark.tshark(path, '-V', two_pass=True).text())
    with sharkd.Sharkd(wireshark) as window:
        window.load(path)
        for number in random.Random(1).sample(ours, len(ours)):
            same(window.frame(number), trees.get(number, []), f'frame {number}')


def test_missing_can_fail():
    assert missing([1, 3], [1, 2, 3]) == [2]
    with pytest.raises(AssertionError):
        missing([1, 4], [1, 2, 3])
    with pytest.raises(AssertionError):
        missing([3, 1], [1, 2, 3])
