#!/usr/bin/env python3
"""Writes tests/values/pgN.jsonl: values as real servers send them in binary form and write them as text.

  write_value_vectors.py [--to DIRECTORY] [VERSION...]     by default 10, 15 and 18

Plays workloads/values.sql (for 10 only its section `old`) and asks, for each value, COPY in binary format (that is the
type's send function) and a plain query (its output function) on a connection with the settings in SETTINGS. The first
line says what the server is; then a line for each type that a Type message would tell, as it would tell it; then a line
for each value, without hex and text for a column whose type has no send function.
"""

import json
import os
import struct
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import servers
from record import read_workload
from scenarios import VALUE_SETTINGS as SETTINGS

VALUES = os.path.join(os.path.dirname(HERE), "values")
VERSIONS = [10, 15, 18]
TYPES = """
    WITH RECURSIVE used AS (
        SELECT DISTINCT t.oid, t.typtype, t.oid AS base FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        JOIN pg_type t ON t.oid = a.atttypid WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
        AND a.attnum > 0 AND t.oid >= 10000
        UNION ALL
        SELECT used.oid, used.typtype, t.typbasetype FROM used JOIN pg_type t ON t.oid = used.base WHERE t.typtype = 'd')
    SELECT used.oid, used.typtype, CASE WHEN n.nspname = 'pg_catalog' THEN '' ELSE n.nspname END, t.typname,
        format_type(t.oid, -1)
    FROM used JOIN pg_type t ON t.oid = used.base JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE t.typtype <> 'd' ORDER BY 1"""
COLUMNS = """
    SELECT c.relname, a.attname, a.atttypid, a.atttypmod, format_type(a.atttypid, a.atttypmod),
        t.typsend <> 0 AND coalesce((SELECT e.typsend <> 0 FROM pg_type e WHERE e.oid = t.typelem), true)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND a.attname <> 'id'
    ORDER BY c.oid, a.attnum"""


def binary_column(pieces):
    """The values of a binary COPY of one column; None for NULL."""
    data = b"".join(pieces)
    at, values = 19 + struct.unpack_from(">I", data, 15)[0], []
    while struct.unpack_from(">h", data, at)[0] == 1:
        size = struct.unpack_from(">i", data, at + 2)[0]
        values.append(data[at + 6:at + 6 + size] if size >= 0 else None)
        at += 6 + max(size, 0)
    return values


def vectors(server, version):
    work = server.connect(client_encoding="UTF8")
    workload = read_workload("values", version)
    for section in ["old"] if version < 14 else ["setup", "run"]:
        for _, statement in workload[section]:
            work.query(statement)
    work.close()
    conn = server.connect(client_encoding="UTF8", search_path="", **SETTINGS)
    yield {"server": conn.value("SHOW server_version"), "settings": SETTINGS}
    for oid, kind, namespace, name, base in conn.rows(TYPES):
        yield {"type": int(oid), "namespace": namespace, "name": name,
               **({"domain_over": base} if kind == "d" else {})}
    for table, column, oid, typmod, written, binary in conn.rows(COLUMNS):
        line = {"column": table + "." + column, "oid": int(oid), "typmod": int(typmod), "format_type": written}
        if binary != "t":
            yield line
            continue
        select = 'SELECT "%s" FROM public."%s" ORDER BY id' % (column, table)
        sent = binary_column(conn.query("COPY (%s) TO STDOUT (FORMAT binary)" % select)[0]["copy"])
        texts = [row[0] for row in conn.rows(select)]
        assert [value is None for value in sent] == [text is None for text in texts]
        for value, text in zip(sent, texts):
            if value is not None:
                yield {**line, "hex": value.hex(), "text": text}
    conn.close()


def write(versions, directory):
    with servers.workshop("values") as (account, base, cache):
        for version in versions:
            server = servers.Server(account, version, base, "server-%d" % version, 5432, cache, listen="", template=base)
            try:
                lines = list(vectors(server.start(), version))
            finally:
                server.stop()
            path = os.path.join(directory, "pg%d.jsonl" % version)
            with open(path, "w", encoding="utf-8") as file:
                for line in lines:
                    file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
            print("%s: %d values" % (path, sum("hex" in line for line in lines)))


def main(arguments):
    directory = VALUES
    if arguments[:1] == ["--to"]:
        directory, arguments = os.path.abspath(arguments[1]), arguments[2:]
    versions = [int(word) for word in arguments] or VERSIONS
    servers.install(versions, False)
    servers.enter_workshop(["--to", directory] + [str(version) for version in versions])
    os.makedirs(directory, exist_ok=True)
    write(versions, directory)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
