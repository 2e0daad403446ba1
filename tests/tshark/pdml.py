"""Reads the PDML that tshark writes, frame by frame, and keeps what the tests look at."""
import collections
import itertools
from typing import NamedTuple
from xml.parsers import expat

WARNING = 0x600000                      # PI_WARN; errors are above


class Field(NamedTuple):
    name: str
    pos: int
    size: int
    show: str
    value: str                          # the bytes in hex
    showname: str
    depth: int                          # 0: directly below the item of the message
    hidden: bool


class Message:
    """What one <proto name="pgrepl"> shows of a message. Its place is that of the item that holds the letter of the
    CopyData message, which may be a subtree; without a letter it is that of the protocol item."""
    LETTER = 'pgrepl.copydata.type'

    def __init__(self, pos, size, showname=''):
        self.pos, self.size, self.showname = pos, size, showname
        self.depth = 0                  # of that item below the protocol item
        self.fields = []                # of pgrepl, in document order, flat

    def __repr__(self):
        return f'{self.showname!r} at {self.pos}+{self.size}: ' + ' '.join(f'{f.name}={f.show}' for f in self.fields)


class Expert:
    """One expert item."""

    def __init__(self, outside):
        self.ours, self.severity, self.message = outside, 0, ''

    def __repr__(self):
        return f'{self.message!r} (severity {self.severity:#x})'


class Frame:
    def __init__(self):
        self.number = None
        self.protocols = []             # frame.protocols
        self.items = []                 # names of all protocol items, in document order
        self.messages = []              # of pgrepl
        self.fields = collections.Counter()     # names of all fields of pgsql
        self.experts = []
        self.malformed = []             # _ws.malformed, dissector bugs


class Reader:
    """Fed with PDML, collects frames. Only the innermost protocol owns a field."""

    def __init__(self):
        self.frames = []
        self.frame = None
        self.open = []                  # the open elements: (owner of what is below, attributes)
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end

    def start(self, tag, attributes):
        if tag == 'packet':
            self.frame, self.open = Frame(), []
        elif tag in ('proto', 'field') and self.frame:
            owner = self.open[-1][0] if self.open else self.frame
            self.open.append((self.item(tag, attributes.get('name', ''), attributes, owner) or owner, attributes))

    def item(self, tag, name, a, owner):
        """Notes one element. Returns what owns the elements below, if that changes."""
        frame = self.frame
        if name.startswith('_ws.'):
            if name == '_ws.expert':
                expert = Expert(isinstance(owner, Message))
                frame.experts.append(expert)
                return expert
            if name.startswith(('_ws.malformed', '_ws.dissector_bug', '_ws.lua')):
                frame.malformed.append(a.get('showname') or name)
        if isinstance(owner, Expert):
            if name == '_ws.expert.severity':
                owner.severity = int(a['show'])
            elif name == '_ws.expert.message':
                owner.message = a.get('show', '')
            elif name.startswith('pgrepl.'):
                owner.ours = True
        elif tag == 'proto':
            frame.items.append(name)
            if name != 'pgrepl':
                return frame            # whatever it is, its fields are not those of a message around it
            frame.messages.append(Message(int(a['pos']), int(a['size']), a.get('showname', '')))
            return frame.messages[-1]
        elif isinstance(owner, Message) and name.startswith('pgrepl'):
            self.field(name, a, owner)
        elif name.startswith('pgsql'):
            frame.fields[name] += 1
        elif name == 'num' and frame.number is None:
            frame.number = int(a['show'])
        elif name == 'frame.protocols':
            frame.protocols = a['show'].split(':')
        return None

    def field(self, name, a, message):
        depth = sum(owner is message for owner, _ in self.open) - 1     # open elements of the message, without its own
        if name == message.LETTER and not message.fields:
            holder = self.open[-1][1]
            message.pos, message.size, message.depth = int(holder['pos']), int(holder['size']), depth
        message.fields.append(Field(
            name, int(a.get('pos', 0)), int(a.get('size', 0)), a.get('show', ''), a.get('value', ''),
            a.get('showname', ''), depth - message.depth, a.get('hide') == 'yes'))

    def end(self, tag):
        if tag == 'packet':
            self.frames.append(self.frame)
            self.frame = None
        elif self.frame:
            self.open.pop()

    def take(self):
        frames, self.frames = self.frames, []
        return frames


def read(file):
    """Frames of an open binary file, one by one. Raises expat.ExpatError if the PDML is cut short."""
    reader = Reader()
    for block in iter(lambda: file.read(1 << 20), b''):
        reader.parser.Parse(block, False)
        yield from reader.take()
    reader.parser.Parse(b'', True)
    yield from reader.take()


def packets(text):
    """The PDML of each frame as it stands: a list of bytes. What is outside (the time of day) is left out."""
    parts = text.split(b'<packet>\n')[1:]
    return [part.partition(b'</packet>\n')[0] for part in parts]


def connections(frames, endpoints):
    """{(connection, direction): messages in order}; endpoints[number - 1] says whose frame it is."""
    found = collections.defaultdict(list)
    for frame in frames:
        if frame.messages:
            found[endpoints[frame.number - 1]].extend(frame.messages)
    return dict(found)


def difference(a, b):
    """What is different first in two sequences, '' if nothing is. Texts of many lines are compared line by line."""
    nothing = '(nothing)'
    for i, (x, y) in enumerate(itertools.zip_longest(a, b, fillvalue=nothing)):
        if x != y:
            if isinstance(x, bytes) and isinstance(y, bytes) and b'\n' in x:
                return f'item {i}, ' + difference(x.split(b'\n'), y.split(b'\n'))
            if isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y) > 0 and not hasattr(x, '_fields'):
                return f'item {i}, ' + difference(x, y)
            if isinstance(x, list) and isinstance(y, list):
                return f'item {i}, ' + difference(x, y)
            return f'item {i}:\n  {x!r}\n  {y!r}'
    return ''


def same(a, b, where=''):
    """Fails if two sequences differ."""
    __tracebackhide__ = True
    found = difference(a, b)
    if found:
        raise AssertionError(f'{where} {found}'.strip())
