"""The recordings: one entry of SCENARIOS each, and the functions that play them.

server: release line; client; options: plugin options, in this order; settings: server settings;
workload: a file in workloads/; run: the function; live: the workload runs while the client streams
(otherwise before it starts, so that both decode the same finished WAL); how/note: how the payloads
compare with the server's own answers; must_show: message kinds that have to be in the capture;
rolled_back: how much of what is rolled back is on the wire (none, some, all), keeps an account of the transactions.
"""

import os
import signal
import ssl
import struct
import time

from proxy import Proxy
from pgwire import Conn, PgError, Stream, lsn_text, now_usec

SEGMENT = 16 * 1024 * 1024


# -- pieces -------------------------------------------------------------------------------------


def quoted(options):
    return "(" + ", ".join("%s '%s'" % pair for pair in options.items()) + ")"


def start_command(slot, options):
    return 'START_REPLICATION SLOT "%s" LOGICAL 0/0 %s' % (slot, quoted(options))


def create_slot_command(r, slot):
    two_phase = r.scenario.get("two_phase")
    plugin = r.scenario.get("plugin", "pgoutput")
    if r.version < 15:
        return 'CREATE_REPLICATION_SLOT "%s" LOGICAL %s NOEXPORT_SNAPSHOT' % (slot, plugin)
    return "CREATE_REPLICATION_SLOT \"%s\" LOGICAL %s (SNAPSHOT 'nothing'%s)" % (
        slot, plugin, ", TWO_PHASE true" if two_phase else "")


def create_answers_slot(r, name="answers"):
    two_phase = ", false, true" if r.scenario.get("two_phase") else ""
    r.sql("SELECT pg_create_logical_replication_slot('%s', '%s'%s)"
          % (name, r.scenario.get("plugin", "pgoutput"), two_phase))


def prepare(r, port=5432, listen="127.0.0.1", answers=True):
    r.server = r.add_server(port=port, listen=listen)
    r.run_section("setup")
    if r.value("SELECT count(*) FROM pg_publication") == "0":
        r.sql("CREATE PUBLICATION pub FOR ALL TABLES")
    if answers:
        create_answers_slot(r)


def finish(r, slot="sl", **startup):
    r.stop_capture()
    r.peek(slot, "answers", r.options, r.scenario.get("how", "exact"), r.scenario.get("note"),
           r.scenario.get("plugin", "pgoutput"), **startup)
    r.add_transactions()
    r.describe_tables()
    r.describe_server()


# -- logical, one client ------------------------------------------------------------------------


def raw(r):
    """The raw client; also over a proxy, another port, IPv6 or with startup parameters."""
    s = r.scenario
    port, host = s.get("port", 5432), s.get("host", "127.0.0.1")
    startup, live = s.get("startup", {}), s.get("live", True)
    prepare(r, 5499 if s.get("proxy") else port, host)
    if s.get("proxy"):
        r.proxy = Proxy(port, 5499, s["proxy"])
    r.start_capture(port)
    conn = Conn(host, port, replication="database", application_name="raw_client", **startup)
    conn.query("IDENTIFY_SYSTEM")
    conn.query(create_slot_command(r, "sl"))
    if not live:
        r.run_section("run", pauses=False)
    conn.start_replication(start_command("sl", r.options))
    stream = Stream(conn)
    if live:
        r.run_section("run", at_pause=stream.report if r.ledger else None)
    stream.catch_up(r.wait_sent())
    stream.report()
    time.sleep(0.2)
    r.sample_replication()
    stream.finish()
    conn.close()
    finish(r, **startup)


def encrypted(r):
    """The same stream three times, one after the other: in plain text, with TLS 1.3 and with TLS 1.2."""
    prepare(r)
    r.keylog = os.path.join(r.base, "keys.log")
    r.start_capture()
    conns = []
    for slot, version in (("plain", None), ("tls13", ssl.TLSVersion.TLSv1_3), ("tls12", ssl.TLSVersion.TLSv1_2)):
        tls = dict(direct=r.scenario["direct"], version=version, keylog=r.keylog) if version else None
        conn = Conn(tls=tls, replication="database", application_name="raw_client_" + slot)
        conn.query("IDENTIFY_SYSTEM")
        conn.query(create_slot_command(r, slot))
        conns.append((conn, slot))
        if tls:
            r.add(encrypted={"client_port": conn.sock.getsockname()[1], "slot": slot})
    r.run_section("run")
    for conn, slot in conns:
        conn.start_replication(start_command(slot, r.options))
        stream = Stream(conn)
        stream.catch_up(r.wait_sent())
        stream.report()
        time.sleep(0.2)
        r.sample_replication()
        stream.finish()
        conn.close()
    r.stop_capture()
    for _, slot in conns:
        r.peek(slot, "answers", r.options)
    r.describe_tables()
    r.describe_server()


def recvlogical(r):
    """Debian's pg_recvlogical: one run to create the slot, one to stream."""
    prepare(r)
    r.start_capture()
    base = ["-h", "127.0.0.1", "-U", "postgres", "-d", "postgres", "-S", "sl"]
    create = base + ["--create-slot", "-P", r.scenario.get("plugin", "pgoutput")]
    process = r.client("pg_recvlogical", *create, *(["-t"] if r.scenario.get("two_phase") else []))
    if process.wait(20):
        raise RuntimeError(r.client_log())
    options = [word for pair in r.options.items() for word in ("-o", "%s=%s" % pair)]
    output = os.path.join(r.work, "stream.out")
    process = r.client("pg_recvlogical", *base, "--start", "-n", "-s", "1", "-f", output, *options)
    r.wait_for("SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'")
    r.run_section("run")
    target = r.wait_sent()
    r.wait_for("SELECT write_lsn >= '%s' FROM pg_stat_replication" % lsn_text(target))
    r.sample_replication()
    r.end_process(process)
    finish(r)


def subscriber(r):
    """A second server that subscribes without copying the tables first."""
    prepare(r)
    sub = r.add_server("subscriber", 5433, listen="",
                       settings={"wal_receiver_status_interval": "1"})
    r.run_section("setup", sub)
    r.run_section("subscriber", sub)
    r.start_capture()
    r.sql("CREATE SUBSCRIPTION sub CONNECTION 'host=127.0.0.1 port=5432 user=postgres dbname=postgres'"
          " PUBLICATION pub WITH (%s)" % r.scenario["subscription"], sub)
    r.wait_for("SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'")
    r.run_section("run")
    target = r.wait_sent()
    r.wait_for("SELECT replay_lsn >= '%s' FROM pg_stat_replication" % lsn_text(target))
    r.sample_replication()
    r.sql("ALTER SUBSCRIPTION sub DISABLE", sub)
    r.wait_for("SELECT count(*) = 0 FROM pg_stat_replication")
    sub.stop()
    finish(r, "sub")


def node(r):
    """The npm package pg-logical-replication."""
    prepare(r)
    r.sql("SELECT pg_create_logical_replication_slot('sl', 'pgoutput')")
    r.start_capture()
    script = os.path.join(r.work, "node_client.js")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_client.js")) as source:
        with open(script, "w") as target:
            target.write(source.read())
    process = r.spawn(["node", script, "5432", "sl", "pub"],
                      env={"NODE_PATH": os.path.join(r.cache, "node", "node_modules")})
    r.wait_for("SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'")
    r.run_section("run")
    r.wait_sent()
    time.sleep(1.5)
    r.sample_replication()
    r.end_process(process, signal.SIGTERM)
    finish(r)


# -- logical, special sessions ------------------------------------------------------------------


def keepalives(r):
    """Every form of keepalive and of the client's messages, with a short wal_sender_timeout."""
    prepare(r)
    r.start_capture()
    conn = Conn(replication="database", application_name="raw_client")
    conn.query("IDENTIFY_SYSTEM")
    conn.query(create_slot_command(r, "sl"))
    conn.start_replication(start_command("sl", r.options))
    stream = Stream(conn)
    conn.status(0, 0, 0)
    conn.status(0, 0, 0, 1)
    r.run_section("run")
    target = r.wait_sent()
    stream.catch_up(target)
    conn.hot_standby_feedback()
    conn.status(target, target - 16, target - 32)
    time.sleep(0.2)
    r.sample_replication()
    time.sleep(3.5)
    conn.hot_standby_feedback(int(r.value("SELECT txid_snapshot_xmin(txid_current_snapshot())")), 0)
    stream.report()
    stream.finish()
    conn.close()
    finish(r)


def shutdown(r):
    """The server is shut down (fast) while the client streams."""
    prepare(r)
    r.start_capture()
    conn = Conn(replication="database", application_name="raw_client")
    conn.query("IDENTIFY_SYSTEM")
    conn.query(create_slot_command(r, "sl"))
    conn.start_replication(start_command("sl", r.options))
    stream = Stream(conn)
    r.run_section("run")
    stream.catch_up(r.wait_sent())
    stream.report()
    time.sleep(0.2)
    r.sample_replication()
    r.peek("sl", "answers", r.options)
    r.describe_tables()
    r.describe_server()
    r.server.stop(signal.SIGINT)
    stream.join(20)
    conn.close()
    r.stop_capture()


def prepared_later(r):
    """The client confirms the Prepares and leaves; what becomes of them comes on its second connection."""
    prepare(r)
    r.start_capture()
    for section in ("run", "later"):
        conn = Conn(replication="database", application_name="raw_client")
        conn.query("IDENTIFY_SYSTEM")
        if section == "run":
            conn.query(create_slot_command(r, "sl"))
        conn.start_replication(start_command("sl", r.options))
        stream = Stream(conn)
        r.run_section(section, at_pause=stream.report)
        stream.catch_up(r.wait_sent())
        stream.report()
        time.sleep(0.2)
        r.sample_replication()
        stream.finish()
        conn.close()
        if section == "run":
            r.run_section("between")
    finish(r)


# What a slow client reports: how many messages write, flush and apply are behind; None is position 0/0.
LAGS = [(None, None, None), (0, None, None), (0, 1, None), (0, 1, 4), (1, 3, 6), (2, 2, 2), (0, 0, None), (0, 0, 0)]


def sample_lag(r, conn, stream, lags, before):
    """A keepalive with the sender's position, a status update that lags, and how the server sees it. Returns the
    positions told; none is below the one told before."""
    r.wait_sent()
    known = sorted({position for position in list(stream.positions) if position})
    told = [max(known[max(0, len(known) - 1 - lag)], least) if lag is not None else 0
            for lag, least in zip(lags, before)]
    words = [lsn_text(position) for position in told]
    for _ in range(10):
        replies = stream.replies
        conn.status(*told, reply=1)
        end = time.time() + 5
        while stream.replies == replies and time.time() < end:
            time.sleep(0.01)
        at = stream.sent_pointer
        time.sleep(0.1)
        conn.status(*told)
        number = conn.statuses
        time.sleep(0.1)
        row = r.sql("SELECT sent_lsn, write_lsn, flush_lsn, replay_lsn, pg_current_wal_flush_lsn()"
                    " FROM pg_stat_replication")[0]
        if lsn_text(at) == row[0] and [lsn or "0/0" for lsn in row[1:4]] == words:
            names = ("sent_lsn", "write_lsn", "flush_lsn", "replay_lsn", "pg_current_wal_flush_lsn")
            r.add(lag=dict(zip(("write", "flush", "apply"), words), status=number, **dict(zip(names, row))))
            return told
    raise RuntimeError("the server never saw %s with %s sent" % (words, lsn_text(at)))


def slow(r):
    """A client that reports late, write before flush before apply; each report is looked up on the server."""
    physical = r.scenario.get("plugin") == "physical"
    if physical:
        r.server = r.add_server()
        r.run_section("setup")
        r.sql("SELECT pg_switch_wal()")
    else:
        prepare(r)
    r.start_capture()
    if physical:
        conn = Conn(replication="true", application_name="raw_client")
        begin = segment_start(r.position())
        command = "START_REPLICATION PHYSICAL %s TIMELINE 1" % lsn_text(begin)
    else:
        conn = Conn(replication="database", application_name="raw_client")
        conn.query(create_slot_command(r, "sl"))
        command = start_command("sl", r.options)
    conn.start_replication(command)
    stream = Stream(conn, answer=False)
    lags, told = iter(LAGS), [0, 0, 0]

    def report():
        told[:] = map(max, told, sample_lag(r, conn, stream, next(lags), told))

    r.run_section("run", at_pause=report)
    if next(lags, None):
        raise RuntimeError("a pause is missing in the workload")
    stream.finish()
    conn.close()
    if physical:
        r.stop_capture()
        r.add_wal(r.server, 1, begin, r.position())
        r.add_transactions()
        r.describe_server()
    else:
        finish(r)


def several_starts(r):
    """One connection, several START_REPLICATION: ended by CopyDone, by errors, in mid-block."""
    prepare(r, answers=False)
    r.sql("CREATE PUBLICATION pub_orders FOR TABLE orders")
    for name in ("answers1", "answers2", "answers3"):
        create_answers_slot(r, name)
    plain = {"proto_version": "1", "publication_names": "pub_orders"}
    streamed = {"proto_version": "4", "publication_names": "pub", "streaming": "parallel",
                "messages": "true"}
    binary = {"proto_version": "1", "publication_names": "pub", "binary": "true"}
    r.start_capture()
    conn = Conn(replication="database", application_name="raw_client", client_encoding="LATIN1")
    conn.query("IDENTIFY_SYSTEM")
    for slot in ("first", "second", "third"):
        conn.query(create_slot_command(r, slot))
    conn.start_replication(start_command("first", plain))
    stream = Stream(conn)
    r.run_section("run")
    stream.catch_up(r.wait_sent())
    stream.report()
    stream.finish()
    # Back to queries on the same connection, also one that fails.
    conn.query("SELECT id, total FROM orders ORDER BY id")
    conn.query("SHOW wal_level")
    try:
        conn.query("SELECT 1 / 0")
    except PgError:
        pass
    # A server that has ended one logical stream by CopyDone ends the next one at once.
    conn.start_replication(start_command("second", plain))
    Stream(conn).finish()
    # A physical start beyond the end of the WAL: CopyBothResponse, then an error.
    future = lsn_text(r.position() + 64 * SEGMENT)
    conn.start_replication("START_REPLICATION PHYSICAL %s TIMELINE 1" % future)
    stream = Stream(conn)
    stream.join(20)
    if not stream.error:
        raise RuntimeError("the physical start did not fail")
    # A value that cannot be converted ends this one inside a stream block.
    conn.start_replication(start_command("second", streamed))
    stream = Stream(conn)
    stream.join(20)
    if not stream.error or stream.error.fields.get("C") != "22P05":
        raise RuntimeError("no conversion error: %s" % stream.error)
    # And protocol version 1 again, after the unfinished block.
    conn.query("SET client_encoding TO 'UTF8'")
    conn.start_replication(start_command("third", binary))
    stream = Stream(conn)
    stream.catch_up(r.wait_sent())
    stream.report()
    stream.finish()
    conn.close()
    r.stop_capture()
    r.peek("first", "answers1", plain)
    r.peek("second", "answers2", streamed, "prefix", "the stream ended in an error in mid-block")
    r.peek("third", "answers3", binary)
    r.describe_tables()
    r.describe_server()


def two_connections(r):
    """Two streams at once: one of large transactions in blocks, one of version 1 for one table."""
    prepare(r, answers=False)
    r.sql("CREATE PUBLICATION pub_orders FOR TABLE orders")
    for name in ("answers1", "answers2"):
        create_answers_slot(r, name)
    plain = {"proto_version": "1", "publication_names": "pub_orders"}
    streamed = {"proto_version": "4", "publication_names": "pub", "streaming": "parallel",
                "messages": "true"}
    r.start_capture()
    conns, streams = [], []
    for slot, options in (("plain", plain), ("streamed", streamed)):
        conn = Conn(replication="database", application_name="raw_client_" + slot)
        conn.query("IDENTIFY_SYSTEM")
        conn.query(create_slot_command(r, slot))
        conns.append((conn, slot, options))
    for conn, slot, options in conns:
        conn.start_replication(start_command(slot, options))
        streams.append(Stream(conn))
    r.run_section("run")
    target = r.wait_sent(2)
    for stream in streams:
        stream.catch_up(target)
        stream.report()
    time.sleep(0.2)
    r.sample_replication()
    for stream in streams:
        stream.finish()
    for conn, _, _ in conns:
        conn.close()
    r.stop_capture()
    r.peek("plain", "answers1", plain, "relations", LIVE_DDL)
    r.peek("streamed", "answers2", streamed, "relations", LIVE_DDL)
    r.describe_tables()
    r.describe_server()


def table_sync(r):
    """A subscription that copies its tables first; a slow copy makes it catch up afterwards."""
    prepare(r)
    sub = r.add_server("subscriber", 5433, listen="",
                       settings={"wal_receiver_status_interval": "1"})
    r.run_section("setup", sub)
    r.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2);"
          " RETURN NEW; END $$", sub)
    r.sql("CREATE TRIGGER slow BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.id = 1)"
          " EXECUTE FUNCTION slow()", sub)
    r.sql("ALTER TABLE orders ENABLE ALWAYS TRIGGER slow", sub)
    r.run_section("initial")
    r.add_rows("orders", "id, total, note")
    r.add_rows("letters", "k")
    r.sql("SELECT pg_drop_replication_slot('answers')")
    create_answers_slot(r)
    r.start_capture()
    r.sql("CREATE SUBSCRIPTION sub CONNECTION 'host=127.0.0.1 port=5432 user=postgres dbname=postgres'"
          " PUBLICATION pub WITH (%s)" % r.scenario["subscription"], sub)
    r.wait_for("SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'COPY %orders%'"
               " OR (application_name LIKE '%sync%' AND state = 'idle in transaction')")
    time.sleep(0.5)
    r.run_section("during")
    r.wait_for("SELECT bool_and(srsubstate IN ('s', 'r')) FROM pg_subscription_rel", sub)
    r.run_section("run")
    target = r.wait_sent()
    r.wait_for("SELECT count(*) = 1 AND min(replay_lsn) >= '%s' FROM pg_stat_replication"
               % lsn_text(target))
    r.sample_replication()
    r.sql("ALTER SUBSCRIPTION sub DISABLE", sub)
    r.wait_for("SELECT count(*) = 0 FROM pg_stat_replication")
    sub.stop()
    finish(r, "sub")


# -- physical -----------------------------------------------------------------------------------


def segment_start(value):
    return value // SEGMENT * SEGMENT


def receivewal(r):
    """pg_receivewal from the beginning of a fresh WAL segment."""
    r.server = r.add_server()
    r.run_section("setup")
    r.sql("SELECT pg_switch_wal()")
    target_dir = os.path.join(r.work, "wal")
    os.mkdir(target_dir)
    r.account.own(target_dir)
    r.start_capture()
    base = ["-h", "127.0.0.1", "-U", "postgres", "-D", target_dir, "-S", "phys"]
    process = r.client("pg_receivewal", *base, "--create-slot")
    if process.wait(20):
        raise RuntimeError(r.client_log())
    process = r.client("pg_receivewal", *base, "-n", "--synchronous", "-s", "1")
    r.wait_for("SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'")
    r.run_section("run")
    target = r.wait_sent()
    r.wait_for("SELECT flush_lsn >= '%s' FROM pg_stat_replication" % lsn_text(target))
    r.sample_replication()
    r.end_process(process)
    r.stop_capture()
    end = r.position()
    r.add_wal(r.server, 1, segment_start(target), end)
    r.describe_server()


def standby_of(r, primary, name, conninfo, port, listen="", **settings):
    standby = r.add_server(name, port, listen=listen, copy_of=primary, start=False,
                           settings={"wal_receiver_status_interval": "1"})
    standby.configure(dict({"primary_conninfo": conninfo}, **settings), standby=True)
    return standby


def hot_standby(r):
    """A physical standby with hot_standby_feedback: on, with an old snapshot, and off again."""
    r.server = r.add_server()
    r.run_section("setup")
    r.sql("SELECT pg_switch_wal()")
    r.close_sessions()
    r.server.stop()
    standby = standby_of(r, r.server, "standby",
                         "host=127.0.0.1 port=5432 user=postgres application_name=standby",
                         5433, hot_standby_feedback="on")
    r.server.start()
    begin = segment_start(r.position())
    r.start_capture()
    standby.start()
    r.wait_for("SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'")
    reader = r.session("reader", standby)
    reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
    reader.query("SELECT count(*) FROM orders")
    r.run_section("run")
    r.wait_for("SELECT replay_lsn >= '%s' FROM pg_stat_replication" % lsn_text(r.wait_sent()))
    r.wait_for("SELECT backend_xmin IS NOT NULL FROM pg_stat_replication")
    time.sleep(1.2)
    r.sample_replication()
    reader.query("COMMIT")
    standby.reload("hot_standby_feedback", "off")
    r.wait_for("SELECT backend_xmin IS NULL FROM pg_stat_replication")
    time.sleep(0.5)
    end = r.position()
    r.close_sessions(standby)
    standby.stop()
    r.stop_capture()
    r.add_wal(r.server, 1, begin, end)
    r.describe_server()


def timeline_switch(r):
    """A cascaded standby whose upstream is promoted: the stream goes on in timeline 2."""
    top = r.server = r.add_server("server", 5600, listen="")
    r.run_section("setup")
    r.sql("SELECT pg_switch_wal()")
    r.close_sessions()
    top.stop()
    middle = standby_of(r, top, "middle", "host=%s port=5600 user=postgres" % top.dir, 5432,
                        listen="127.0.0.1")
    leaf = standby_of(r, top, "leaf", "host=127.0.0.1 port=5432 user=postgres application_name=leaf",
                      5601, recovery_target_timeline="latest")
    top.start()
    begin = segment_start(r.position())
    middle.start()
    r.start_capture()
    leaf.start()
    r.wait_for("SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'", middle)
    r.run_section("run")
    r.wait_for("SELECT pg_last_wal_replay_lsn() >= '%s'" % lsn_text(r.position()), leaf)
    r.sql("SELECT pg_promote()", middle)
    r.wait_for("SELECT received_tli = 2 FROM pg_stat_wal_receiver", leaf)
    r.sql("INSERT INTO orders VALUES (900, 9, 'in timeline 2')", middle)
    r.wait_for("SELECT count(*) = 1 FROM orders WHERE id = 900", leaf)
    time.sleep(1.2)
    r.sample_replication(middle)
    r.close_sessions(leaf)
    leaf.stop()
    r.stop_capture()
    r.server = middle
    switch = segment_start(begin)
    end = r.position()
    names = [row[0] for row in r.sql("SELECT pg_ls_dir('pg_wal') ORDER BY 1")]
    for timeline in (1, 2):
        stem = "%08X%08X%08X" % (timeline, switch >> 32, (switch & 0xFFFFFFFF) // SEGMENT)
        name = next(n for n in names if n in (stem, stem + ".partial"))
        r.add_wal(middle, timeline, switch, end, name)
    r.describe_server()


def base_backup(r):
    """BASE_BACKUP to the blackhole target, and other commands of a physical connection."""
    r.server = r.add_server()
    r.run_section("setup")
    r.run_section("run")
    r.start_capture()
    conn = Conn(replication="true", application_name="raw_client")
    conn.query("IDENTIFY_SYSTEM")
    conn.query("SHOW wal_segment_size")
    conn.query("CREATE_REPLICATION_SLOT phys PHYSICAL (RESERVE_WAL)")
    conn.query("READ_REPLICATION_SLOT phys")
    try:
        conn.query("TIMELINE_HISTORY 9")
    except PgError:
        pass
    conn.query("BASE_BACKUP (LABEL 'small', TARGET 'blackhole', CHECKPOINT 'fast', WAIT false,"
               " MANIFEST 'no', PROGRESS true)")
    conn.query("DROP_REPLICATION_SLOT phys")
    conn.close()
    r.stop_capture()
    r.describe_server()


# -- ordinary COPY ------------------------------------------------------------------------------


def psql_copy(r):
    """psql: COPY out and in, rows that begin like replication messages."""
    r.server = r.add_server()
    r.run_section("setup")
    path = os.path.join(r.work, "rows")
    r.start_capture()
    for command in ("\\copy cp (v) to '%s'" % path, "\\copy cp_in from '%s'" % path,
                    "COPY cp_in TO STDOUT"):
        process = r.client("psql", "-X", "-q", "-h", "127.0.0.1", "-U", "postgres", "-c", command)
        if process.wait(20):
            raise RuntimeError(r.client_log())
    r.stop_capture()
    r.add_rows("cp", "v")
    r.add_rows("cp_in", "v")
    r.describe_tables()
    r.describe_server()


def copy_mimic(r):
    """Copied data whose CopyData messages are byte for byte replication messages."""
    r.server = r.add_server()
    r.run_section("setup")
    at, now = r.position(), now_usec()
    keepalive = b"k" + struct.pack(">QqB", at, now, 1)
    status = b"r" + struct.pack(">QQQqB", at, at, at, now, 0)
    feedback = b"h" + struct.pack(">qIIII", now, 745, 0, 0, 0)
    begin = b"w" + struct.pack(">QQq", at, at, now) + b"B" + struct.pack(">QqI", at + 64, now, 745)
    stop = b"w" + struct.pack(">QQq", at, at, now) + b"E"
    value = keepalive + status + feedback + begin + stop
    head = b"PGCOPY\n\xff\r\n\0" + struct.pack(">II", 0, 0)
    tuple_head = struct.pack(">hi", 1, len(value))
    r.start_capture()
    conn = Conn(application_name="raw_client")
    conn.query("COPY cp_bytes FROM STDIN (FORMAT binary)",
               [head, tuple_head, keepalive, status, feedback, begin, stop, b"\xff\xff"])
    conn.query("COPY cp_bytes TO STDOUT (FORMAT binary)")
    conn.query("COPY cp (v) TO STDOUT")
    conn.query("COPY cp_in TO STDOUT")
    conn.query("COPY cp_in FROM STDIN",
               [b"kAAAAAAAABBBBBBBB\n", b"r" + b"0" * 32 + b"\n", b"", b"w", b"\nd\nk", b"\n"])
    conn.query("COPY cp_in TO STDOUT")
    conn.close()
    # The same on a connection that could also replicate.
    conn = Conn(replication="database", application_name="raw_client")
    conn.query("IDENTIFY_SYSTEM")
    conn.query("COPY cp (v) TO STDOUT")
    conn.query("COPY cp_bytes TO STDOUT (FORMAT binary)")
    conn.query("COPY cp_bytes FROM STDIN (FORMAT binary)",
               [head, tuple_head, keepalive, status, feedback, begin, stop, b"\xff\xff"])
    conn.close()
    r.stop_capture()
    r.add_rows("cp", "v")
    r.add_rows("cp_in", "v")
    r.add_rows("cp_bytes", "encode(b, 'hex')", bytes=True)
    r.describe_tables()
    r.describe_server()


# -- the table ----------------------------------------------------------------------------------

SCENARIOS = {}

SMALL_MEMORY = {"logical_decoding_work_mem": "64kB"}
PROTO1 = {"proto_version": "1", "publication_names": "pub"}
LIVE_DDL = ("DDL of a session can reach a walsender that decodes live before it decodes that DDL, and"
            " makes it describe the table once more")
ABORTED_18 = ("18 does not decode what it already knows to be rolled back, so the SQL function, asked"
              " afterwards, leaves out transactions that were streamed live and then aborted")
VALUE_SETTINGS = {"DateStyle": "ISO", "IntervalStyle": "postgres", "TimeZone": "UTC",
                  "bytea_output": "hex", "extra_float_digits": "1"}
STREAM_KINDS = ["StreamStart first", "StreamStart later", "StreamStop", "StreamCommit",
                "Truncate several in stream", "Update O in stream", "Delete K in stream"]


def scenario(name, server, client, run, workload, shows, **more):
    SCENARIOS[name] = dict(server=server, client=client, run=run, workload=workload, shows=shows,
                           **more)


scenario("pg10_proto1_plain", 10, "raw client", raw, "plain",
         "the oldest server with pgoutput: proto 1, empty Begin/Commit pairs, no Truncate",
         options=PROTO1, must_show=["Update K", "Update O", "Delete O", "Origin", "Type"])
scenario("pg14_proto2_streaming", 14, "raw client", raw, "streamed",
         "proto 2, streaming on: interleaved stream blocks, Stream Abort without LSN",
         options={"proto_version": "2", "publication_names": "pub", "streaming": "on",
                  "messages": "true"}, settings=SMALL_MEMORY, live=False,
         must_show=STREAM_KINDS + ["StreamAbort short sub", "StreamAbort short whole",
                                   "Message transactional in stream"])
scenario("pg15_proto1_all_messages", 15, "pg_recvlogical 15", recvlogical, "plain",
         "every message kind of proto 1, all replica identities, unchanged TOAST, UTF-8 names, "
         "a table without columns",
         options=dict(PROTO1, messages="true"),
         must_show=["Update N", "Update K", "Update O", "Delete K", "Delete O", "Origin", "Type",
                    "Truncate cascade", "Truncate restart", "Truncate cascade restart",
                    "Truncate several", "Message transactional", "Message not transactional"])
scenario("pg15_proto1_orders", 15, "raw client", raw, "orders",
         "one table with plain text values, live", options=PROTO1)
scenario("pg18_orders_ipv6", 18, "raw client", raw, "orders",
         "one table with plain text values over IPv6", options=PROTO1, host="::1")
scenario("pg15_port6543", 15, "raw client", raw, "orders",
         "one table with plain text values, on a port that is not the registered one", options=PROTO1, port=6543)
scenario("pg15_proto3_two_phase", 15, "raw client", raw, "twophase",
         "proto 3, two_phase without streaming: Begin Prepare, Prepare, Commit/Rollback Prepared",
         options={"proto_version": "3", "publication_names": "pub", "two_phase": "on"},
         two_phase=True,
         must_show=["BeginPrepare", "Prepare", "CommitPrepared", "RollbackPrepared"])
scenario("pg16_proto4_parallel", 16, "raw client", raw, "streamed",
         "proto 4, streaming parallel: interleaved transactions, aborts with LSN and time",
         options={"proto_version": "4", "publication_names": "pub", "streaming": "parallel",
                  "messages": "true"}, settings=SMALL_MEMORY, live=False,
         must_show=STREAM_KINDS + ["StreamAbort long sub", "StreamAbort long whole"])
scenario("pg16_proto4_streaming_on", 16, "pg_recvlogical 15", recvlogical, "streamed",
         "proto 4 with streaming on: Stream Abort has neither LSN nor time; live",
         options={"proto_version": "4", "publication_names": "pub", "streaming": "on"},
         settings=SMALL_MEMORY, must_show=STREAM_KINDS + ["StreamAbort short sub"],
         how="relations", note=LIVE_DDL)
scenario("pg17_immediate", 17, "raw client", raw, "immediate",
         "debug_logical_replication_streaming=immediate: every change in a stream block of its own",
         options={"proto_version": "4", "publication_names": "pub", "streaming": "parallel",
                  "two_phase": "on", "messages": "true"}, two_phase=True,
         settings={"debug_logical_replication_streaming": "immediate"},
         must_show=["StreamAbort long sub", "StreamAbort long whole", "StreamPrepare",
                    "CommitPrepared", "RollbackPrepared", "Message transactional in stream"])
scenario("pg17_origin", 17, "raw client", raw, "origin",
         "transactions with an origin: plain, streamed (origin LSN 0) and prepared",
         options={"proto_version": "4", "publication_names": "pub", "streaming": "parallel",
                  "two_phase": "on"}, two_phase=True, settings=SMALL_MEMORY,
         must_show=["Origin", "Origin in stream", "BeginPrepare"])
scenario("pg18_two_phase_streamed", 18, "raw client", raw, "twophase",
         "prepared transactions that were streamed: Stream Prepare",
         options={"proto_version": "4", "publication_names": "pub", "streaming": "parallel",
                  "two_phase": "on"}, two_phase=True, settings=SMALL_MEMORY, live=False,
         must_show=["StreamPrepare", "BeginPrepare", "CommitPrepared", "RollbackPrepared"])
scenario("pg18_subscriber_parallel", 18, "subscriber 18", subscriber, "streamed",
         "a real subscriber with streaming=parallel and two_phase; status updates of the apply worker",
         options={"proto_version": "4", "streaming": "parallel", "two_phase": "on", "origin": "any",
                  "publication_names": "\"pub\""}, two_phase=True, settings=SMALL_MEMORY,
         subscription="copy_data = false, streaming = parallel, two_phase = true",
         how="subset", note=ABORTED_18)
scenario("pg18_subscriber_two_phase", 18, "subscriber 18", subscriber, "twophase",
         "a real subscriber receives prepared transactions, small and streamed",
         options={"proto_version": "4", "streaming": "parallel", "two_phase": "on", "origin": "any",
                  "publication_names": "\"pub\""}, two_phase=True, settings=SMALL_MEMORY,
         subscription="copy_data = false, streaming = parallel, two_phase = true",
         how="subset", note=ABORTED_18)
PARALLEL = {"proto_version": "4", "publication_names": "pub", "streaming": "parallel", "messages": "true"}
IMMEDIATE = {"debug_logical_replication_streaming": "immediate"}
scenario("pg15_transactions", 15, "raw client", raw, "transactions",
         "transactions of every kind without streaming, with what the SQL says of each; live, acknowledged in steps",
         options=dict(PROTO1, messages="true"), rolled_back="none",
         must_show=["Message transactional", "Message not transactional", "Origin", "Truncate several"])
scenario("pg16_transactions_immediate", 16, "raw client", raw, "transactions",
         "the same transactions with every change streamed at once, in parallel mode: blocks of two sessions "
         "interleaved, subtransactions and whole transactions rolled back; live, acknowledged in steps",
         options=PARALLEL, settings=IMMEDIATE, rolled_back="all",
         must_show=["StreamAbort long sub", "StreamAbort long whole", "Origin in stream",
                    "Message transactional in stream", "Message not transactional"])
for server, options in ((14, {"proto_version": "2"}), (16, {"proto_version": "4"})):
    scenario("pg%d_transactions_streamed" % server, server, "raw client", raw, "transactions_large",
             "large transactions of two sessions interleaved, subtransactions and a whole transaction rolled back "
             "after they were streamed, small transactions between them",
             options=dict(options, publication_names="pub", streaming="on", messages="true"),
             settings=SMALL_MEMORY, live=False, rolled_back="some",
             must_show=["StreamAbort short sub", "StreamAbort short whole", "StreamStart later", "Begin",
                        "Message transactional in stream"])
scenario("pg15_transactions_two_phase", 15, "raw client", raw, "transactions_prepared",
         "prepared transactions without streaming, finished among others; live, acknowledged in steps",
         options={"proto_version": "3", "publication_names": "pub", "two_phase": "on", "messages": "true"},
         two_phase=True, rolled_back="none",
         must_show=["BeginPrepare", "Prepare", "CommitPrepared", "RollbackPrepared", "Message transactional"])
scenario("pg16_transactions_two_phase_immediate", 16, "raw client", raw, "transactions_prepared",
         "the same prepared transactions streamed: Stream Prepare; live, acknowledged in steps",
         options=dict(PARALLEL, two_phase="on"), two_phase=True, settings=IMMEDIATE, rolled_back="all",
         must_show=["StreamPrepare", "CommitPrepared", "RollbackPrepared", "StreamAbort long sub"])
scenario("pg15_prepared_later", 15, "raw client", prepared_later, "prepared_later",
         "transactions that are prepared on one connection and finished on the next one of the same slot",
         options={"proto_version": "3", "publication_names": "pub", "two_phase": "on"},
         two_phase=True, rolled_back="none", must_show=["Prepare", "CommitPrepared", "RollbackPrepared"],
         how="relations", note="each connection describes the tables anew")
scenario("pg17_prepared_later_streamed", 17, "raw client", prepared_later, "prepared_later",
         "the same with the prepared transactions streamed",
         options=dict(PARALLEL, two_phase="on"), two_phase=True, settings=IMMEDIATE, rolled_back="all",
         must_show=["StreamPrepare", "CommitPrepared", "RollbackPrepared"])
scenario("pg16_slow_client", 16, "raw client", slow, "slow",
         "a client whose write, flush and apply positions lag behind each other, each report looked up on the server",
         options=PROTO1, rolled_back="none", must_show=["Keepalive", "Status update"])
scenario("pg15_slow_physical_client", 15, "raw client", slow, "slow",
         "the same with physical streaming", plugin="physical", rolled_back="none",
         answers_note="wal lines: bytes of the server's own WAL file",
         must_show=["XLogData physical", "Keepalive", "Status update"])
scenario("pg10_subscriber", 10, "subscriber 10", subscriber, "orders",
         "a real subscriber of the oldest version",
         options={"proto_version": "1", "publication_names": "\"pub\""},
         subscription="copy_data = false")
scenario("pg16_subscriber_binary", 16, "subscriber 16", subscriber, "orders",
         "a real subscriber with binary = true",
         options={"proto_version": "4", "origin": "any", "publication_names": "\"pub\"",
                  "binary": "true"},
         subscription="copy_data = false, binary = true")
scenario("pg16_binary", 16, "raw client", raw, "types",
         "binary values of many types; a type without binary form stays text",
         options=dict(PROTO1, binary="true"))
scenario("pg18_binary", 18, "raw client", raw, "types",
         "binary values of many types, proto 4",
         options={"proto_version": "4", "publication_names": "pub", "binary": "true"})
scenario("pg17_types_text", 17, "raw client", raw, "types",
         "values of many types as text", options=PROTO1)
for server in (15, 18):
    scenario("pg%d_values_text" % server, server, "raw client", raw, "values",
             "every type that a table can hold, with its extremes, as text", live=False,
             options=PROTO1, startup=VALUE_SETTINGS)
    scenario("pg%d_values_binary" % server, server, "raw client", raw, "values",
             "the same values in the same order in binary form", live=False,
             options=dict(PROTO1, binary="true"), startup=VALUE_SETTINGS)
scenario("pg16_latin1_client", 16, "raw client", raw, "latin1",
         "client_encoding LATIN1: names and values are converted, the content of a message is not",
         options=dict(PROTO1, messages="true"), startup={"client_encoding": "LATIN1"})
for name, workload, encoding in (("sjis", "japanese", "SJIS"), ("euc_jp", "japanese", "EUC_JP"),
                                 ("win1252", "western", "WIN1252")):
    scenario("pg16_%s_client" % name, 16, "raw client", raw, workload,
             "client_encoding %s: names and values are converted" % encoding,
             options=PROTO1, startup={"client_encoding": encoding})
scenario("pg16_sql_ascii_database", 16, "raw client", raw, "bytes",
         "a SQL_ASCII database: nothing is converted, some values are UTF-8 and some are not",
         options=PROTO1, encoding="SQL_ASCII")
scenario("pg18_find_order", 18, "raw client", raw, "find_order",
         "two tables with the same ids, to find the rows of one order", options=PROTO1)
scenario("pg18_filters", 18, "raw client", raw, "filters",
         "column list, row filter, partitions via their root, stored generated column",
         options=PROTO1)
scenario("pg15_ddl", 15, "raw client", raw, "ddl",
         "DDL in mid-stream: add, drop, rename and retype columns, rename and replace the table",
         options=PROTO1, how="relations", note=LIVE_DDL)
scenario("pg18_ddl", 18, "raw client", raw, "ddl",
         "DDL in mid-stream, the workload of pg15_ddl", options=PROTO1,
         how="relations", note=LIVE_DDL)
scenario("pg15_coalesced", 15, "raw client", raw, "many",
         "more than 500 messages in one TCP segment", options=PROTO1, live=False, proxy="coalesce",
         must_show=["500 messages in one segment"])
scenario("pg15_split_segments", 15, "raw client", raw, "few",
         "TCP segments that end inside message headers", options=PROTO1, proxy="split")
scenario("pg15_tls", 15, "raw client", encrypted, "large",
         "the same stream in plain text and after an SSLRequest with TLS 1.3 and 1.2; a row larger than a TLS record",
         options=PROTO1, settings={"ssl": "on"}, direct=False)
scenario("pg18_tls_direct", 18, "raw client", encrypted, "large",
         "the same stream in plain text and with TLS 1.3 and 1.2 from the first byte on (ALPN postgresql)",
         options=PROTO1, settings={"ssl": "on"}, direct=True)
scenario("pg15_keepalives", 15, "raw client", keepalives, "few",
         "keepalives and status updates with and without a reply requested, feedback on a logical "
         "stream", options=PROTO1, settings={"wal_sender_timeout": "3s"},
         must_show=["Keepalive reply requested", "Keepalive", "Status update reply requested",
                    "Hot standby feedback", "Hot standby feedback without xmin"])
scenario("pg18_fast_shutdown", 18, "raw client", shutdown, "few",
         "the server is shut down while streaming: CommandComplete without CopyDone",
         options=PROTO1)
scenario("pg16_several_starts", 16, "raw client", several_starts, "error",
         "one connection: proto 1, CopyDone, queries, a start that ends at once, a physical start "
         "that fails, proto 4 parallel that fails inside a stream block, proto 1 binary",
         settings=SMALL_MEMORY)
scenario("pg16_two_connections", 16, "raw client", two_connections, "streamed",
         "two connections at once: proto 1 and proto 4 with streaming parallel; live",
         settings=SMALL_MEMORY)
scenario("pg18_missing_publication", 18, "raw client", raw, "orders",
         "a publication that does not exist: NoticeResponse inside the copy, the stream goes on",
         options={"proto_version": "1", "publication_names": "pub,missing"})
scenario("pg17_node_client", 17, "Node.js pg-logical-replication", node, "orders",
         "the npm client (closes the socket without CopyDone)", options=PROTO1)
scenario("pg15_tablesync", 15, "subscriber 15", table_sync, "sync",
         "copy_data: COPY and then START_REPLICATION on a connection of the same kind",
         options={"proto_version": "3", "publication_names": "\"pub\""},
         subscription="copy_data = true", must_show=["CopyOut", "tablesync catch-up"])
scenario("pg15_test_decoding", 15, "pg_recvlogical 15", recvlogical, "orders",
         "another output plugin: the payloads are text", plugin="test_decoding",
         options={"include-xids": "1", "include-timestamp": "0"})
scenario("pg15_pg_receivewal", 15, "pg_receivewal 15", receivewal, "few",
         "physical streaming with a slot; the client reports flushed positions",
         answers_note="wal lines: bytes of the server's own WAL file", plugin="physical",
         must_show=["XLogData physical", "Status update"])
scenario("pg16_hot_standby", 16, "standby 16", hot_standby, "few",
         "a real standby with hot_standby_feedback on, holding a snapshot, then off",
         answers_note="wal lines: bytes of the server's own WAL file", plugin="physical",
         must_show=["XLogData physical", "Hot standby feedback", "Hot standby feedback without xmin"])
scenario("pg17_timeline_switch", 17, "standby 17", timeline_switch, "few",
         "the upstream standby is promoted: end of timeline 1, TIMELINE_HISTORY, timeline 2",
         answers_note="wal lines: bytes of the server's own WAL files of both timelines",
         plugin="physical", must_show=["XLogData physical"])
scenario("pg15_base_backup_blackhole", 15, "raw client", base_backup, "few",
         "BASE_BACKUP to the blackhole target (small), READ_REPLICATION_SLOT and other commands",
         answers_note="nothing that the server says over SQL is in this capture", plugin="none")
scenario("pg15_copy_psql", 15, "psql 15", psql_copy, "copy",
         "ordinary COPY out and in: rows begin with w k r h d",
         answers_note="rows lines: the tables as the server returns them", plugin="none")
scenario("pg15_copy_mimic", 15, "raw client", copy_mimic, "copy",
         "ordinary COPY whose CopyData are byte for byte keepalives, status updates, XLogData; also "
         "on a replication=database connection",
         answers_note="rows lines: the tables as the server returns them", plugin="none")
