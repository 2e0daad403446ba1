#!/usr/bin/env python3
"""Records the packet captures in tests/captures from real PostgreSQL servers.

  record.py [NAME...]   record the named captures again, or all of them
  record.py --list      list the names
  record.py --readme    only write tests/captures/README.md again

Needs Python 3, npm (for the servers in servers.PINNED, fetched into ~/.cache/pgrepl or
$PGREPL_CACHE), the distribution's PostgreSQL 15 with its clients, openssl, dumpcap and tshark.
Works as root (servers then run as $PGREPL_USER, by default nobody) and as an ordinary user where
user namespaces are allowed. Everything happens in a private network namespace.
"""

import array
import collections
import fcntl
import gzip
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import servers
import verify
from pgwire import lsn_text, lsn_value
from scenarios import SCENARIOS
from transactions import Ledger

CAPTURES = verify.CAPTURES
WORKLOADS = os.path.join(HERE, "workloads")
HARD_LIMIT = 100 * 1024


# -- workloads ----------------------------------------------------------------------------------


class Statement(str):
    """SQL, and the changes that it declares: {(table, kind): count}."""
    changes = collections.Counter()


def read_workload(name, version):
    """{section: [(session, statement or None for a pause)]} for a server of this version.

    A statement ends with a semicolon at the end of a line. `-- @word` lines direct the recorder:
    `@setup`, `@run` and other names begin a section, `@session NAME` switches the connection,
    `@since N` drops the next statement on older servers, `@pause` lets live clients catch up,
    `@changes TABLE KIND COUNT ...` says which rows the next statement changes.
    """
    sections, section, session, skip, statement = {}, None, "main", False, ""
    changes = collections.Counter()
    with open(os.path.join(WORKLOADS, name + ".sql"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if line.startswith("-- @"):
                word = words[1][1:]
                if word == "session":
                    session = words[2]
                elif word == "since":
                    skip = version < int(words[2])
                elif word == "pause":
                    sections[section].append((session, None))
                elif word == "changes":
                    for at in range(2, len(words), 3):
                        changes[words[at], words[at + 1]] = int(words[at + 2])
                else:
                    section, session = word, "main"
                    sections[section] = []
                continue
            if line.startswith("--") or not words:
                continue
            statement += line
            if line.rstrip().endswith(";"):
                whole = Statement(statement.strip())
                whole.changes = changes
                if not skip:
                    sections[section].append((session, whole))
                statement, skip, changes = "", False, collections.Counter()
    if statement:
        raise ValueError("unfinished statement in " + name)
    return sections


def without_machine(pcapng):
    """The same file without the options that describe this machine (hardware, system)."""
    out, at = bytearray(), 0
    while at < len(pcapng):
        kind, size = struct.unpack_from("=II", pcapng, at)
        body = pcapng[at + 8:at + size - 4]
        fixed = {0x0A0D0D0A: 16, 1: 8}.get(kind)    # section header, interface description
        if fixed is not None:
            kept, option = bytearray(body[:fixed]), fixed
            while option < len(body):
                code, length = struct.unpack_from("=HH", body, option)
                end = option + 4 + (length + 3) // 4 * 4
                if code not in ((2, 3) if kind != 1 else (12, 15)):
                    kept += body[option:end]
                option = end
            body = bytes(kept)
        total = struct.pack("=I", len(body) + 12)
        out += struct.pack("=I", kind) + total + body + total
        at += size
    return bytes(out)


def with_secrets(pcapng, keylog):
    """The same file with a key log in it, behind the section header: a Decryption Secrets Block."""
    at = struct.unpack_from("=I", pcapng, 4)[0]
    body = struct.pack("=II", 0x544C534B, len(keylog)) + keylog + bytes(-len(keylog) % 4)    # TLS key log
    total = struct.pack("=I", len(body) + 12)
    return pcapng[:at] + struct.pack("=I", 10) + total + body + total + pcapng[at:]


# -- one recording ------------------------------------------------------------------------------


class Recording:
    """What one scenario needs: servers, the capture, the clients, the server's answers."""

    def __init__(self, name, base, account, cache):
        self.name = name
        self.scenario = SCENARIOS[name]
        self.account, self.cache, self.root = account, cache, base
        self.base = os.path.join(base, name)
        os.mkdir(self.base)
        os.chmod(self.base, 0o755)
        self.work = os.path.join(self.base, "work")     # for files that the clients write
        os.mkdir(self.work)
        account.own(self.work)
        self.running = []
        self.processes = []
        self.proxy = None
        self.dumpcap = None
        self.server = None
        self.keylog = None                              # file with the secrets of TLS connections
        self.lines = []
        self.compare = []
        self.sessions = {}
        self.version = self.scenario["server"]
        self.options = self.scenario.get("options") or {}
        self.workload = read_workload(self.scenario["workload"], self.version)
        self.ledger = None
        if "rolled_back" in self.scenario:
            self.ledger = Ledger(self.version, self.scenario["rolled_back"], self.scenario.get("two_phase"))

    # servers and processes

    def add_server(self, name="server", port=5432, version=None, listen="127.0.0.1", settings=None,
                   copy_of=None, start=True):
        settings = dict(self.scenario.get("settings") or {}, **(settings or {}))
        server = servers.Server(self.account, version or self.version, self.base, name, port,
                                self.cache, listen, settings, copy_of, self.root,
                                self.scenario.get("encoding", "UTF8"))
        self.running.append(server)
        return server.start() if start else server

    def client(self, program, *arguments, **kw):
        command = [os.path.join(servers.CLIENT_BIN, program), *arguments]
        return self.spawn(command, **kw)

    def spawn(self, command, **kw):
        log = open(os.path.join(self.base, "client.log"), "ab")
        process = self.account.popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                     cwd="/tmp", **kw)
        log.close()
        self.processes.append(process)
        return process

    def client_log(self):
        with open(os.path.join(self.base, "client.log"), errors="replace") as file:
            return file.read()

    def end_process(self, process, how=signal.SIGINT):
        if process.poll() is None:
            process.send_signal(how)
        process.wait(20)

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait(20)
        if self.proxy:
            self.proxy.stop()
        if self.dumpcap and self.dumpcap.poll() is None:
            self.dumpcap.terminate()
            self.dumpcap.wait(20)
        for server in reversed(self.running):
            server.stop(signal.SIGINT)

    # SQL

    def session(self, name="main", server=None):
        server = server or self.server
        if (server, name) not in self.sessions:
            self.sessions[server, name] = server.connect(client_encoding="UTF8",
                                                         application_name="workload")
        return self.sessions[server, name]

    def run_section(self, section, server=None, pauses=True, at_pause=None):
        """Plays a section; with a ledger all but the setup goes into the account."""
        for session, statement in self.workload.get(section, []):
            if statement is None:
                if pauses:
                    time.sleep(0.4)
                if at_pause:
                    at_pause()
            elif self.ledger and section != "setup":
                self.ledger.run(self.session(session, server), statement)
            else:
                self.session(session, server).query(statement)

    def close_sessions(self, server=None):
        """Closes the sessions of one server (by default of the main one)."""
        for key in [key for key in self.sessions if key[0] is (server or self.server)]:
            self.sessions.pop(key).close()

    def sql(self, text, server=None):
        return self.session("control", server).rows(text)

    def value(self, text, server=None):
        return self.sql(text, server)[0][0]

    def wait_for(self, text, server=None, timeout=20):
        """Waits until the query's first value is true."""
        end = time.time() + timeout
        while True:
            rows = self.sql(text, server)
            if rows and rows[0][0] == "t":
                return
            if time.time() > end:
                raise TimeoutError("still not true: " + text)
            time.sleep(0.05)

    def position(self):
        return lsn_value(self.value("SELECT pg_current_wal_insert_lsn()"))

    def wait_sent(self, count=1):
        """Waits until `count` walsenders have sent all there is."""
        target = self.value("SELECT pg_current_wal_insert_lsn()")
        self.wait_for("SELECT count(*) >= %d FROM pg_stat_replication WHERE sent_lsn >= '%s'"
                      % (count, target))
        return lsn_value(target)

    # the capture

    def start_capture(self, port=5432):
        self.raw_capture = os.path.join(self.base, "capture.pcapng")
        self.dumpcap = subprocess.Popen(
            ["dumpcap", "-q", "-i", "lo", "-s", "262144", "-B", "64", "-f", "tcp port %d" % port,
             "-w", self.raw_capture], stderr=subprocess.PIPE, text=True)
        self.dumpcap_output = ""
        for line in self.dumpcap.stderr:
            self.dumpcap_output += line
            if line.startswith("File:"):
                break
        else:
            raise RuntimeError("dumpcap did not start:\n" + self.dumpcap_output)
        time.sleep(0.2)

    def stop_capture(self):
        """Waits until the file does not grow any more, then ends dumpcap."""
        size, since = -1, time.time()
        while time.time() - since < 1.0:
            now = os.path.getsize(self.raw_capture)
            if now != size:
                size, since = now, time.time()
            time.sleep(0.1)
        self.dumpcap.send_signal(signal.SIGINT)
        self.dumpcap_output += self.dumpcap.communicate(timeout=20)[1]
        summary = [line for line in self.dumpcap_output.splitlines() if "received/dropped" in line]
        if not summary or "/0 " not in summary[0]:
            raise RuntimeError("packets were dropped:\n" + self.dumpcap_output)

    # the server's own answers

    def add(self, **line):
        self.lines.append(line)

    def peek(self, slot, answers_slot, options, how="exact", note=None, plugin="pgoutput",
             server=None, **startup):
        """Fetches the changes of the second slot over SQL, in a session of its own."""
        words = ["'%s'" % word.replace("'", "''") for pair in options.items() for word in pair]
        conn = (server or self.server).connect(application_name="answers", **startup)
        try:
            rows = conn.rows("SELECT lsn, xid, encode(data, 'hex') FROM "
                             "pg_logical_slot_peek_binary_changes('%s', NULL, NULL%s)"
                             % (answers_slot, "".join(", " + word for word in words)))
        finally:
            conn.close()
        for lsn, xid, data in rows:
            self.add(slot=slot, lsn=lsn, xid=int(xid), data_hex=data)
        datas = [bytes.fromhex(row[2]) for row in rows]
        self.add(counts={"slot": slot, "plugin": plugin,
                         "messages": verify.count_messages(datas, plugin)})
        rule = {"slot": slot, "how": how}
        if how == "subset":
            # What was rolled back is decoded in another way once that is known.
            xids = sorted({int(row[1]) for row in rows})
            rule["rolled_back"] = [xid for xid in xids if xid and
                                   self.value("SELECT txid_status(%d)" % xid) == "aborted"]
        if note:
            rule["note"] = note
        self.compare.append(rule)

    def sample_replication(self, server=None):
        rows = self.sql("SELECT row_to_json(r) FROM (SELECT application_name, state, sent_lsn,"
                        " write_lsn, flush_lsn, replay_lsn, backend_xmin, sync_state"
                        " FROM pg_stat_replication ORDER BY application_name, pid) r", server)
        self.add(replication=[json.loads(row[0]) for row in rows])

    def describe_tables(self, server=None):
        tables = self.sql(
            "SELECT c.oid, n.nspname, c.relname, c.relreplident, c.relkind FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p')"
            " AND c.oid >= 16384 AND n.nspname NOT LIKE 'pg\\_%' ORDER BY c.oid", server)
        for oid, schema, name, identity, kind in tables:
            # Types of users with their schema, however the search path of the session is.
            columns = self.sql(
                "SET search_path = ''; SELECT attname, atttypid, format_type(atttypid, atttypmod),"
                " atttypmod, attnotnull FROM pg_attribute WHERE attrelid = %s AND attnum > 0"
                " AND NOT attisdropped ORDER BY attnum" % oid, server)
            self.sql("RESET search_path", server)
            self.add(table=schema + "." + name, schema=schema, name=name, oid=int(oid), kind=kind,
                     replica_identity=identity,
                     columns=[{"name": c[0], "type_oid": int(c[1]), "format_type": c[2],
                               "typmod": int(c[3])} for c in columns])
        types = self.sql(
            "SELECT t.oid, n.nspname, t.typname, t.typtype, t.typbasetype FROM pg_type t"
            " JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_class c ON c.oid ="
            " t.typrelid WHERE t.oid >= 16384 AND n.nspname NOT LIKE 'pg\\_%'"
            " AND t.typtype IN ('e', 'd', 'c') AND (c.relkind IS NULL OR c.relkind = 'c')"
            " ORDER BY t.oid", server)
        for oid, schema, name, kind, base in types:
            self.add(type=schema + "." + name, oid=int(oid), kind=kind, base_type_oid=int(base))

    def describe_server(self, server=None):
        self.add(server={
            "server_version": self.value("SHOW server_version", server),
            "server_encoding": self.value("SHOW server_encoding", server),
            "current_wal_lsn": self.value("SELECT pg_current_wal_lsn()", server)})
        slots = self.sql("SELECT slot_name, slot_type, plugin, restart_lsn, confirmed_flush_lsn FROM"
                         " pg_replication_slots ORDER BY 1", server)
        self.add(slots=[dict(zip(("slot", "type", "plugin", "restart_lsn", "confirmed_flush_lsn"),
                                 row)) for row in slots])

    def add_transactions(self):
        """The account of the workload, if one was kept."""
        self.lines += self.ledger.lines() if self.ledger else []

    def add_wal(self, server, timeline, start, end, name=None):
        """Adds the bytes of the server's WAL file between two positions of one segment."""
        segment = 16 * 1024 * 1024
        name = name or "%08X%08X%08X" % (timeline, start >> 32, (start & 0xFFFFFFFF) // segment)
        data = self.value("SELECT encode(pg_read_binary_file('pg_wal/%s', %d, %d), 'hex')"
                          % (name, start % segment, end - start), server)
        self.add(wal={"timeline": timeline, "from": lsn_text(start), "data_hex": data})

    def add_rows(self, table, columns, **more):
        rows = self.sql("SELECT %s FROM %s ORDER BY 1" % (columns, table))
        self.add(rows=dict(table=table, columns=columns, values=rows, **more))

    # the result

    def save(self):
        about = {"capture": self.name, "server": self.scenario["server"],
                 "client": self.scenario["client"], "options": self.options,
                 "plugin": self.scenario.get("plugin", "pgoutput"),
                 "shows": self.scenario["shows"],
                 "answers": self.scenario.get("answers_note") or
                 "data_hex lines: pg_logical_slot_peek_binary_changes of a second slot that was "
                 "created at the same point, asked with the same options after the workload"}
        capture, answers = verify.paths(self.name, self.base)
        with open(answers, "w", encoding="utf-8") as file:
            for line in [{"about": about, "compare": self.compare}] + self.lines:
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        with open(self.raw_capture, "rb") as source:
            packets = without_machine(source.read())
        if self.keylog:
            with open(self.keylog, "rb") as secrets:
                packets = with_secrets(packets, secrets.read())
        with open(capture, "wb") as target:
            with gzip.GzipFile("", "wb", 9, target, mtime=0) as packed:
                packed.write(packets)
        size = os.path.getsize(capture)
        if size > HARD_LIMIT:
            raise RuntimeError("the capture is too large: %d bytes" % size)
        done, kinds, _, _ = verify.check(self.name, self.base)
        missing = [kind for kind in self.scenario.get("must_show", []) if not kinds[kind]]
        if missing:
            raise verify.Failure("not in the capture: " + ", ".join(missing))
        # Only what was checked replaces what is there.
        for path in (capture, answers):
            os.chmod(path, 0o644)
            shutil.copy(path, CAPTURES)
        print("%s: %d bytes; %s" % (self.name, size, "; ".join(done) or "framing only"), flush=True)


# -- the namespace ------------------------------------------------------------------------------


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = array.array("B", struct.pack("16sh14x", b"lo", 0))
        fcntl.ioctl(sock, 0x8913, request)                      # SIOCGIFFLAGS
        flags = struct.unpack_from("h", request, 16)[0] | 1     # IFF_UP
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh14x", b"lo", flags))


def enter_namespace(names):
    """Runs this program again in a network namespace of its own."""
    cache = servers.cache_dir()
    if os.geteuid() == 0:
        # A private mount namespace too: it makes the cache reachable for the servers' account
        # even when it is below root's home directory.
        command = ["unshare", "--net", "--mount"]
    else:
        command = ["unshare", "--user", "--map-current-user", "--keep-caps", "--net"]
    env = dict(os.environ, PGREPL_RECORD_INSIDE="1", PGREPL_CACHE=os.path.abspath(cache))
    command += [sys.executable, os.path.abspath(__file__), *names]
    return subprocess.run(command, env=env).returncode


def play(name, base, account, cache, attempts=3):
    """Plays one scenario; once more when the result is not clean, which may be a matter of timing."""
    try:
        recording = Recording(name, base, account, cache)
        try:
            recording.scenario["run"](recording)
        finally:
            recording.close()
        recording.save()
        return True
    except verify.Failure as error:
        print("%s: %s" % (name, error), flush=True)
        if attempts == 1:
            return False
    except Exception:
        print("FAILED " + name, flush=True)
        traceback.print_exc(limit=-2)
        for log in ("client.log", "server/log"):
            path = os.path.join(base, name, log)
            if os.path.exists(path):
                with open(path, errors="replace") as file:
                    print("-- %s\n%s" % (log, file.read()[-600:]))
        return False
    finally:
        shutil.rmtree(os.path.join(base, name), ignore_errors=True)
    return play(name, base, account, cache, attempts - 1)


def record(names):
    loopback_up()
    try:
        # No tail loss probes: on a busy machine they repeat segments that were not lost.
        with open("/proc/sys/net/ipv4/tcp_early_retrans", "w") as file:
            file.write("0")
    except OSError:
        pass
    account = servers.Account()
    base = tempfile.mkdtemp(prefix="pgrepl-record-")
    os.chmod(base, 0o755)
    account.own(base)
    cache = servers.cache_dir()
    if os.geteuid() == 0:
        mounted = os.path.join(base, "cache")
        os.mkdir(mounted)
        subprocess.run(["mount", "--bind", cache, mounted], check=True)
        cache = mounted
    failed = []
    try:
        for name in names:
            if not play(name, base, account, cache):
                failed.append(name)
    finally:
        if cache.startswith(base):
            subprocess.run(["umount", cache], check=True)
        shutil.rmtree(base, ignore_errors=True)
    if failed:
        print("failed: " + " ".join(failed))
    return 1 if failed else 0


# -- README -------------------------------------------------------------------------------------


README = """# Recorded captures

Real traffic between real PostgreSQL servers and clients on the loopback interface, recorded by
`tests/recorder/record.py` (this file is written by it too). Each `NAME.pcapng.gz` holds whole TCP
connections from SYN to FIN, with nothing lost; authentication is `trust`, so there are no secrets but
those of TLS connections, which are in the captures themselves (a Decryption Secrets Block), so that
they decrypt by themselves.

`NAME.server.jsonl` is what the server itself answered over SQL, independent of any decoder of the
replication stream, one JSON object per line:

| line | what it is |
|---|---|
| `{"about", "compare"}` (first) | the scenario; how the lines below relate to the capture |
| `{"slot", "lsn", "xid", "data_hex"}` | one change from `pg_logical_slot_peek_binary_changes` of a second slot created at the same point; `slot` names the slot of the capture it stands for |
| `{"counts"}` | messages per kind, counted from those answers |
| `{"table", "oid", "replica_identity", "columns"}` | `pg_class` and `pg_attribute` at the end |
| `{"type", "oid", "kind"}` | enums, domains and composite types |
| `{"server"}`, `{"slots"}` | version, encoding, `pg_current_wal_lsn()`, `pg_replication_slots` |
| `{"replication"}` | rows of `pg_stat_replication` sampled while the client was connected |
| `{"transaction"}` | a transaction of the workload, out of the SQL; see below |
| `{"message"}` | a message of `pg_logical_emit_message`: prefix, content, whether it is transactional and then the xid of the top-level transaction |
| `{"lag"}` | a sample of `pg_stat_replication` for one status update; see below |
| `{"encrypted"}` | a connection in TLS, by the client's port, and its slot |
| `{"wal"}` | bytes of the server's own WAL file (physical replication) |
| `{"rows"}` | rows of a table that was copied |

The rules in `compare` (a slot without one cannot be compared; `about` says why):

* `exact`: the payloads (the bytes after the XLogData header) and their start positions are the same, one
  by one. A walsender writes position 0 for all but the last message of a group, such as a Relation
  before its row, where SQL tells the real one.
* `relations`: the same, but the capture may describe tables (Relation, Type) more often: DDL can reach a
  walsender that decodes live before it decodes that DDL, and each connection describes them anew.
* `subset`: every answer is in the capture in this order, except those of transactions that `txid_status`
  calls aborted; the capture has more. 18 does not decode what it already knows to be rolled back, so
  the SQL function, asked afterwards, leaves out transactions that were streamed live and then aborted.
* `prefix`: the capture ends earlier.

A `transaction` has

* `xid`: `pg_current_xact_id()`, asked in the transaction itself; `outcome`: `committed`, `rolled back` or `prepared`
  (and not finished); `gid` of a prepared one; `origin`: whether it has a replication origin;
* `changes`: rows by table and kind, `truncate` counts the table; `rolled_back`: the same for the rows of
  subtransactions that were rolled back; both are declared in the workload and agree with the command tags;
* `subtransactions`: xid (as `pg_locks` had it) and outcome (`kept`, `rolled back`) of each that has one;
* `messages`: how many transactional messages it wrote, those of rolled back subtransactions too;
* `wire`: how much of `changes` and of `rolled_back` the capture must hold: `all`, `none`, or `some`, which is at
  least one row (a server streams the transaction that is largest when its memory is full, and drops what
  it still has of a subtransaction that is rolled back). In a physical capture it says nothing.

A `lag` has `status`, the number of the status update among those of the client's connection (from 1), its positions
`write`, `flush` and `apply`, and `sent_lsn`, `write_lsn`, `flush_lsn`, `replay_lsn` and `pg_current_wal_flush_lsn` as
the server told them after it. Just before the update a keepalive came whose WAL end is that `sent_lsn`.

    python3 tests/recorder/verify.py [--kinds] [--self-test] [NAME...]   # check
    python3 tests/recorder/record.py NAME...                            # record again
    python3 tests/recorder/record.py                                    # record all again

Recording again gives other positions, transaction ids and times; captures and answers change together.

"""


def write_readme():
    rows = []
    for name in sorted(SCENARIOS):
        scenario = SCENARIOS[name]
        if not os.path.exists(verify.paths(name)[0]):
            continue
        answers = verify.load_answers(verify.paths(name)[1])
        version = next((a["server"]["server_version"] for a in answers if "server" in a), "")
        options = ", ".join("%s '%s'" % pair for pair in (scenario.get("options") or {}).items())
        settings = ", ".join("%s=%s" % pair for pair in (scenario.get("settings") or {}).items())
        rules = answers[0]["compare"]
        proves = ["payloads of slot `%s`: `%s`" % (r["slot"], r["how"]) for r in rules]
        if any("wal" in a for a in answers):
            proves.append("WAL bytes")
        if any("rows" in a for a in answers):
            proves.append("copied rows")
        if any("transaction" in a for a in answers):
            proves.append("transactions")
        if any("lag" in a for a in answers):
            proves.append("lags")
        if any(any(r.get("write_lsn") for r in a.get("replication", [])) for a in answers):
            proves.append("positions in status updates")
        if any(any(r.get("backend_xmin") for r in a.get("replication", [])) for a in answers):
            proves.append("xmin in hot standby feedback")
        if rules and answers[0]["about"]["plugin"] == "pgoutput":
            proves.append("relations as at the end")
        rows.append("| `%s` | %s | %s | %s | %s | %s | `record.py %s` |" % (
            name, version.split(" ")[0], scenario["client"],
            "; ".join(filter(None, (options, settings))), scenario["shows"],
            "; ".join(proves) or "nothing (framing only)", name))
    with open(os.path.join(CAPTURES, "README.md"), "w", encoding="utf-8") as file:
        file.write(README)
        file.write("| NAME | server | client | options | what it shows | what the server's own answers"
                   " prove | how to re-record |\n|---|---|---|---|---|---|---|\n")
        file.write("\n".join(rows) + "\n")


def main(arguments):
    if "--list" in arguments:
        for name in sorted(SCENARIOS):
            print("%-36s %s" % (name, SCENARIOS[name]["shows"]))
        return 0
    if "--readme" in arguments:
        write_readme()
        return 0
    unknown = [name for name in arguments if name not in SCENARIOS]
    if unknown:
        raise SystemExit("no such capture: %s (see --list)" % " ".join(unknown))
    names = arguments or sorted(SCENARIOS)
    if os.environ.get("PGREPL_RECORD_INSIDE"):
        return record(names)
    versions = sorted({SCENARIOS[name]["server"] for name in names})
    servers.install(versions, any("Node" in SCENARIOS[name]["client"] for name in names))
    os.makedirs(CAPTURES, exist_ok=True)
    result = enter_namespace(names)
    write_readme()
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
