#!/usr/bin/env python3
"""Writes WAL of real servers and the list of its records, by the servers' own tools.

  write_wal_vectors.py [--to DIRECTORY] [--large] [VERSION...]     by default tests/wal; 15 and 18

For each version pgN.wal.gz, the WAL from the first byte of a segment on, and pgN.tsv.gz: a line `start`, version,
position of that byte and segment size; then a line for each record with its position, that of the record before it, length,
transaction, resource manager, operation, and block references. The records are what pg_waldump (15) or the extension
pg_walinspect (16 and later) says; the ready-built 10 and 14 have neither, so that only the first line is there.

Plays workloads/wal.sql, with --large also its section `large`: more than 100,000 records.
"""

import gzip
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import servers
from record import read_workload

VECTORS = os.path.join(os.path.dirname(HERE), "wal")
VERSIONS = [15, 18]
SETTINGS = {"full_page_writes": "on", "wal_log_hints": "on", "track_commit_timestamp": "on", "max_wal_size": "4GB",
            "wal_keep_segments": "1000", "wal_keep_size": "4GB"}
WALDUMP = re.compile(r"rmgr: (?P<rmgr>\S+) +len \(rec/tot\): +\d+/ *(?P<length>\d+), tx: +(?P<xid>\d+), lsn: (?P<lsn>\S+), "
                     r"prev (?P<prev>\S+), desc: (?P<operation>UNKNOWN \(\w+\)|\S+)")
BLOCK = re.compile(r"blkref #(\d+): rel (\d+/\d+/\d+)(?: fork (\w+))? blk (\d+)")
WALINSPECT = """
    SELECT start_lsn, prev_lsn, record_length, xid, resource_manager, record_type, coalesce(block_ref, '')
    FROM pg_get_wal_records_info('%s', '%s') ORDER BY 1"""


def number(lsn):
    high, low = lsn.split("/")
    return int(high, 16) << 32 | int(low, 16)


def text(lsn):
    return "%X/%X" % (lsn >> 32, lsn & 0xffffffff)


def blocks(description):
    return " ".join("%s:%s:%s:%s" % (i, rel, fork or "main", block) for i, rel, fork, block in BLOCK.findall(description))


def waldump(server, start, end):
    command = [os.path.join(server.bin, "pg_waldump"), "-p", os.path.join(server.data, "pg_wal"), "-s", text(start), "-e", text(end)]
    for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", errors="replace").stdout.splitlines():
        record = WALDUMP.match(line)
        if not record:
            raise RuntimeError("pg_waldump: " + line)
        yield [text(number(record["lsn"])), text(number(record["prev"])), record["length"], record["xid"], record["rmgr"],
               record["operation"], blocks(line)]


def walinspect(server, start, end):
    server.sql("CREATE EXTENSION IF NOT EXISTS pg_walinspect")
    for *record, references in server.sql(WALINSPECT % (text(start), text(end))):
        yield record + [blocks(references)]


def play(server, sections, workload):
    conns = {}
    for section in sections:
        for session, statement in workload[section]:
            if session not in conns:
                conns[session] = server.connect(client_encoding="UTF8")
            conns[session].query(statement)
    for conn in conns.values():
        conn.close()


def files(server):
    directory = os.path.join(server.data, "pg_wal")
    return sorted(os.path.join(directory, name) for name in os.listdir(directory) if re.fullmatch("[0-9A-F]{24}", name))


def vectors(server, version, large):
    workload = read_workload("wal", version)
    play(server, ["setup"], workload)
    if version >= 16:
        server.sql("CREATE EXTENSION pg_walinspect")
    segment = os.path.getsize(files(server)[0])
    server.sql("SELECT pg_switch_wal()")
    server.sql("SELECT txid_current()")
    start = number(server.sql("SELECT pg_current_wal_lsn()")[0][0]) // segment * segment
    play(server, ["small", "large"] if large else ["small"], workload)
    end = number(server.sql("SELECT pg_current_wal_flush_lsn()")[0][0])
    records = {True: lambda: [], version == 15: lambda: list(waldump(server, start, end)),
               version >= 16: lambda: list(walinspect(server, start, end))}[True]()
    wal = bytearray()
    per_log = 0x100000000 // segment
    for i in range(start // segment, -(-end // segment)):
        with open(os.path.join(server.data, "pg_wal", "%08X%08X%08X" % (1, i // per_log, i % per_log)), "rb") as file:
            wal += file.read()
    return bytes(wal[:end - start]), [["start", str(version), text(start), str(segment)]] + records


def compressed(path, data):
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 6, file, 0) as target:
        target.write(data)


def server_with(account, version, base, cache, large):
    settings = {name: value for name, value in SETTINGS.items() if name != ("wal_keep_size" if version < 13 else "wal_keep_segments")}
    name = "server-%d" % version
    template = os.path.join(base, "template-%d-UTF8" % version)
    if not large and version >= 11:
        # Segments whose zeros at the end are few.
        account.run([os.path.join(servers.bin_dir(version, cache), "initdb"), "-D", template, "-A", "trust", "-N", "-U", "postgres",
                     "--locale=C", "--encoding=UTF8", "--wal-segsize=1"], cwd="/tmp")
    return servers.Server(account, version, base, name, 5432, cache, listen="", settings=settings, template=base)


def main(arguments):
    directory, large = VECTORS, "--large" in arguments
    arguments = [word for word in arguments if word != "--large"]
    if arguments[:1] == ["--to"]:
        directory, arguments = os.path.abspath(arguments[1]), arguments[2:]
    versions = [int(word) for word in arguments] or VERSIONS
    servers.install(versions, False)
    servers.enter_workshop(["--to", directory] + ["--large"] * large + [str(version) for version in versions])
    os.makedirs(directory, exist_ok=True)
    with servers.workshop("wal") as (account, base, cache):
        for version in versions:
            server = server_with(account, version, base, cache, large)
            try:
                wal, lines = vectors(server.start(), version, large)
            finally:
                server.stop()
            path = os.path.join(directory, "pg%d" % version)
            compressed(path + ".wal.gz", wal)
            compressed(path + ".tsv.gz", "".join("\t".join(line) + "\n" for line in lines).encode())
            print("%s.wal.gz: %d bytes of WAL, %d records" % (path, len(wal), len(lines) - 1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
