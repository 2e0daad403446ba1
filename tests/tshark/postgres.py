"""As much of the PostgreSQL protocol as the tests need: cutting a stream into messages, making up a stream."""
import struct
from typing import NamedTuple

import pcap
from pcap import CLIENT, SERVER

START = struct.pack('>I', 3 << 16)
ENCRYPTION = (struct.pack('>I', 80877103), struct.pack('>I', 80877104))     # SSLRequest, GSSENCRequest
CANCEL = struct.pack('>I', 80877102)


# --- reading ------------------------------------------------------------------------------------------------

class Connection:
    """Cuts both directions into messages and knows the copy mode."""

    def __init__(self):
        self.waiting = {CLIENT: b'', SERVER: b''}
        self.started = False
        self.asked = False              # for encryption
        self.encrypted = False
        self.backup = False             # whether the last query asks for one
        self.mode = None                # of copy: W both, H out, G in, B base backup, C when a copy-both has ended

    def take(self, direction, data):
        """Bytes in order; yields (kind, body, copy mode) of each message that is complete with them."""
        if self.encrypted:
            return
        self.waiting[direction] += data
        while message := self.cut(direction):
            kind, body = message
            if direction == SERVER and kind in 'WHG':
                self.mode = 'B' if kind == 'H' and self.backup else kind
            elif direction == SERVER and kind in 'CEZ':
                self.mode = 'C' if kind == 'C' and self.mode in ('W', 'C') else None
            elif direction == CLIENT and kind == 'Q':
                self.backup = body.lstrip().upper().startswith(b'BASE_BACKUP')
            yield kind, body, self.mode

    def cut(self, direction):
        """The next whole message, None if there is none. The first ones have no letter."""
        data = self.waiting[direction]
        if self.asked and direction == SERVER and data:
            self.asked, self.encrypted, self.waiting[direction] = False, data[:1] in b'SG', data[1:]
            return None if self.encrypted else self.cut(direction)
        letter = 1 if self.started or direction == SERVER else 0
        if letter == 0 and data[:1] == b'\x16':
            self.encrypted = True       # TLS from the first byte
            return None
        if len(data) < letter + 4:
            return None
        end = letter + struct.unpack_from('>I', data, letter)[0]
        if len(data) < end:
            return None
        self.waiting[direction] = data[end:]
        body = data[letter + 4:end]
        if letter == 0:
            self.asked = body in ENCRYPTION
            self.started = not self.asked
        return data[:letter].decode('latin-1'), body


class Message(NamedTuple):
    frame: int                          # where its last byte is
    ends: tuple                         # (client, server)
    direction: str
    kind: str
    body: bytes
    mode: str                           # of copy, see Connection


def messages(capture):
    """All messages that can be read. And the connections in which none can be, because they are encrypted or have
    no beginning."""
    connections, found = {}, []
    for number, ends, direction, data in pcap.arrivals(capture):
        for kind, body, mode in connections.setdefault(ends, Connection()).take(direction, data):
            found.append(Message(number, ends, direction, kind, body, mode))
    return found, {ends for ends, c in connections.items() if c.encrypted or not c.started}


# --- making up ----------------------------------------------------------------------------------------------

def message(kind, body):
    return kind + struct.pack('>I', len(body) + 4) + body


def startup(**parameters):
    body = START + b''.join(k.encode() + b'\0' + v.encode() + b'\0' for k, v in parameters.items()) + b'\0'
    return struct.pack('>I', len(body) + 4) + body


def keepalive(wal_end, time, reply_requested=0):
    return message(b'd', struct.pack('>cQqB', b'k', wal_end, time, reply_requested))


def xlog_data(lsn, time, payload):
    return message(b'd', struct.pack('>cQQq', b'w', lsn, lsn, time) + payload)


def logical_stream(pieces, options="proto_version '1', publication_names '\"p\"'", **ports):
    """A connection with logical replication in which the server sends the pieces, a segment each; a piece of the client
    is (CLIENT, bytes)."""
    command = f'START_REPLICATION SLOT "s" LOGICAL 0/0 ({options})'
    return pcap.conversation([
        (CLIENT, startup(user='me', database='db', replication='database')),
        (SERVER, message(b'R', struct.pack('>I', 0)) + message(b'Z', b'I')),
        (CLIENT, message(b'Q', command.encode() + b'\0')),
        (SERVER, message(b'W', b'\0\0\0')),
        *(piece if isinstance(piece, tuple) else (SERVER, piece) for piece in pieces)], **ports)
