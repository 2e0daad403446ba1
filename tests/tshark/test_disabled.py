"""Where the plugin has nothing to say, Wireshark's own picture stays as it is, to the byte."""
import re

import pcap
import postgres
from pdml import packets, same


def test_disabled_protocol(wireshark, capture):
    without, disabled = packets(wireshark.without(capture).bytes()), packets(wireshark.disabled(capture).bytes())
    assert len(without) == len(capture.content.packets)
    same(without, disabled)


def once(packet):
    """Wireshark counts pgsql for each part of a frame that TCP puts together; within replication it counts once."""
    return re.sub(rb'(:pgsql)+(?=[:"])', b':pgsql', packet)


def test_other_frames(wireshark, capture):
    """But for other ports and for CopyBothResponse, which Wireshark does not know."""
    without, enabled = packets(wireshark.without(capture).bytes()), packets(wireshark.pdml(capture).bytes())
    assert len(without) == len(enabled)
    better = {m.frame for m in postgres.messages(capture.content)[0] if m.direction == pcap.SERVER and m.kind == 'W'}
    compared = 0
    for number, (a, b, end) in enumerate(zip(without, enabled, pcap.endpoints(capture.content)), 1):
        known = end is None or end[0][1][1] == 5432
        if known and number not in better and b'<proto name="pgrepl"' not in b:
            same([once(a)], [once(b)], f'frame {number},')
            compared += 1
    assert compared or not known
