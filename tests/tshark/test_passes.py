"""One pass, two passes and clicks in any order show the same."""
import random
import re

import pytest

import sharkd
from documented import OF_SECOND_PASS
from pdml import Field, Frame, Message, difference, same


def lasting(frame):
    """What has to be the same whenever the frame is looked at."""
    return frame.number, frame.protocols, [
        (m.pos, m.size, [f for f in m.fields if f.name not in OF_SECOND_PASS]) for m in frame.messages]


def test_two_passes(wireshark, capture):
    one, two = wireshark.pdml(capture), wireshark.pdml(capture, two_pass=True)
    same(map(lasting, one.frames()), map(lasting, two.frames()))


def test_clicks(wireshark, capture):
    """Frames of others only in their order: the built-in dissector of 4.0 itself confuses them in any other."""
    ours = [frame.number for frame in wireshark.pdml(capture, two_pass=True).frames() if frame.messages]
    trees = sharkd.trees(wireshark.text(capture).text())
    assert set(ours) <= trees.keys()
    shuffled = random.Random(1).sample(ours, len(ours))
    with sharkd.Sharkd(wireshark) as window:
        in_order = range(1, window.load(capture) + 1)
        for order in (in_order, shuffled, ours[::-1]):
            for number in order:
                same(window.frame(number), trees.get(number, []), f'frame {number}')
        listed = window.columns()
    rows = re.findall(r'^ *(\d+) (\S+) (.*)$', wireshark.columns(capture).text(), re.MULTILINE)
    first = {int(number): columns for number, *columns in rows}
    for number in ours:
        same(first[number], listed[number], f'frame {number} in the list:')


@pytest.mark.parametrize('change', ['value', 'order', 'frame'])
def test_a_difference_shows(change):
    def frame(fields, number=1):
        f, m = Frame(), Message(5, 9)
        f.number, f.messages, m.fields = number, [m], fields
        return f

    a, b = (Field(f'pgrepl.{x}', 5, 4, x, x, x, 0, False) for x in 'ab')
    other = {'value': frame([a, b._replace(show='c')]), 'order': frame([b, a]), 'frame': frame([a, b], 2)}[change]
    assert not difference([lasting(frame([a, b]))], [lasting(frame([a, b]))])
    assert difference([lasting(frame([a, b]))], [lasting(other)])
