"""The documented fields of a message lie side by side and cover it; nothing is called wrong in a clean capture.

That the message is as long as it is on the wire, test_complete.py sees."""
import pytest

from documented import DOCUMENTED
from pdml import WARNING, Field, Message


def fault(message, documented=DOCUMENTED):
    """What is wrong with the places of the fields, '' if nothing is."""
    fields = [f for f in message.fields if f.name in documented and f.size > 0]
    if not fields:
        return '' if any(f.name.startswith('pgrepl.start.') for f in message.fields) else 'no documented field'
    at = message.pos
    for f in fields:
        if f.pos != at:
            return f'{"gap" if f.pos > at else "overlap"}: {f.name} at {f.pos} and not at {at}'
        at += f.size
    return '' if at == message.pos + message.size else f'ends at {at} and not at {message.pos + message.size}'


def test_tiling(wireshark, capture):
    wrong = [f'frame {frame.number}: {reason} in {message}' for frame in wireshark.pdml(capture).frames()
             for message in frame.messages if (reason := fault(message))]
    assert not wrong, '\n'.join(wrong[:3])


def test_no_complaints(wireshark, capture):
    run = wireshark.pdml(capture)
    wrong = [f'frame {frame.number}: {item}' for frame in run.frames() if frame.messages
             for item in [e for e in frame.experts if e.ours and e.severity >= WARNING] + frame.malformed]
    assert not wrong, '\n'.join(wrong[:3])


@pytest.mark.parametrize('change, reason', [
    ({}, ''), ({1: 7}, 'overlap'), ({1: 9}, 'gap'), ({0: 6}, 'gap'), ({2: None}, 'ends')])
def test_a_fault_shows(change, reason):
    message = Message(5, 11)
    places = {0: 5, 1: 8, 2: 12, **change}
    message.fields = [Field(f'pgrepl.{i}', pos, size, '', '', '', 0, False)
                      for (i, pos), size in zip(places.items(), (3, 4, 4)) if pos is not None]
    message.fields.append(Field('pgrepl.generated', 5, 11, '', '', '', 0, False))
    found = fault(message, {'pgrepl.0', 'pgrepl.1', 'pgrepl.2'})
    assert found.startswith(reason) and bool(found) == bool(reason)
