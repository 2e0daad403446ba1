"""A small PostgreSQL frontend that speaks the protocol itself (trust authentication only).

It serves two purposes: over the Unix socket it is the recorder's control connection (never
captured), over TCP it is the "raw client" of the captures, with full control of what is sent.
"""

import select
import socket
import ssl
import struct
import threading
import time

EPOCH_2000 = 946684800


def lsn_text(value):
    return "%X/%X" % (value >> 32, value & 0xFFFFFFFF)


def lsn_value(text):
    high, low = text.split("/")
    return (int(high, 16) << 32) | int(low, 16)


def now_usec():
    return int((time.time() - EPOCH_2000) * 1000000)


def encrypt(sock, direct, version, keylog):
    """The socket with TLS on it: after an SSLRequest, or from the first byte on. The secrets go to a file."""
    if not direct:
        sock.sendall(struct.pack(">II", 8, 80877103))
        answer = sock.recv(1)
        if answer != b"S":
            raise RuntimeError("the server does not want TLS: %r" % answer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["postgresql"])
    context.keylog_filename = keylog
    return context.wrap_socket(sock)


class PgError(Exception):
    """An ErrorResponse; `fields` maps the field letter to its text."""

    def __init__(self, body):
        self.fields = {}
        for part in body.split(b"\0"):
            if part:
                self.fields[part[:1].decode()] = part[1:].decode("utf-8", "replace")
        super().__init__("%s: %s" % (self.fields.get("C"), self.fields.get("M")))


class Conn:
    """One connection. `path` = Unix socket directory, otherwise TCP to `host`; `tls` = arguments of encrypt()."""

    def __init__(self, host="127.0.0.1", port=5432, path=None, tls=None, **startup):
        if path:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect("%s/.s.PGSQL.%d" % (path, port))
        else:
            self.sock = socket.create_connection((host, port))
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.settimeout(60)
        if tls:
            self.sock = encrypt(self.sock, **tls)
        self.buffer = bytearray()
        self.lock = threading.Lock()
        self.parameters = {}
        self.notices = []
        self.statuses = 0               # status updates sent
        params = {"user": "postgres", "database": "postgres"}
        params.update(startup)
        body = b"".join(k.encode() + b"\0" + v.encode() + b"\0" for k, v in params.items())
        body = struct.pack(">I", 196608) + body + b"\0"
        self.sock.sendall(struct.pack(">I", len(body) + 4) + body)
        while True:
            kind, body = self.read()
            if kind == b"E":
                raise PgError(body)
            if kind == b"R" and body[:4] != b"\0\0\0\0":
                raise RuntimeError("the server wants a password; trust is expected")
            if kind == b"Z":
                return

    # -- bytes ---------------------------------------------------------------

    def send(self, kind, body=b""):
        with self.lock:
            self.sock.sendall(kind + struct.pack(">I", len(body) + 4) + body)

    def wait(self):
        """Waits for bytes. What TLS has decrypted already is in no socket."""
        if not isinstance(self.sock, ssl.SSLSocket) or not self.sock.pending():
            select.select([self.sock], [], [], 60)

    def fill(self):
        if isinstance(self.sock, ssl.SSLSocket):
            # One thread at a time: others may want to send.
            self.wait()
            with self.lock:
                data = self.sock.recv(262144)
        else:
            data = self.sock.recv(262144)
        if not data:
            raise EOFError("the server closed the connection")
        self.buffer += data

    def next_buffered(self):
        """The next complete message in the buffer, or None."""
        if len(self.buffer) < 5:
            return None
        length = struct.unpack_from(">I", self.buffer, 1)[0]
        if len(self.buffer) < length + 1:
            return None
        kind, body = bytes(self.buffer[:1]), bytes(self.buffer[5:length + 1])
        del self.buffer[:length + 1]
        return kind, body

    def read(self):
        while True:
            message = self.next_buffered()
            if message is None:
                self.fill()
                continue
            kind, body = message
            if kind == b"S":
                name, value = body.split(b"\0")[:2]
                self.parameters[name.decode()] = value.decode("utf-8", "replace")
            elif kind == b"N":
                self.notices.append(PgError(body))
            else:
                return kind, body

    # -- simple queries ------------------------------------------------------

    def query(self, sql, copy_in=None):
        """Runs `sql`; a list of {"columns", "rows", "tag", "copy"}, one per result.

        `copy_in` is the list of CopyData bodies for a COPY ... FROM STDIN.
        """
        self.send(b"Q", sql.encode() + b"\0")
        return self.results(copy_in)

    def results(self, copy_in=None):
        results, current, error = [], {"columns": [], "rows": [], "copy": []}, None
        while True:
            kind, body = self.read()
            if kind == b"T":
                current["columns"] = row_description(body)
            elif kind == b"D":
                current["rows"].append(data_row(body))
            elif kind == b"d":
                current["copy"].append(body)
            elif kind == b"G":
                for piece in copy_in or []:
                    self.send(b"d", piece)
                self.send(b"c")
            elif kind == b"C":
                current["tag"] = body[:-1].decode()
                results.append(current)
                current = {"columns": [], "rows": [], "copy": []}
            elif kind == b"E":
                error = PgError(body)
            elif kind == b"Z":
                if error:
                    raise error
                return results

    def rows(self, sql):
        return self.query(sql)[-1]["rows"]

    def value(self, sql):
        return self.rows(sql)[0][0]

    # -- replication ---------------------------------------------------------

    def start_replication(self, sql):
        """Sends a START_REPLICATION and returns once CopyBothResponse is there."""
        self.send(b"Q", sql.encode() + b"\0")
        kind, body = self.read()
        if kind == b"E":
            error = PgError(body)
            while self.read()[0] != b"Z":
                pass
            raise error
        if kind != b"W":
            raise RuntimeError("unexpected answer to START_REPLICATION: %r" % kind)

    def status(self, write, flush, apply, reply=0):
        self.statuses += 1
        self.send(b"d", b"r" + struct.pack(">QQQqB", write, flush, apply, now_usec(), reply))

    def hot_standby_feedback(self, xmin=0, epoch=0, catalog_xmin=0, catalog_epoch=0):
        self.send(b"d", b"h" + struct.pack(">qIIII", now_usec(), xmin, epoch, catalog_xmin,
                                           catalog_epoch))

    def close(self):
        try:
            self.send(b"X")
            self.sock.shutdown(socket.SHUT_WR)
            while self.sock.recv(65536):
                pass
        except OSError:
            pass
        self.sock.close()


def row_description(body):
    names, at = [], 2
    for _ in range(struct.unpack_from(">H", body)[0]):
        end = body.index(b"\0", at)
        names.append(body[at:end].decode("utf-8", "replace"))
        at = end + 19
    return names


def data_row(body):
    values, at = [], 2
    for _ in range(struct.unpack_from(">H", body)[0]):
        size = struct.unpack_from(">i", body, at)[0]
        at += 4
        if size < 0:
            values.append(None)
        else:
            values.append(body[at:at + size].decode("utf-8", "surrogateescape"))
            at += size
    return values


class Stream(threading.Thread):
    """Consumes one CopyBoth stream in the background until ReadyForQuery, or the end of the file."""

    def __init__(self, conn, answer=True):
        super().__init__(daemon=True)
        self.conn = conn
        self.answer = answer
        self.received = 0
        self.positions = []             # of all data received: where it ends, if that is known
        self.sent_pointer = 0
        self.replies = 0
        self.error = None
        self.closed = False
        self.done_sent = False
        self.tags = []
        self.start()

    def run(self):
        try:
            while True:
                message = self.conn.next_buffered()
                if message is None:
                    self.conn.wait()
                    self.conn.fill()
                    continue
                if not self.handle(*message):
                    return
        except (EOFError, OSError):
            self.closed = True

    def handle(self, kind, body):
        if kind == b"d" and body[:1] == b"w":
            start, end = struct.unpack_from(">QQ", body, 1)
            self.received = max(self.received, start)
            self.positions.append(start if start == end else start + len(body) - 25)
        elif kind == b"d" and body[:1] == b"k":
            self.sent_pointer = struct.unpack_from(">Q", body, 1)[0]
            self.replies += 1
            if body[17] and self.answer:
                self.report()
        elif kind == b"c":
            if not self.done_sent:
                self.done_sent = True
                self.conn.send(b"c")
        elif kind == b"E":
            self.error = PgError(body)
        elif kind == b"C":
            self.tags.append(body[:-1].decode())
        elif kind == b"Z":
            return False
        return True

    def report(self, reply=0):
        at = max(self.received, self.sent_pointer)
        self.conn.status(at, at, at, reply)

    def catch_up(self, target, timeout=20):
        """Waits until everything up to `target` was received; asks with a reply request."""
        end = time.time() + timeout
        while self.sent_pointer < target and self.is_alive():
            if time.time() > end:
                raise TimeoutError("the stream did not reach %s" % lsn_text(target))
            before = self.replies
            self.report(1)
            pause = time.time() + 0.4
            while self.replies == before and time.time() < pause:
                time.sleep(0.01)

    def finish(self, timeout=20):
        """Ends the stream with CopyDone and waits for the server's end of it."""
        if self.is_alive() and not self.done_sent:
            self.done_sent = True
            self.conn.send(b"c")
        self.join(timeout)
        if self.is_alive():
            raise TimeoutError("the stream did not end")
