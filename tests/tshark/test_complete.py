"""Every CopyData message of replication is shown, once, in order, with its own size."""
import collections

import pytest

import pcap
import postgres
from documented import DOCUMENTED
from pdml import connections, difference


def sizes(messages):
    """Without what is not on the wire, such as the options of the command that starts replication."""
    return [m.size for m in messages if any(f.size and f.name in DOCUMENTED for f in m.fields)]


def fault(wanted, shown):
    """Where the sizes of the messages differ. Wanted are pairs (size, must): all that need not be shown, or none."""
    strict = difference([size for size, must in wanted if must], shown)
    return strict and difference([size for size, _ in wanted], shown) and strict


def test_complete(wireshark, capture):
    """Base backups need not be shown, nor what a client sends when the server has ended the copy already."""
    readable, opaque = postgres.messages(capture.content)
    wanted = collections.defaultdict(list)
    for m in readable:
        if m.kind == 'd' and m.mode in ('W', 'C', 'B'):
            wanted[m.ends, m.direction].append((len(m.body), m.mode == 'W'))
    shown = connections(wireshark.pdml(capture).frames(), pcap.endpoints(capture.content))
    for way in wanted.keys() | shown.keys():
        if way[0] not in opaque:
            wrong = fault(wanted[way], sizes(shown.get(way, [])))
            if wrong:
                pytest.fail(f'{way} {wrong}')


def test_a_fault_shows():
    wanted = [(2, True), (1, True), (3, False)]
    assert not fault(wanted, [2, 1]) and not fault(wanted, [2, 1, 3])
    for wrong in ([], [2], [1, 2], [2, 1, 1], [2, 1, 3, 3]):
        assert fault(wanted, wrong)
