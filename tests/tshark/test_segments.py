"""However TCP cuts a stream, the messages in it are the same."""
import itertools
import random

import pytest

import pcap
import postgres
import sharkd
from documented import OF_PACKETS, OF_SECOND_PASS
from pdml import connections, same

# Small segments make many packets: after so many of them the rest goes by the size of an Ethernet frame.
MANY = 4_000

SIZES = ('1', '7', '1460', '60000', 'random')

# On a port that is not PostgreSQL's a few bytes do not tell what it is.
UNMISTAKABLE = ('1460', '60000')


def sizes(name):
    if name == 'random':
        return pcap.random_sizes(seed=7)
    return itertools.chain(itertools.repeat(int(name), MANY), itertools.repeat(max(int(name), 1460)))


def told(message):
    """What a message says, wherever it is."""
    return message.size, [
        (f.name, f.size and f.pos - message.pos, f.size, f.show, f.value, f.showname, f.depth, f.hidden)
        for f in message.fields if f.name not in OF_PACKETS | OF_SECOND_PASS]


def all_cuts(capture):
    """One capture with the streams in segments of all sizes, each at addresses of its own."""
    return pcap.join([pcap.move(pcap.resegment(capture, sizes(name)), n) for n, name in enumerate(SIZES)])


def test_cut_anew(wireshark, capture):
    path, content = capture.derive('cuts', all_cuts)
    runs = wireshark.messages(path), wireshark.messages(path, two_pass=True)
    before = connections(wireshark.pdml(capture).frames(), pcap.endpoints(capture.content))
    before = {way: [told(m) for m in messages] for way, messages in before.items()}
    for run in runs:
        after = connections(run.frames(), pcap.endpoints(content))
        for n, name in enumerate(SIZES):
            for (client, server), direction in before:
                found = after.pop(((pcap.moved(client, n), pcap.moved(server, n)), direction), [])
                if server[1] == 5432 or name in UNMISTAKABLE:
                    same(before[(client, server), direction], map(told, found),
                         f'segments of {name}, {direction} {client[1]}:')
        assert not after


@pytest.mark.parametrize('two_pass', [False, True])
def test_many_messages_in_a_segment(wireshark, save, two_pass):
    """More than Wireshark allows protocol layers in a frame."""
    first = 0x1661e08
    every = [postgres.keepalive(first + n, 849288006153206 + n) for n in range(3000)]
    capture = postgres.logical_stream([b''.join(every[:2600]), b''.join(every[2600:])])
    assert max(len(p.data) for p in capture.packets) > 59_000
    frames = wireshark.messages(save(capture), two_pass=two_pass).frames()
    shown = [f.value for frame in frames for m in frame.messages for f in m.fields if f.name == 'pgrepl.wal_end']
    assert shown == [f'{first + n:016x}' for n in range(3000)]


@pytest.mark.captures('pg15_ddl', 'pg14_proto2_streaming')
def test_clicks_in_cut_streams(wireshark, capture):
    """The frames of cut streams in any order show what a run of two passes shows."""
    path, _ = capture.derive('cuts', all_cuts)
    trees = sharkd.trees(wireshark.text(path).text())
    ours = [number for number, lines in trees.items() if any('PostgreSQL Replication' in line for line in lines)]
    assert len(ours) > 100
    with sharkd.Sharkd(wireshark) as window:
        for number in range(1, window.load(path) + 1, 7):
            window.frame(number)
        for number in random.Random(2).sample(ours, min(200, len(ours))):
            same(window.frame(number), trees[number], f'frame {number}')
