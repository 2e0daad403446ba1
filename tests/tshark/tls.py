"""Puts TLS around a connection in plain text: what was said stays the same, the records are cut as one likes.

Both ends are Python's own, their bytes go through memory. The secrets come out as the key log that browsers write."""
import itertools
import ssl
import struct
import subprocess
from typing import NamedTuple

import pcap
import postgres
from pcap import CLIENT, SERVER

SEGMENT = 60_000


class Certificate:
    """Of the server; made by openssl, which has to be there."""

    def __init__(self, directory):
        self.key, self.path = directory / 'server.key', directory / 'server.crt'
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
                        '-days', '3650', '-subj', '/CN=localhost', '-keyout', self.key, '-out', self.path],
                       check=True, capture_output=True)


class Way(NamedTuple):
    """How a connection is encrypted."""
    version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    direct: bool = False                # from the first byte on, else after an SSLRequest
    alpn: bool = True                   # whether it is named postgresql
    records: tuple = (16_384,)          # sizes of the records, over and over
    port: int = 5432


class Ends:
    """The two ends of an encrypted connection, and what they say: (CLIENT or SERVER, bytes)."""

    def __init__(self, certificate, way, keylog):
        client, server = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        client.keylog_filename = str(keylog)
        server.load_cert_chain(certificate.path, certificate.key)
        for context in (client, server):
            context.minimum_version = context.maximum_version = way.version
            if way.alpn:
                context.set_alpn_protocols(['postgresql'])
        self.received = {CLIENT: ssl.MemoryBIO(), SERVER: ssl.MemoryBIO()}
        self.sent = {CLIENT: ssl.MemoryBIO(), SERVER: ssl.MemoryBIO()}
        self.ends = {CLIENT: client.wrap_bio(self.received[CLIENT], self.sent[CLIENT]),
                     SERVER: server.wrap_bio(self.received[SERVER], self.sent[SERVER], server_side=True)}
        self.said = []

    def flush(self, end):
        while data := self.sent[end].read(SEGMENT):
            self.received[SERVER if end == CLIENT else CLIENT].write(data)
            self.said.append((end, data))

    def shake_hands(self):
        waiting = [CLIENT, SERVER]
        while waiting:
            for end in (CLIENT, SERVER):
                try:
                    if end in waiting:
                        self.ends[end].do_handshake()
                        waiting.remove(end)
                except ssl.SSLWantReadError:
                    pass
                self.flush(end)

    def say(self, end, data, sizes):
        """The bytes in records of such sizes."""
        while data:
            size = min(sizes.peek(), 16_384)
            sizes.next()
            self.ends[end].write(data[:size])
            data = data[size:]
        self.flush(end)


def encrypt(capture, certificate, way, keylog, client_port=51234):
    """The only connection of a capture, encrypted, between other ends. The secrets are added to the key log, a file."""
    both = {ends for _, ends, _, _ in pcap.arrivals(capture)}
    if len(both) != 1:
        raise ValueError(f'{len(both)} connections')
    ends = Ends(certificate, way, keylog)
    if not way.direct:
        ends.said += [(CLIENT, postgres.message(b'', postgres.ENCRYPTION[0])), (SERVER, b'S')]
    ends.shake_hands()
    sizes = pcap.Sizes(itertools.cycle(way.records))
    for _, _, direction, data in pcap.arrivals(capture):
        ends.say(direction, data, sizes)
    return pcap.conversation(ends.said, client_port, way.port)


def secrets(keylog):
    """The body of a Decryption Secrets Block that holds a key log."""
    return struct.pack('<II', 0x544c534b, len(keylog)) + keylog


def key_log(secrets):
    """The key log out of such a body."""
    return secrets[8:8 + struct.unpack_from('<I', secrets, 4)[0]]
