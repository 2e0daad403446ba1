#!/usr/bin/env python3
"""Checks the captures against what the servers themselves answered over SQL.

An independent reader: tshark reassembles the TCP streams (follow,tcp,raw), this file splits
them into protocol messages and compares bytes. It shares no code with the dissector.

  verify.py [NAME...]        check the named captures, or all
  verify.py --kinds          also list which message kinds which capture holds
  verify.py --self-test      change one byte of one answer per capture; each must be noticed
"""

import collections
import gzip
import json
import os
import struct
import subprocess
import sys

CAPTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "captures")

KINDS = {"B": "Begin", "M": "Message", "C": "Commit", "O": "Origin", "R": "Relation", "Y": "Type",
         "I": "Insert", "U": "Update", "D": "Delete", "T": "Truncate", "S": "StreamStart",
         "E": "StreamStop", "c": "StreamCommit", "A": "StreamAbort", "b": "BeginPrepare",
         "P": "Prepare", "K": "CommitPrepared", "r": "RollbackPrepared", "p": "StreamPrepare"}

# What all captures together must contain.
REQUIRED = [
    "Begin", "Message transactional", "Message not transactional", "Message transactional in stream",
    "Commit", "Origin", "Origin in stream", "Relation", "Relation in stream", "Type",
    "Type in stream", "Insert", "Insert in stream", "Update N", "Update K", "Update O",
    "Update N in stream", "Update O in stream", "Delete K", "Delete O", "Delete K in stream",
    "Delete O in stream", "Truncate plain", "Truncate cascade", "Truncate restart",
    "Truncate cascade restart", "Truncate several", "Truncate several in stream",
    "StreamStart first", "StreamStart later", "StreamStop", "StreamCommit",
    "StreamAbort short sub", "StreamAbort short whole", "StreamAbort long sub",
    "StreamAbort long whole", "BeginPrepare", "Prepare", "CommitPrepared", "RollbackPrepared",
    "StreamPrepare", "Keepalive", "Keepalive reply requested", "Status update",
    "Status update reply requested", "Hot standby feedback", "Hot standby feedback without xmin",
    "XLogData physical",
]


# How an encrypted connection begins; then Wireshark decrypts it, with the secrets in the capture.
SSL_REQUEST, ACCEPTED, CLIENT_HELLO = "0000000804d2162f", "53", "1603"
HEX_DIGITS = tuple("0123456789abcdef")


class Failure(Exception):
    pass


def lsn_value(text):
    high, low = text.split("/")
    return (int(high, 16) << 32) | int(low, 16)


def tshark(*arguments):
    command = ["tshark", "-n", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


# -- reading a capture --------------------------------------------------------------------------


class Connection:
    """Splits one TCP connection into messages and groups its CopyData by copy phase."""

    def __init__(self):
        self.buffers = (bytearray(), bytearray())
        self.started = False
        self.pending_byte = 0
        self.phases = []
        self.phase = None
        self.replication = ""
        self.queries = []
        self.messages = collections.Counter()
        self.errors = []
        self.most_per_segment = 0

    def feed(self, server, data):
        """Takes the data of one segment."""
        before = sum(self.messages.values())
        self.split(server, data)
        self.most_per_segment = max(self.most_per_segment, sum(self.messages.values()) - before)

    def split(self, server, data):
        buffer = self.buffers[server]
        buffer += data
        while True:
            if server and self.pending_byte and buffer:
                self.pending_byte -= 1
                if buffer[:1] != b"N":
                    raise Failure("the connection is encrypted")
                del buffer[:1]
                continue
            head = 0 if not server and not self.started else 1
            if len(buffer) < head + 4:
                return
            length = struct.unpack_from(">I", buffer, head)[0]
            if len(buffer) < head + length:
                return
            kind, body = bytes(buffer[:head]), bytes(buffer[head + 4:head + length])
            del buffer[:head + length]
            if head == 0:
                self.startup(body)
            elif server:
                self.from_server(kind, body)
            else:
                self.from_client(kind, body)

    def startup(self, body):
        code = struct.unpack_from(">I", body)[0]
        if code in (80877103, 80877104):
            self.pending_byte += 1
            return
        self.started = True
        words = body[4:].split(b"\0")
        self.replication = dict(zip(words[::2], words[1::2])).get(b"replication", b"").decode()

    def from_client(self, kind, body):
        self.messages["F" + kind.decode()] += 1
        if kind == b"Q":
            self.queries.append(body[:-1].decode("utf-8", "replace"))
        elif kind == b"d" and self.phases:
            self.phases[-1]["client"].append(body)

    def from_server(self, kind, body):
        self.messages["B" + kind.decode()] += 1
        if kind in b"WHG":
            query = self.queries[-1] if self.queries else ""
            self.phase = {"mode": kind.decode(), "sql": query, "server": [], "client": []}
            self.phases.append(self.phase)
        elif kind == b"d":
            if self.phase is None:
                raise Failure("CopyData of the server outside of a copy")
            self.phase["server"].append(body)
        elif kind in b"CEZ":
            if kind == b"E":
                self.errors.append(body)
            self.phase = None


def follow(protocol, stream, path, *arguments):
    return tshark("-r", path, *arguments, "-q", "-z", "follow,%s,raw,%d" % (protocol, stream)).splitlines()


def said(lines):
    """Only the bytes out of such lines."""
    return [line for line in lines if line[:1] == "\t" or line[:1] in HEX_DIGITS]


def read_capture(path):
    """All connections of the capture, as a list of Connection."""
    lines = tshark("-r", path, "-T", "fields", "-e", "tcp.stream", "-e", "tcp.flags.syn",
                   "-e", "tcp.flags.fin", "-e", "tcp.flags.reset").splitlines()
    seen = collections.defaultdict(lambda: [0, 0, 0])
    for line in lines:
        stream, *flags = line.split("\t")
        if stream == "":
            raise Failure("a packet that is not TCP")
        for at, flag in enumerate(flags):
            seen[int(stream)][at] += flag in ("1", "True")
    connections = []
    for stream in sorted(seen):
        syn, fin, reset = seen[stream]
        if syn < 2 or not (fin or reset):
            raise Failure("connection %d is not complete (SYN %d, FIN %d, RST %d)"
                          % (stream, syn, fin, reset))
        lines = follow("tcp", stream, path)
        nodes = [int(line.rsplit(":", 1)[1]) for line in lines if line.startswith("Node ")]
        if nodes[1] not in (5432, 6543):
            raise Failure("connection %d does not lead to the server" % stream)
        lines = said(lines)
        if [line.strip() for line in lines[:2]] == [SSL_REQUEST, ACCEPTED]:
            lines = said(follow("tls", stream, path))
        elif lines[0].startswith(CLIENT_HELLO):
            lines = said(follow("tls", stream, path, "-d", "tcp.port==5432,tls"))
        connection = Connection()
        for line in lines:
            # The client speaks first. One of the sides is indented: in TLS it may be either.
            connection.feed((line[0] == "\t") != (lines[0][0] == "\t"), bytes.fromhex(line.strip()))
        for side, rest in zip(("client", "server"), connection.buffers):
            if rest:
                raise Failure("%d unfinished bytes of the %s" % (len(rest), side))
        connections.append(connection)
    return connections


def lost_segments(path):
    bad = ("tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || tcp.analysis.retransmission"
           " || tcp.analysis.out_of_order")
    return tshark("-r", path, "-Y", bad, "-T", "fields", "-e", "frame.number").split()


# -- naming messages ----------------------------------------------------------------------------


def kinds_of(payloads):
    """Names the pgoutput messages in order, with the variant where there are several."""
    inside = False
    for data in payloads:
        tag = data[:1].decode("latin1")
        name = KINDS.get(tag)
        if name is None:
            raise Failure("unknown message %r" % data[:1])
        at = 5 if inside and tag in "MRYIUDT" else 1
        where = " in stream" if inside and tag in "MRYIUDTO" else ""
        if tag == "S":
            inside = True
            name += " first" if data[5] else " later"
        elif tag == "E":
            inside = False
        elif tag == "A":
            name += {9: " short", 25: " long"}[len(data)]
            name += " whole" if data[1:5] == data[5:9] else " sub"
        elif tag == "M":
            name += " transactional" if data[at] & 1 else " not transactional"
        elif tag in "UD":
            name += " " + chr(data[at + 4])
        elif tag == "T":
            count, options = struct.unpack_from(">IB", data, at)
            words = [word for bit, word in ((1, "cascade"), (2, "restart")) if options & bit]
            yield name + " " + (" ".join(words) or "plain") + where
            if count > 1:
                yield name + " several" + where
            continue
        yield name + where


def xlog_data(phase):
    return [body for body in phase["server"] if body[:1] == b"w"]


def is_logical(phase):
    return " LOGICAL " in phase["sql"].upper()


def slot_of(phase):
    words = phase["sql"].split()
    upper = [word.upper() for word in words]
    return words[upper.index("SLOT") + 1].strip('"') if "SLOT" in upper else None


def envelope_kinds(connection):
    if connection.most_per_segment >= 500:
        yield "500 messages in one segment"
    modes = [phase["mode"] for phase in connection.phases]
    if "H" in modes and "W" in modes[modes.index("H"):]:
        yield "tablesync catch-up"
    for phase in connection.phases:
        if phase["mode"] != "W":
            yield from ["CopyOut" if phase["mode"] == "H" else "CopyIn"] * max(
                len(phase["server"]), len(phase["client"]))
            continue
        for body in phase["server"]:
            if body[:1] == b"k":
                yield "Keepalive reply requested" if body[17] else "Keepalive"
            elif body[:1] == b"w":
                yield "XLogData logical" if is_logical(phase) else "XLogData physical"
        for body in phase["client"]:
            if body[:1] == b"r":
                yield "Status update reply requested" if body[33] else "Status update"
            elif body[:1] == b"h":
                empty = body[9:13] == body[17:21] == b"\0\0\0\0"
                yield "Hot standby feedback" + (" without xmin" if empty else "")


# -- comparing ----------------------------------------------------------------------------------


def load_answers(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def same(ours, theirs):
    """Equal payloads at equal positions; a walsender writes position 0 for all but the last message
    of a group (a Relation or Type before its row, a Begin before its Origin), SQL does not."""
    return ours[1] == theirs[1] and ours[0] in (0, theirs[0])


def compare_slot(rule, answers, connections):
    slot, how = rule["slot"], rule["how"]
    wanted = [(lsn_value(a["lsn"]), bytes.fromhex(a["data_hex"])) for a in answers
              if a.get("slot") == slot]
    found = []
    for connection in connections:
        for phase in connection.phases:
            if phase["mode"] == "W" and slot_of(phase) == slot:
                for body in xlog_data(phase):
                    found.append((struct.unpack_from(">Q", body, 1)[0], body[25:]))
    skip = set(rule.get("rolled_back", []))
    if skip:
        wanted = [pair for pair, xid in zip(wanted, (a["xid"] for a in answers if a.get("slot") == slot))
                  if xid not in skip]
    if not wanted or not found:
        raise Failure("slot %s: nothing to compare (%d answers, %d payloads)"
                      % (slot, len(wanted), len(found)))
    if how == "exact" and len(found) != len(wanted):
        first = next((i for i, pair in enumerate(zip(found, wanted)) if not same(*pair)), None)
        raise Failure("slot %s: %d payloads in the capture, %d answers; first difference at %s"
                      % (slot, len(found), len(wanted), first))
    if how == "prefix" and len(found) > len(wanted):
        raise Failure("slot %s: more payloads than answers" % slot)
    if how in ("exact", "prefix"):
        for index, (ours, theirs) in enumerate(zip(found, wanted)):
            if not same(ours, theirs):
                raise Failure("slot %s: message %d differs: capture %X %s, server %X %s"
                              % (slot, index, ours[0], ours[1].hex(), theirs[0], theirs[1].hex()))
        return len(found)
    if how == "relations":
        # Equal, but the capture may describe tables (Relation, Type) more often.
        at = 0
        for ours in found:
            if at < len(wanted) and same(ours, wanted[at]):
                at += 1
            elif ours[1][:1] not in (b"R", b"Y"):
                raise Failure("slot %s: message differs: capture %X %s, answer %d is %s"
                              % (slot, ours[0], ours[1].hex(), at,
                                 wanted[at][1].hex() if at < len(wanted) else "missing"))
        if at < len(wanted):
            raise Failure("slot %s: answer %d is not in the capture" % (slot, at))
        return at
    if how == "subset":
        # Each message the SQL interface gave must be in the capture, in the same order.
        at = 0
        for index, pair in enumerate(wanted):
            while at < len(found) and not same(found[at], pair):
                at += 1
            if at == len(found):
                raise Failure("slot %s: answer %d is not in the capture" % (slot, index))
            at += 1
        return len(wanted)
    raise Failure("unknown rule " + how)


def compare_wal(answers, connections):
    ranges = [(a["wal"]["timeline"], lsn_value(a["wal"]["from"]), bytes.fromhex(a["wal"]["data_hex"]))
              for a in answers if "wal" in a]
    compared = 0
    for connection in connections:
        for phase in connection.phases:
            if phase["mode"] != "W" or is_logical(phase):
                continue
            words = phase["sql"].upper().rstrip(";").split()
            timeline = int(words[words.index("TIMELINE") + 1]) if "TIMELINE" in words else 1
            for body in xlog_data(phase):
                start, data = struct.unpack_from(">Q", body, 1)[0], body[25:]
                for number, first, wal in ranges:
                    if number == timeline and first <= start < first + len(wal):
                        if wal[start - first:start - first + len(data)] != data:
                            raise Failure("WAL at %X differs from the server's file" % start)
                        compared += len(data)
                        break
                else:
                    raise Failure("no answer covers the WAL at %X" % start)
    if ranges and not compared:
        raise Failure("no WAL in the capture")
    return compared


def unescape(field):
    if field == "\\N":
        return None
    for code, char in (("\\t", "\t"), ("\\n", "\n"), ("\\r", "\r"), ("\\\\", "\\")):
        field = field.replace(code, char)
    return field


def compare_rows(answers, connections):
    """COPY of the table: `out` rows must come out of the server, `in` rows go in to it."""
    compared = 0
    for answer in answers:
        if "rows" not in answer:
            continue
        table, values = answer["rows"]["table"], answer["rows"]["values"]
        for connection in connections:
            for phase in connection.phases:
                words = phase["sql"].replace(",", " ").replace("(", " ").split()
                if phase["mode"] == "W" or len(words) < 2 or words[1].split(".")[-1] != table:
                    continue
                if answer["rows"].get("bytes"):
                    stream = b"".join(phase["server"] + phase["client"])
                    for row in values:
                        if bytes.fromhex(row[0]) not in stream:
                            raise Failure("COPY %s: a value of the table was not sent" % table)
                        compared += 1
                    continue
                text = b"".join(phase["server"] or phase["client"]).decode("utf-8")
                rows = [[unescape(f) for f in line.split("\t")] for line in text.splitlines()]
                if any(row not in values for row in rows) or len(rows) > len(values):
                    raise Failure("COPY %s: rows differ from the table" % table)
                compared += len(rows)
    return compared


def compare_positions(answers, connections):
    """The positions in pg_stat_replication were told by a status update in the capture."""
    told, xmins = set(), set()
    for connection in connections:
        for phase in connection.phases:
            for body in phase["client"] if phase["mode"] == "W" else []:
                if body[:1] == b"r":
                    told.add(struct.unpack_from(">QQQ", body, 1))
                elif body[:1] == b"h":
                    xmins.add(struct.unpack_from(">I", body, 9)[0])
    for answer in answers:
        for row in answer.get("replication", []):
            lsns = [row.get(name) for name in ("write_lsn", "flush_lsn", "replay_lsn")]
            wanted = tuple(lsn_value(lsn) if lsn else 0 for lsn in lsns)
            if any(wanted) and wanted not in told:
                raise Failure("no status update says %s" % (lsns,))
            if row.get("backend_xmin") and int(row["backend_xmin"]) not in xmins:
                raise Failure("no feedback says xmin %s" % row["backend_xmin"])


def rows_of(payloads):
    """Yields (top-level xid, own xid, table, kind) of each change; a Truncate is one for each of its tables."""
    names, top, inside = {}, None, False
    for data in payloads:
        tag = data[:1].decode("latin1")
        at = 5 if inside else 1
        if tag in "BbS":
            inside = tag == "S"
            top = struct.unpack_from(">I", data, {"B": 17, "b": 25, "S": 1}[tag])[0]
        elif tag == "E":
            inside = False
        elif tag == "R":
            oid = struct.unpack_from(">I", data, at)[0]
            names[oid] = ".".join(word.decode() for word in data[at + 4:].split(b"\0")[:2])
        elif tag in "IUDT":
            own = struct.unpack_from(">I", data, 1)[0] if inside else top
            first = at + 5 if tag == "T" else at
            count = struct.unpack_from(">I", data, at)[0] if tag == "T" else 1
            for oid in struct.unpack_from(">%dI" % count, data, first):
                yield top, own, names[oid], KINDS[tag].lower()


def compare_transactions(answers, connections):
    """The changes of each transaction are those of the SQL, apart for the subtransactions rolled back there."""
    lines = {a["transaction"]["xid"]: a["transaction"] for a in answers if "transaction" in a}
    lost = {sub["xid"] for line in lines.values() for sub in line["subtransactions"]
            if sub["outcome"] == "rolled back"}
    found = collections.defaultdict(collections.Counter)
    for connection in connections:
        for phase in connection.phases:
            if lines and phase["mode"] == "W" and is_logical(phase):
                for top, own, table, kind in rows_of(body[25:] for body in xlog_data(phase)):
                    found[top, "rolled_back" if own in lost else "changes"][table, kind] += 1
    unknown = {xid for xid, _ in found} - lines.keys()
    if unknown:
        raise Failure("transactions that the SQL does not know: %s" % sorted(unknown))
    if answers[0]["about"].get("plugin") != "pgoutput":
        return 0
    for xid, line in lines.items():
        for what, how in line["wire"].items():
            sent = found[xid, what]
            wanted = collections.Counter({(table, kind): count for table, kinds in line[what].items()
                                          for kind, count in kinds.items() if count})
            if not {"all": sent == wanted, "none": not sent, "some": sent and not sent - wanted}[how]:
                raise Failure("transaction %d: %s are %s in the capture, %s of %s over SQL"
                              % (xid, what, dict(sent), how, dict(wanted)))
    return len(lines)


def compare_lags(answers, connections):
    """The status updates are those that the client says it sent; each sent_lsn is the WAL end of a keepalive."""
    updates, ends = [], set()
    for connection in connections:
        for phase in connection.phases:
            if phase["mode"] == "W":
                updates += [body for body in phase["client"] if body[:1] == b"r"]
                ends |= {struct.unpack_from(">Q", body, 1)[0] for body in phase["server"] if body[:1] == b"k"}
    lags = [a["lag"] for a in answers if "lag" in a]
    for lag in lags:
        told = tuple(lsn_value(lag[name]) for name in ("write", "flush", "apply"))
        known = tuple(lsn_value(lag[name] or "0/0") for name in ("write_lsn", "flush_lsn", "replay_lsn"))
        if not struct.unpack_from(">QQQ", updates[lag["status"] - 1], 1) == told == known:
            raise Failure("status update %d does not say %s" % (lag["status"], lag))
        if lsn_value(lag["sent_lsn"]) not in ends:
            raise Failure("no keepalive says %s" % lag["sent_lsn"])
    return len(lags)


def compare_counts(answers):
    for answer in answers:
        if "counts" in answer:
            datas = [bytes.fromhex(a["data_hex"]) for a in answers
                     if a.get("slot") == answer["counts"]["slot"]]
            if count_messages(datas, answer["counts"].get("plugin")) != answer["counts"]["messages"]:
                raise Failure("the counts do not fit the answers")


def count_messages(datas, plugin="pgoutput"):
    if plugin == "pgoutput":
        return dict(collections.Counter(KINDS[data[:1].decode("latin1")] for data in datas))
    return dict(collections.Counter(data.split(b" ")[0].decode() for data in datas))


def check_answers(answers, connections):
    rules = answers[0]["compare"]
    done = ["%d messages of slot %s (%s)" % (compare_slot(rule, answers, connections), rule["slot"],
                                             rule["how"]) for rule in rules]
    wal = compare_wal(answers, connections)
    rows = compare_rows(answers, connections)
    compare_positions(answers, connections)
    compare_counts(answers)
    transactions = compare_transactions(answers, connections)
    lags = compare_lags(answers, connections)
    if transactions:
        done.append("%d transactions" % transactions)
    if lags:
        done.append("%d lags" % lags)
    if wal:
        done.append("%d bytes of WAL" % wal)
    if rows:
        done.append("%d copied rows" % rows)
    return done


def paths(name, directory=CAPTURES):
    return (os.path.join(directory, name + ".pcapng.gz"),
            os.path.join(directory, name + ".server.jsonl"))


def check(name, directory=CAPTURES):
    """Checks one capture; returns (what was compared, Counter of kinds, connections, answers)."""
    capture, jsonl = paths(name, directory)
    lost = lost_segments(capture)
    if lost:
        raise Failure("lost or repeated segments at frames " + ", ".join(lost[:10]))
    connections = read_capture(capture)
    answers = load_answers(jsonl)
    done = check_answers(answers, connections)
    kinds = collections.Counter()
    for connection in connections:
        kinds.update(envelope_kinds(connection))
        for phase in connection.phases:
            if phase["mode"] == "W" and is_logical(phase):
                if answers[0]["about"].get("plugin") == "pgoutput":
                    kinds.update(kinds_of(body[25:] for body in xlog_data(phase)))
    return done, kinds, connections, answers


def noticed(answers, connections):
    try:
        check_answers(answers, connections)
    except (Failure, KeyError):
        return True
    return False


def self_test(connections, answers):
    """Flips one byte of an answer in memory, or changes one number; the comparison must fail."""
    numbers = True
    for index, answer in enumerate(answers):
        changed = json.loads(json.dumps(answers))
        if answer.get("transaction", {}).get("wire", {}).get("changes") == "all":
            next(iter(changed[index]["transaction"]["changes"].values()))["insert"] += 1
        elif "lag" in answer:
            changed[index]["lag"]["flush"] = "1/1"
        else:
            continue
        if not answer.get("transaction") or answers[0]["about"]["plugin"] == "pgoutput":
            numbers &= noticed(changed, connections)
    if not numbers:
        return False
    for field in ("data_hex", "wal", "rows"):
        for index, answer in enumerate(answers):
            if field not in answer:
                continue
            changed = json.loads(json.dumps(answers))
            target = changed[index]
            if field == "rows":
                value = target["rows"]["values"][0]
                if value[-1] is None:
                    continue
                last = value[-1][-1:]
                value[-1] = value[-1][:-1] + ("1" if last != "1" else "2")
            else:
                target = target["wal"] if field == "wal" else target
                text = target["data_hex"]
                middle = len(text) // 4 * 2
                if field == "wal":
                    middle = next((i for i in range(len(text) - 2, 0, -2) if text[i] != "0"), 0)
                target["data_hex"] = "%s%02x%s" % (text[:middle], int(text[middle:middle + 2], 16) ^ 1,
                                                   text[middle + 2:])
            return noticed(changed, connections)
    return None


def main(arguments):
    flags = {a for a in arguments if a.startswith("--")}
    names = [a for a in arguments if not a.startswith("--")]
    unknown = flags - {"--kinds", "--self-test"}
    if unknown:
        raise SystemExit(__doc__)
    everything = not names
    if everything:
        names = sorted(f[:-len(".pcapng.gz")] for f in os.listdir(CAPTURES)
                       if f.endswith(".pcapng.gz"))
    failed, total, size = [], collections.Counter(), 0
    for name in names:
        try:
            done, kinds, connections, answers = check(name)
        except (Failure, OSError, ValueError, LookupError) as error:
            failed.append(name)
            print("FAIL %s: %s" % (name, error))
            continue
        total.update(kinds)
        size += os.path.getsize(paths(name)[0])
        print("ok   %s: %s" % (name, "; ".join(done) or "framing only"))
        if "--kinds" in flags:
            print("       " + ", ".join("%s %d" % item for item in sorted(kinds.items())))
        if "--self-test" in flags:
            result = self_test(connections, answers)
            if result is False:
                failed.append(name)
            print("       changed byte: " + {True: "noticed", False: "NOT NOTICED",
                                             None: "nothing to change"}[result])
    if everything:
        missing = [kind for kind in REQUIRED if not total[kind]]
        if missing:
            failed.append("coverage")
            print("FAIL missing kinds: " + ", ".join(missing))
        print("%d captures, %d bytes" % (len(names), size))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
