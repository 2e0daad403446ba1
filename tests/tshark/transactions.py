"""Transactions, acknowledgements and lags as the packets tell them, read without any dissector; and what the SQL says
of them: the `transaction` lines of NAME.server.jsonl (tests/captures/README.md has their form)."""
import collections
import math
import re
import struct
from decimal import Decimal

import pcap
import postgres

START = re.compile(r'START_REPLICATION\s+(?:SLOT\s+"?(?P<slot>\w+)"?\s+)?(?P<logical>LOGICAL)?')
HEADER = 25                             # of XLogData
ROWS, CHANGES = 'IUDT', 'IUD'
TOTALS = 'CcPp'                         # say how large the transaction is
# Messages that end or prepare a transaction: where the end of the record and the time are.
RECORDS = {'C': (10, 18), 'P': (10, 18), 'p': (10, 18), 'K': (10, 18), 'r': (10, 26), 'c': (14, 22)}
GID = {'b': 29, 'P': 30, 'p': 30, 'K': 30, 'r': 38}     # where it begins, behind the xid
COMMITTED, ROLLED_BACK, PREPARED, PART_ROLLED_BACK = 'committed', 'rolled back', 'prepared', 'subtransaction rolled back'


def unsigned(data, at, size=8):
    return int.from_bytes(data[at:at + size], 'big')


class Transaction:
    def __init__(self, xid, first=None):
        self.xid, self.first = xid, first
        self.prepare = self.end = None  # items
        self.outcome = None
        self.origin = False
        self.changes = []               # the xids that made them
        self.bytes = 0
        self.lost = {}                  # subtransaction: the Stream Abort that rolled it back


class Item:
    """A CopyData message of a replication stream."""

    def __init__(self, index, message, time, stream):
        self.index, self.time, self.stream = index, time, stream
        self.frame, self.way, self.body = message.frame, (message.ends, message.direction), message.body
        self.letter = message.body[:1].decode('latin-1')
        self.data = message.body[HEADER:] if self.letter == 'w' else b''
        self.kind = ''                  # of the pgoutput message
        self.transaction = self.own = None      # own: the xid of the subtransaction, if it says one
        self.changes = self.bytes = 0   # of the transaction so far
        self.highest = stream.highest   # WAL end so far

    def __repr__(self):
        return f'{self.letter}{self.kind and " " + self.kind} in frame {self.frame}'


class Stream:
    """What follows one START_REPLICATION."""

    def __init__(self, slot, pgoutput, prepared):
        self.slot, self.pgoutput, self.prepared = slot, pgoutput, prepared
        self.highest = None
        self.items = []
        self.current = self.block = None
        self.streamed = {}              # by xid

    def take(self, item):
        self.items.append(item)
        if item.letter == 'w' and item.way[1] == pcap.SERVER and self.pgoutput:
            self.message(item, item.data)
        if item.letter in 'wk' and item.way[1] == pcap.SERVER:
            self.highest = max(self.highest or 0, unsigned(item.body, 9 if item.letter == 'w' else 1))

    def message(self, item, data):
        item.kind = kind = data[:1].decode('latin-1')
        block, xid = self.block, unsigned(data, 1, 4)
        if kind == 'B':
            self.current = Transaction(unsigned(data, 17, 4), item)
        elif kind == 'b':
            self.current = Transaction(unsigned(data, 25, 4), item)
        elif kind == 'S':
            if data[5]:
                self.streamed[xid] = Transaction(xid, item)
            block = self.block = self.streamed.setdefault(xid, Transaction(xid))
        elif kind == 'E':
            self.block = None
        t = block or self.current
        if kind in 'Ac':
            t = self.streamed.setdefault(xid, Transaction(xid))
            item.own = unsigned(data, 5, 4) if kind == 'A' else None
        elif kind in 'pKr':
            t = self.of_gid(kind, data)
        elif kind == 'M' and not data[5 if block else 1] & 1:
            return                      # outside of any transaction
        elif block and kind in ROWS + 'RY':
            item.own = xid
        item.transaction = t
        self.account(item, t, kind)
        if kind in 'CP':
            self.current = None

    def of_gid(self, kind, data):
        """Prepared transactions are known by xid and gid, also on later connections."""
        xid = unsigned(data, GID[kind] - 4, 4)
        if kind == 'p':
            return self.streamed.setdefault(xid, Transaction(xid))
        return self.prepared.pop((xid, data[GID[kind]:]), None) or Transaction(xid)

    def account(self, item, t, kind):
        t.bytes += len(item.data)
        t.origin |= kind == 'O'
        if kind in CHANGES:
            t.changes.append(item.own)
        elif kind == 'A' and item.own != t.xid:
            t.lost[item.own] = item
        elif kind in 'CcKrA':
            t.end, t.outcome = item, ROLLED_BACK if kind in 'rA' else COMMITTED
            self.streamed.pop(t.xid, None)
        elif kind in 'Pp':
            t.prepare = item
            self.prepared[t.xid, item.data[GID[kind]:]] = t
            self.streamed.pop(t.xid, None)
        item.bytes, item.changes = t.bytes, sum(xid not in t.lost for xid in t.changes)


def read(capture, pgoutput=True):
    """The items of all replication streams, in the order of the packets."""
    items, asked, streams, prepared = [], {}, {}, {}
    for m in postgres.messages(capture)[0]:
        if m.kind == 'Q' and (found := START.match(m.body.decode('utf-8', 'replace'))):
            asked[m.ends] = found
        elif m.kind == 'W' and m.direction == pcap.SERVER:
            start = asked[m.ends]
            streams[m.ends] = Stream(start['slot'], pgoutput and bool(start['logical']), prepared)
        elif m.kind == 'd' and m.mode == 'W':
            items.append(Item(len(items), m, capture.packets[m.frame - 1].time, streams[m.ends]))
            streams[m.ends].take(items[-1])
    return items


# --- what is to be shown ------------------------------------------------------------------------------------

LAGS = {'pgrepl.lag.write': 1, 'pgrepl.lag.flush': 9, 'pgrepl.lag.apply': 17}   # and where the position is
NAMES = [
    'pgrepl.txn.xid', 'pgrepl.txn.begin_frame', 'pgrepl.txn.prepare_frame', 'pgrepl.txn.end_frame', 'pgrepl.txn.outcome',
    'pgrepl.txn.changes', 'pgrepl.txn.bytes', 'pgrepl.txn.duration', 'pgrepl.delay.send', 'pgrepl.ack.frame',
    'pgrepl.ack.time', *LAGS,
]


def seconds(value, units):
    return Decimal(value) / units


def acknowledgement(item):
    """The first status update behind it that flushes it."""
    end = unsigned(item.data, RECORDS[item.kind][0])
    for later in item.stream.items:
        if later.index > item.index and later.letter == 'r' and later.way[1] == pcap.CLIENT:
            if 0 < unsigned(later.body, 9) >= end:
                return later
    return None


def outcomes(item, last):
    """What may be shown as the outcome; there is a choice where a subtransaction was rolled back and then all the rest,
    and on messages that only lead to its rows."""
    t = item.transaction
    whole = t.outcome if t.end and t.end.index <= last else PREPARED if t.prepare and t.prepare.index <= last else None
    abort = t.lost.get(item.own)
    if not abort or abort.index > last:
        return {whole}
    return {PART_ROLLED_BACK} if item.kind in ROWS and whole != ROLLED_BACK else {PART_ROLLED_BACK, whole}


def expected(item, last=math.inf):
    """{name: the values that may be shown, None for none} by one who knows the items up to number last."""
    t, found = item.transaction, {name: {None} for name in NAMES}

    def put(name, value):
        found[f'pgrepl.{name}'] = {value}

    if t:
        put('txn.xid', t.xid)
        found['pgrepl.txn.outcome'] = outcomes(item, last)
        for name, other in (('begin', t.first), ('prepare', t.prepare), ('end', t.end)):
            if other and other.index <= last:
                put(f'txn.{name}_frame', other.frame)
        if item.kind in TOTALS and t.first:
            put('txn.changes', item.changes)
            put('txn.bytes', item.bytes)
            put('txn.duration', seconds(item.time - t.first.time, 10**9))
    if item.kind in RECORDS:
        if not t.origin:
            sent = struct.unpack_from('>q', item.body, 17)[0]
            put('delay.send', seconds(sent - struct.unpack_from('>q', item.data, RECORDS[item.kind][1])[0], 10**6))
        ack = acknowledgement(item)
        if ack and ack.index <= last:
            put('ack.frame', ack.frame)
            put('ack.time', seconds(ack.time - item.time, 10**9))
    if item.letter == 'r' and item.way[1] == pcap.CLIENT and item.highest is not None:
        for name, at in LAGS.items():
            if position := unsigned(item.body, at):
                found[name] = {max(0, item.highest - position)}
                if not item.highest:
                    found[name].add(None)
    return found


# --- what the SQL says --------------------------------------------------------------------------------------

def lines(answers):
    """{xid: transaction}"""
    return {a['transaction']['xid']: a['transaction'] for a in answers if 'transaction' in a}


def counted(tables):
    """The rows of a transaction line as {(table, kind): count}."""
    return collections.Counter({(table, kind): n for table, kinds in tables.items() for kind, n in kinds.items() if n})


def totals(answers, outcomes=(COMMITTED,)):
    """{table: {kind: count}} of all transactions with one of these outcomes, without rolled back subtransactions."""
    found = {}
    for t in lines(answers).values():
        if t['outcome'] in outcomes:
            for (table, kind), n in counted(t['changes']).items():
                found.setdefault(table, collections.Counter())[kind] += n
    return {table: dict(kinds) for table, kinds in found.items()}
