"""However many messages are in a frame, it counts once."""
import re


def test_layers(wireshark, capture):
    """Frames without our messages may be as Wireshark shows them, test_disabled.py."""
    for frame in wireshark.pdml(capture).frames():
        pgsql, pgrepl = frame.protocols.count('pgsql'), frame.protocols.count('pgrepl')
        assert pgrepl == bool(frame.messages), f'frame {frame.number}: {frame.protocols}'
        assert pgsql == 1 or not frame.messages, f'frame {frame.number}: {frame.protocols}'
        assert pgsql or 'pgsql' not in frame.items, f'frame {frame.number}: {frame.protocols}'


def hierarchy(text):
    """{protocol: frames} out of -z io,phs, added up over its places in the tree."""
    found = {}
    for name, count in re.findall(r'^ *([\w.-]+) +frames:(\d+)', text, re.MULTILINE):
        found[name] = found.get(name, 0) + int(count)
    return found


def test_hierarchy(wireshark, capture):
    frames = wireshark.pdml(capture).frames()
    counted = hierarchy(wireshark.columns(capture).text())
    assert counted['eth'] == len(frames)
    assert counted.get('pgrepl', 0) == sum(bool(f.messages) for f in frames)
