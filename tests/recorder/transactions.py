"""What the transactions of a workload are, as the SQL says: xids, changes and messages, for NAME.server.jsonl.

Takes nothing from the replication stream. The counts are declared next to the statements (`-- @changes` in the
workload) and must agree with the command tags; the xids are asked for inside the transactions themselves.
"""

import collections
import re

MESSAGE = re.compile(r"pg_logical_emit_message\((true|false), '([^']*)', '([^']*)'\)")
QUOTED = re.compile(r"'((?:[^']|'')*)'")
KINDS = ("insert", "update", "delete", "truncate")


class Level:
    """A transaction or an open subtransaction."""

    def __init__(self, name=None):
        self.name = name
        self.xid = None
        self.kept = collections.Counter()       # (table, kind)
        self.subtransactions = []


class Transaction:
    def __init__(self):
        self.levels = [Level()]
        self.rolled_back = collections.Counter()
        self.messages = 0
        self.outcome = self.gid = self.origin = None

    @property
    def xid(self):
        return self.levels[0].xid

    def savepoint(self, name):
        self.levels.append(Level(name))

    def index(self, name):
        return max(at for at, level in enumerate(self.levels) if level.name == name)

    def release(self, name):
        at = self.index(name)
        for level in self.levels[at:]:
            self.merge(self.levels[at - 1], level, "kept")
        del self.levels[at:]

    def roll_back(self, name):
        at = self.index(name)
        for level in self.levels[at:]:
            self.rolled_back += level.kept
            self.merge(self.levels[0], level, "rolled back", changes=False)
        self.levels[at:] = [Level(name)]

    def merge(self, into, level, outcome, changes=True):
        if changes:
            into.kept += level.kept
        if level.xid:
            into.subtransactions.append({"xid": level.xid, "outcome": outcome})
        into.subtransactions += [sub if changes else dict(sub, outcome=outcome) for sub in level.subtransactions]

    def end(self, outcome, gid=None):
        while len(self.levels) > 1:
            self.release(self.levels[-1].name)
        self.outcome, self.gid = outcome, gid

    def assign(self, xids):
        """Takes the xids that the transaction holds, oldest first. A parent gets its own before its child."""
        known = {level.xid for level in self.levels}
        known.update(sub["xid"] for level in self.levels for sub in level.subtransactions)
        new = [xid for xid in xids if xid not in known]
        without = [level for level in self.levels if level.xid is None]
        for level, xid in zip(without[:len(new)], new, strict=True):
            level.xid = xid


def by_table(counter):
    found = {}
    for (table, kind), count in sorted(counter.items()):
        found.setdefault(table, dict.fromkeys(KINDS, 0))[kind] = count
    return found


class Ledger:
    """Runs the statements of a workload and keeps the account of its transactions.

    `rolled_back` tells how much of what was rolled back the client gets to see: none of it, all of it, or some
    of it (that is at least one row; the server streams a transaction when its memory is full)."""

    def __init__(self, version, rolled_back="none", two_phase=False):
        self.xid = "pg_current_xact_id()" if version >= 13 else "txid_current()"
        self.rolled_back, self.two_phase = rolled_back, two_phase
        self.open = {}                          # by connection
        self.prepared = {}                      # by gid
        self.finished = []
        self.messages = []

    def run(self, conn, statement):
        words = statement.rstrip(";").upper().split()
        current = self.open.get(conn)
        name = statement.rstrip(";").split()[-1]
        if words[0] == "BEGIN":
            conn.query(statement)
            self.open[conn] = transaction = Transaction()
            transaction.levels[0].xid = int(conn.value("SELECT " + self.xid))
        elif words[0] == "SAVEPOINT":
            conn.query(statement)
            current.savepoint(name)
        elif words[0] == "RELEASE":
            conn.query(statement)
            current.release(name)
        elif words[:2] == ["ROLLBACK", "TO"]:
            conn.query(statement)
            current.roll_back(name)
        elif words[:2] in (["COMMIT", "PREPARED"], ["ROLLBACK", "PREPARED"]):
            conn.query(statement)
            outcome = "committed" if words[0] == "COMMIT" else "rolled back"
            self.prepared.pop(QUOTED.search(statement)[1]).outcome = outcome
        elif words[0] in ("COMMIT", "ROLLBACK", "PREPARE"):
            if conn.query(statement)[-1]["tag"].split()[0] != words[0]:
                raise RuntimeError("the transaction had failed before: " + statement)
            gid = QUOTED.search(statement)[1] if words[0] == "PREPARE" else None
            current.end({"COMMIT": "committed", "ROLLBACK": "rolled back", "PREPARE": "prepared"}[words[0]], gid)
            if gid:
                self.prepared[gid] = current
            self.finished.append(self.open.pop(conn))
        else:
            self.change(conn, statement, current)

    def change(self, conn, statement, current):
        """A statement that changes rows or writes a message, or something else that does not matter."""
        message = MESSAGE.search(statement)
        transactional = bool(message) and message[1] == "true"
        alone = None
        if current is None and (statement.changes or transactional):
            alone = current = Transaction()
            *results, last = conn.query(statement + " SELECT " + self.xid)      # one transaction
            current.levels[0].xid = int(last["rows"][0][0])
        else:
            results = conn.query(statement)
        self.check(statement, results[-1]["tag"].split())
        if current:
            current.levels[-1].kept += statement.changes
            current.messages += transactional
            if "replication_origin_xact_setup" in statement:
                current.origin = True
            if alone is None and len(current.levels) > 1:
                current.assign([int(row[0]) for row in conn.rows(
                    "SELECT transactionid::text::bigint FROM pg_locks WHERE locktype = 'transactionid'"
                    " AND pid = pg_backend_pid() ORDER BY 1")])
        if message:
            self.messages.append((current if transactional else None, message[2], message[3]))
        if alone:
            current.end("committed")
            self.finished.append(current)

    @staticmethod
    def check(statement, tag):
        """The command tag says what is declared."""
        kind = tag[0].lower()
        if kind == "truncate":
            agree = statement.changes and all(key[1] == kind for key in statement.changes)
        elif kind in KINDS:
            agree = [(key[1], count) for key, count in statement.changes.items()] == [(kind, int(tag[-1]))]
        else:
            agree = not statement.changes
        if not agree:
            raise RuntimeError("%s: declared %s, the server says %s"
                               % (statement, dict(statement.changes), " ".join(tag)))

    def wire(self, transaction, what):
        """How much of it a client gets to see."""
        if not what:
            return "none"
        if what is transaction.rolled_back:
            return self.rolled_back
        if transaction.outcome == "rolled back" and not (transaction.gid and self.two_phase):
            return self.rolled_back
        if transaction.outcome == "prepared" and not self.two_phase:
            return "none"
        return "all"

    def lines(self):
        if self.open:
            raise RuntimeError("a transaction of the workload is still open")
        for t in sorted(self.finished, key=lambda t: t.xid):
            top = t.levels[0]
            yield {"transaction": {
                "xid": top.xid, "outcome": t.outcome, "gid": t.gid, "origin": bool(t.origin),
                "changes": by_table(top.kept), "rolled_back": by_table(t.rolled_back),
                "subtransactions": sorted(top.subtransactions, key=lambda sub: sub["xid"]),
                "messages": t.messages,
                "wire": {"changes": self.wire(t, top.kept), "rolled_back": self.wire(t, t.rolled_back)}}}
        for transaction, prefix, content in self.messages:
            yield {"message": {"prefix": prefix, "content": content, "transactional": transaction is not None,
                               "xid": transaction.xid if transaction else None}}
