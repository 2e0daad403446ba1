"""Where the plugin has nothing to say, Wireshark's own picture stays as it is, to the byte."""
import re

import pcap
import postgres
from pdml import packets, same


def test_disabled_protocol(wireshark, capture):
    without, disabled = packets(wireshark.without(capture).bytes()), packets(wireshark.disabled(capture).bytes())
    assert len(without) == len(capture.content.packets)
    same(without, disabled)


def without_commands(packet):
    """Replication commands have their parts below the item of the built-in dissector."""
    return re.sub(rb' *<field name="" show="Replication command".*?\n    </field>\n', b'', packet, flags=re.DOTALL)


def test_other_frames(wireshark, capture):
    """But for other ports, for TLS from the first byte on, which 4.0 does not know, and for CopyBothResponse, which
    Wireshark does not know."""
    without, enabled = packets(wireshark.without(capture).bytes()), packets(wireshark.pdml(capture).bytes())
    assert len(without) == len(enabled)
    messages, opaque = postgres.messages(capture.content)
    better = {m.frame for m in messages if m.direction == pcap.SERVER and m.kind == 'W'}
    direct = {ends for _, ends, direction, data in pcap.arrivals(capture.content)
              if ends in opaque and direction == pcap.CLIENT and data.startswith(b'\x16\x03\x01')}
    compared = 0
    for number, (a, b, end) in enumerate(zip(without, enabled, pcap.endpoints(capture.content)), 1):
        known = end is None or end[0][1][1] == 5432 and end[0] not in direct
        if end is not None and end[0] in opaque and b'"Copy both response"' in b:
            continue
        if known and number not in better and b'<proto name="pgrepl"' not in b:
            same([a], [without_commands(b)], f'frame {number},')
            compared += 1
    assert compared or not known
