"""Captures without Wireshark: reading and writing, TCP streams out of packets and packets out of streams.

Reads pcap and pcapng (also gzipped), writes pcapng. Knows Ethernet and IP without extension headers, which is
what our captures hold. Checksums are written as zero; Wireshark does not verify them unless asked to.
"""
import gzip
import itertools
import random
import struct
from typing import NamedTuple

ETHERNET, RAW_IP = 1, 101
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
CLIENT, SERVER = 'client', 'server'


class Packet(NamedTuple):
    time: int                           # nanoseconds since 1970
    data: bytes
    length: int                         # on the wire; more than len(data) in a snapped packet


class Capture(NamedTuple):
    packets: list
    linktype: int = ETHERNET
    secrets: tuple = ()                 # bodies of Decryption Secrets Blocks


# --- files --------------------------------------------------------------------------------------------------

def read(path):
    with open(path, 'rb') as f:
        raw = f.read()
    if raw[:2] == b'\x1f\x8b':
        raw = gzip.decompress(raw)
    return read_pcapng(raw) if raw[:4] == b'\x0a\x0d\x0d\x0a' else read_pcap(raw)


def read_pcap(raw):
    magic = {b'\xd4\xc3\xb2\xa1': ('<', 1000), b'\xa1\xb2\xc3\xd4': ('>', 1000),
             b'\x4d\x3c\xb2\xa1': ('<', 1), b'\xa1\xb2\x3c\x4d': ('>', 1)}
    order, fraction = magic[raw[:4]]
    packets, at = [], 24
    while at < len(raw):
        seconds, part, captured, length = struct.unpack_from(order + '4I', raw, at)
        packets.append(Packet(seconds * 10**9 + part * fraction, raw[at + 16:at + 16 + captured], length))
        at += 16 + captured
    return Capture(packets, struct.unpack_from(order + 'I', raw, 20)[0])


def read_pcapng(raw):
    packets, interfaces, secrets, at = [], [], [], 0
    while at < len(raw):
        if raw[at:at + 4] == b'\x0a\x0d\x0d\x0a':
            order = '<' if raw[at + 8:at + 12] == b'\x4d\x3c\x2b\x1a' else '>'
        kind, size = struct.unpack_from(order + '2I', raw, at)
        body = raw[at + 8:at + size - 4]
        if kind == 1:
            interfaces.append((struct.unpack_from(order + 'H', body)[0], resolution(body[8:], order)))
        elif kind == 6:
            interface, high, low, captured, length = struct.unpack_from(order + '5I', body)
            units = interfaces[interface][1]
            packets.append(Packet((high << 32 | low) * 10**9 // units, body[20:20 + captured], length))
        elif kind == 10:
            secrets.append(body)
        at += size
    linktypes = {linktype for linktype, _ in interfaces}
    if len(linktypes) > 1:
        raise ValueError(f'more than one link type: {linktypes}')
    return Capture(packets, linktypes.pop(), tuple(secrets))


def resolution(options, order):
    """Units a second of the timestamps of an interface: option if_tsresol."""
    while len(options) >= 4:
        code, size = struct.unpack_from(order + '2H', options)
        if code == 9:
            return 2 ** (options[4] & 0x7f) if options[4] & 0x80 else 10 ** options[4]
        options = options[4 + size + -size % 4:]
    return 10**6


def write(path, capture):
    def block(kind, body):
        body += bytes(-len(body) % 4)
        size = struct.pack('<I', len(body) + 12)
        return struct.pack('<I', kind) + size + body + size

    with open(path, 'wb') as out:
        out.write(block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1)))
        out.write(block(1, struct.pack('<HHI', capture.linktype, 0, 0) + struct.pack('<HHBxxxI', 9, 1, 9, 0)))
        for secret in capture.secrets:
            out.write(block(10, secret))
        for p in capture.packets:
            header = struct.pack('<5I', 0, p.time >> 32, p.time & 0xffffffff, len(p.data), p.length)
            out.write(block(6, header + p.data))


# --- packets ------------------------------------------------------------------------------------------------

class Segment(NamedTuple):
    """A TCP packet, taken apart."""
    source: tuple                       # (address, port)
    target: tuple
    seq: int
    ack: int
    flags: int
    payload: bytes
    link: bytes                         # all that is before the IP header


def parse(packet, linktype):
    """The Segment in a packet, None if it is something else."""
    data = packet.data
    if linktype == ETHERNET:
        link = 14
        if len(data) < link or data[12:14] not in (b'\x08\x00', b'\x86\xdd'):
            return None
    elif linktype == RAW_IP:
        link = 0
    else:
        raise ValueError(f'link type {linktype}')
    if data[link] >> 4 == 4:
        size = (data[link] & 15) * 4
        end = link + int.from_bytes(data[link + 2:link + 4], 'big')
        protocol, addresses = data[link + 9], (data[link + 12:link + 16], data[link + 16:link + 20])
    else:
        size = 40
        end = link + 40 + int.from_bytes(data[link + 4:link + 6], 'big')
        protocol, addresses = data[link + 6], (data[link + 8:link + 24], data[link + 24:link + 40])
    if protocol != 6:
        return None
    if len(data) < packet.length:
        raise ValueError('a snapped packet has no whole TCP stream')
    tcp = data[link + size:end]
    source, target, seq, ack, offset, flags = struct.unpack_from('>HHIIBB', tcp)
    payload = tcp[(offset >> 4) * 4:]
    return Segment((addresses[0], source), (addresses[1], target), seq, ack, flags, payload, data[:link])


def build(segment):
    """The bytes of the packet."""
    tcp = struct.pack('>HHIIBBHHH', segment.source[1], segment.target[1], segment.seq & 0xffffffff,
                      segment.ack & 0xffffffff, 5 << 4, segment.flags, 0xffff, 0, 0) + segment.payload
    a, b = segment.source[0], segment.target[0]
    if len(a) == 4:
        ip = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + a + b
    else:
        ip = struct.pack('>IHBB', 6 << 28, len(tcp), 6, 64) + a + b
    return segment.link + ip + tcp


def endpoints(capture):
    """For each packet ((client, server), direction), None for what is not TCP. The client sends the SYN; in a
    connection without one, the end with the higher port is the client."""
    clients, found = {}, []
    for packet in capture.packets:
        s = parse(packet, capture.linktype) if len(packet.data) == packet.length else None
        if s is None:
            found.append(None)
            continue
        pair = frozenset((s.source, s.target))
        if s.flags & SYN:
            clients[pair] = s.target if s.flags & ACK else s.source
        client = clients.setdefault(pair, max(s.source, s.target, key=lambda end: end[1]))
        server = s.target if client == s.source else s.source
        found.append(((client, server), CLIENT if s.source == client else SERVER))
    return found


# --- streams ------------------------------------------------------------------------------------------------

class Order:
    """Puts the bytes of one direction in order, whatever way the packets come."""

    def __init__(self, seq):
        self.next = seq
        self.early = {}                 # seq -> payload of packets that came too soon

    def take(self, seq, payload):
        """Takes what is in a packet; returns the bytes that continue the stream."""
        self.early[seq] = max(payload, self.early.get(seq, b''), key=len)
        new = b''
        while True:
            due = [start for start in self.early if (self.next - start) & 0xffffffff < 1 << 31]
            if not due:
                return new
            for start in due:
                more = self.early.pop(start)[(self.next - start) & 0xffffffff:]
                new += more
                self.next = (self.next + len(more)) & 0xffffffff


def arrivals(capture):
    """(frame number, (client, server), direction, bytes) in the order in which the bytes become readable."""
    orders = {}
    for number, (packet, end) in enumerate(zip(capture.packets, endpoints(capture)), 1):
        if end is None:
            continue
        s = parse(packet, capture.linktype)
        if s.flags & SYN:
            orders[end] = Order((s.seq + 1) & 0xffffffff)
        elif s.payload:
            new = orders.setdefault(end, Order(s.seq)).take(s.seq, s.payload)
            if new:
                yield number, *end, new


# --- cutting anew -------------------------------------------------------------------------------------------

class Flow:
    """One direction of a connection: bytes come in by packets and go out in segments of other sizes."""

    def __init__(self, segment, sizes):
        self.template = segment
        self.sizes = sizes
        self.order = Order(segment.seq)
        self.next_out = segment.seq
        self.waiting = b''
        self.time = 0                   # of the youngest byte that waits

    def take(self, time, seq, payload):
        new = self.order.take(seq, payload)
        if new:
            self.waiting += new
            self.time = time

    def give(self, ack, everything):
        """Full segments, and with everything what is left as well."""
        while self.waiting:
            size = self.sizes.peek()
            if len(self.waiting) < size and not everything:
                return
            self.sizes.next()
            payload, self.waiting = self.waiting[:size], self.waiting[size:]
            yield self.time, build(self.template._replace(seq=self.next_out, ack=ack, flags=PSH | ACK, payload=payload))
            self.next_out = (self.next_out + len(payload)) & 0xffffffff


class Sizes:
    """How long the next segment is to be: always the same, or one after the other."""

    def __init__(self, sizes):
        self.iterator = itertools.repeat(sizes) if isinstance(sizes, int) else iter(sizes)
        self.head = next(self.iterator)

    def peek(self):
        return self.head

    def next(self):
        self.head = next(self.iterator)


def random_sizes(seed, low=1, high=3000):
    generator = random.Random(seed)
    while True:
        yield generator.randint(low, high)


def resegment(capture, sizes):
    """The same streams in other segments. Sizes is a number of bytes or an endless iterator of such. Bytes never
    wait for longer than until the other end speaks, so that who spoke first stays as it was. Bare
    acknowledgements are left out; SYN, FIN and RST stay."""
    sizes = Sizes(sizes)
    flows, out, last = {}, [], 0

    def emit(time, data):
        nonlocal last
        last = max(last, time)
        out.append(Packet(last, data, len(data)))

    def flush(way, everything=True):
        flow, other = flows.get(way), flows.get(way[::-1])
        if flow:
            ack = other.next_out if other else flow.template.ack
            for time, data in flow.give(ack, everything):
                emit(time, data)

    for packet in capture.packets:
        s = parse(packet, capture.linktype)
        if s is None:
            emit(packet.time, packet.data)
            continue
        way = (s.source, s.target)
        if s.flags & SYN:
            flush(way)
            flush(way[::-1])
            flows[way] = Flow(s._replace(seq=(s.seq + 1) & 0xffffffff), sizes)
            emit(packet.time, packet.data)
            continue
        flow = flows.setdefault(way, Flow(s, sizes))
        if s.payload:
            flush(way[::-1])
            flow.take(packet.time, s.seq, s.payload)
            flush(way, everything=False)
        if s.flags & (FIN | RST):
            flush(way)
            flush(way[::-1])
            other = flows.get(way[::-1])
            emit(packet.time, build(s._replace(seq=flow.next_out, ack=other.next_out if other else s.ack, payload=b'')))
            if s.flags & FIN:
                flow.order.next = flow.next_out = (flow.next_out + 1) & 0xffffffff
    for way, flow in flows.items():
        flush(way)
        left = sum(map(len, flow.order.early.values()))
        if left:
            raise ValueError(f'a gap in the stream to port {way[1][1]}: {left} bytes after it')
    return capture._replace(packets=out)


# --- several in one -----------------------------------------------------------------------------------------

def move(capture, n):
    """The same connections between other addresses; n = 0 leaves them."""
    packets = []
    for packet in capture.packets:
        s = parse(packet, capture.linktype)
        if s is not None:
            data = build(s._replace(source=moved(s.source, n), target=moved(s.target, n)))
            packet = packet._replace(data=data, length=len(data))
        packets.append(packet)
    return capture._replace(packets=packets)


def moved(end, n):
    address, port = end
    return address[:-1] + bytes([(address[-1] + 16 * n) & 0xff]), port


def join(captures):
    """One after the other in one capture."""
    packets, start = [], captures[0].packets[0].time
    for capture in captures:
        shift = start - capture.packets[0].time
        packets += [p._replace(time=p.time + shift) for p in capture.packets]
        start = packets[-1].time + 10**9
    return captures[0]._replace(packets=packets)


# --- made up ------------------------------------------------------------------------------------------------

def conversation(pieces, client_port=51234, server_port=5432, start=1_700_000_000 * 10**9, step=10**6):
    """A whole TCP connection. Pieces are (CLIENT or SERVER, bytes), a segment each."""
    link = bytes(12) + b'\x08\x00'
    ends = {CLIENT: (bytes((192, 0, 2, 1)), client_port), SERVER: (bytes((192, 0, 2, 2)), server_port)}
    sent = {CLIENT: 1000, SERVER: 2000}
    packets = []

    def send(end, flags, payload=b''):
        other = SERVER if end == CLIENT else CLIENT
        ack = sent[other] if flags & ACK else 0
        data = build(Segment(ends[end], ends[other], sent[end], ack, flags, payload, link))
        packets.append(Packet(start + step * len(packets), data, len(data)))
        sent[end] += len(payload) + bool(flags & (SYN | FIN))

    send(CLIENT, SYN)
    send(SERVER, SYN | ACK)
    send(CLIENT, ACK)
    for end, payload in pieces:
        if len(payload) > 65495:
            raise ValueError(f'{len(payload)} bytes do not fit into a segment')
        send(end, PSH | ACK, payload)
    send(CLIENT, FIN | ACK)
    send(SERVER, FIN | ACK)
    send(CLIENT, ACK)
    return Capture(packets)


def drop(capture, *indexes):
    return capture._replace(packets=[p for i, p in enumerate(capture.packets) if i not in indexes])


def retime(packets, times):
    return [p._replace(time=time) for p, time in zip(packets, times)]


def duplicate(capture, index):
    """The packet a second time, directly behind itself."""
    p = capture.packets
    return capture._replace(packets=p[:index + 1] + p[index:])


def swap(capture, index):
    """The packet and the one behind it change places."""
    p = capture.packets
    order = p[:index] + [p[index + 1], p[index]] + p[index + 2:]
    return capture._replace(packets=retime(order, [x.time for x in p]))


def snap(capture, length):
    return capture._replace(packets=[p._replace(data=p.data[:length]) for p in capture.packets])
