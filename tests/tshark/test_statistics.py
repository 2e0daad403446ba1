"""The statistics (Statistics > PostgreSQL Replication, -z pgrepl,tree) count what the server said and what the bytes say."""
import collections
import re
import struct

import pytest

import pcap
import postgres
import transactions
from documented import is_readable, recorded
from test_server_answers import starts

HEADER = 25                             # of XLogData
KINDS = {                               # letter: name in the answers' counts, name in the statistics
    'B': 'Begin', 'M': 'Message', 'C': 'Commit', 'O': 'Origin', 'R': 'Relation', 'Y': 'Type', 'I': 'Insert', 'U': 'Update',
    'D': 'Delete', 'T': 'Truncate', 'S': 'Stream Start', 'E': 'Stream Stop', 'c': 'Stream Commit', 'A': 'Stream Abort',
    'b': 'Begin Prepare', 'P': 'Prepare', 'K': 'Commit Prepared', 'r': 'Rollback Prepared', 'p': 'Stream Prepare'}
FROM_SERVER = {'w': 'XLogData', 'k': 'Primary keepalive message', 's': 'Primary status update'}
FROM_CLIENT = {'r': 'Standby status update', 'h': 'Hot standby feedback message', 'p': 'Request primary status update'}
OF_BACKUP = {'n': 'new archive', 'm': 'manifest', 'd': 'archive or manifest data', 'p': 'progress report'}


def tree(text):
    """{path of titles: count}, without the lines whose count is 0. Columns are as wide as bytes, not characters."""
    found, path = {}, []
    lines = iter(text.splitlines())
    width = next(line for line in lines if line.startswith(b'Topic / Item')).index(b'Count')
    for line in lines:
        title = line[:width].decode().rstrip()
        if not title or title.startswith('-'):
            continue
        depth = len(title) - len(title.lstrip())
        path[depth:] = [title.strip()]
        if count := int(line[width:].split()[0]):
            found[tuple(path)] = count
    return found


def statistics(wireshark, path, two_pass=False):
    return tree(wireshark.tshark(path, '-q', '-z', 'pgrepl,tree', two_pass=two_pass).bytes())


def below(found, *path):
    """What stands directly below a title: {title: count}."""
    return {key[-1]: n for key, n in found.items() if len(key) == len(path) + 1 and key[:-1] == path}


# --- what the server said -----------------------------------------------------------------------------------

def text(data, at):
    end = data.index(b'\0', at)
    return data[at:end].decode('utf-8', 'replace'), end + 1


class Slot:
    """Reads the answers of a slot: messages by kind, changes and their bytes by table, ends of transactions."""

    def __init__(self, answers):
        self.kinds, self.changes, self.bytes, self.ends = (collections.Counter() for _ in range(4))
        self.tables, self.streamed = {}, False
        for answer in answers:
            self.take(bytes.fromhex(answer['data_hex']))

    def take(self, data):
        kind = chr(data[0])
        self.kinds[KINDS[kind]] += 1
        self.streamed = kind == 'S' or self.streamed and kind != 'E'
        at = 5 if self.streamed else 1
        if kind == 'R':
            namespace, next_at = text(data, at + 4)
            self.tables[data[at:at + 4]] = f"{namespace or 'pg_catalog'}.{text(data, next_at)[0]}"
        elif kind in 'IUD':
            self.changed(data[at:at + 4], kind)
            self.bytes[self.tables[data[at:at + 4]]] += len(data)
        elif kind == 'T':
            oids = data[at + 5:]
            count = struct.unpack_from('>I', data, at)[0]
            for i in range(count):
                self.changed(oids[4 * i:4 * i + 4], kind)
            if count == 1:              # more tables share the bytes
                self.bytes[self.tables[oids[:4]]] += len(data)
        elif kind in 'CcK':
            self.ends['Committed'] += 1
        elif kind in 'Pp':
            self.ends['Prepared'] += 1
        elif kind == 'r' or kind == 'A' and data[1:5] == data[5:9]:
            self.ends['Rolled back'] += 1

    def changed(self, oid, kind):
        self.changes[self.tables[oid], KINDS[kind]] += 1


# Names that are sent in another encoding than UTF-8: the answers are in the server's.
OTHER_ENCODING = {'pg16_euc_jp_client', 'pg16_latin1_client', 'pg16_sjis_client', 'pg16_win1252_client', 'pg16_sql_ascii_database'}


def is_exact(answers):
    """What was sent is exactly what the answers have; the copies of a subscription's tables have slots of their own."""
    first = answers[0]
    return (first['about'].get('plugin') == 'pgoutput' and 'tablesync' not in first['about']['capture']
            and is_readable(answers) and all(rule['how'] == 'exact' for rule in first['compare']))


@pytest.mark.captures(*recorded(is_exact))
def test_as_the_server_says(wireshark, capture, answers):
    rules = answers[0]['compare']
    sent = {what['slot'] for of_connection in starts(capture.content, answers).values() for _, what in of_connection}
    assert sent == {rule['slot'] for rule in rules}
    slots = [Slot(a for a in answers if a.get('slot') == rule['slot'] and 'data_hex' in a) for rule in rules]
    counts, changes, sizes, ends = (sum((getattr(s, what) for s in slots), collections.Counter())
                                    for what in ('kinds', 'changes', 'bytes', 'ends'))
    said = collections.Counter()
    for answer in answers:
        for kind, n in answer.get('counts', {}).get('messages', {}).items():
            said[re.sub('(?<=.)([A-Z])', r' \1', kind)] += n
    assert counts == said                                       # the answers agree with themselves

    found = statistics(wireshark, capture)
    assert below(found, 'Messages', 'From the server', 'XLogData') == counts
    shown = {key[1:]: n for key, n in found.items() if key[0] == 'Changes by table' and len(key) == 3}
    shown_sizes = below(found, 'Bytes of changes by table')
    if capture.path.name.split('.')[0] in OTHER_ENCODING:
        assert sorted(shown.values()) == sorted(changes.values()) and sorted(shown_sizes.values()) == sorted(sizes.values())
    else:
        assert shown == changes and shown_sizes == sizes
    assert below(found, 'Transactions') == ends


@pytest.mark.captures('pg15_transactions')
def test_as_the_sql_says(wireshark, capture, answers):
    """What was rolled back is never sent without streaming, so the tables have what the SQL has committed."""
    wanted = {(table, kind.title()): n for table, kinds in transactions.totals(answers).items() for kind, n in kinds.items()}
    found = {key[1:]: n for key, n in statistics(wireshark, capture).items() if key[0] == 'Changes by table' and len(key) == 3}
    assert found == wanted and sum(wanted.values()) > 10


@pytest.mark.captures('pg16_slow_client')
@pytest.mark.parametrize('field', ['pgrepl.lag.flush', 'pgrepl.ack.time'])
def test_plots(wireshark, capture, field):
    """The I/O graph takes the values: here as the table of the whole capture."""
    values = wireshark.tshark(capture, '-Y', field, '-T', 'fields', '-e', field, two_pass=True).text().split()
    numbers = [float(value) for row in values for value in row.split(',')]
    table = wireshark.tshark(capture, '-q', '-z', f'io,stat,0,MAX({field}){field}', two_pass=True).text()
    shown = [float(row.split('|')[2]) for row in table.splitlines() if row.startswith('|') and '<>' in row]
    assert numbers and shown == [pytest.approx(max(numbers), abs=1e-6)]


# --- what the bytes say -------------------------------------------------------------------------------------

def by_direction(capture):
    """{path: count} of the copy messages, from the bytes alone."""
    found = collections.Counter()
    for m in postgres.messages(capture)[0]:
        if m.kind != 'd' or m.mode not in ('W', 'B', 'C'):
            continue
        server = m.direction == pcap.SERVER
        names = OF_BACKUP if m.mode == 'B' else FROM_SERVER if server else FROM_CLIENT
        way = 'From the server' if server else 'From the client'
        found['Messages', way, names[m.body[:1].decode()]] += 1
        found['Messages', way] += 1
        found['Messages', ] += 1
    return found


@pytest.mark.captures(*recorded(is_readable))
def test_as_the_bytes_say(wireshark, capture):
    found = statistics(wireshark, capture)
    assert {key: n for key, n in found.items() if key[0] == 'Messages' and len(key) <= 3} == by_direction(capture.content)
    assert statistics(wireshark, capture, two_pass=True) == found


@pytest.mark.captures('pg14_proto2_streaming', 'pg18_two_phase_streamed', 'pg16_two_connections')
def test_transactions_by_size(wireshark, capture):
    """Each transaction that ended stands in one class, by the number of changes that its end shows."""
    ends = [{f.name: f.show for f in m.fields} for frame in wireshark.pdml(capture, two_pass=True).frames() for m in frame.messages]
    sizes = [int(m['pgrepl.txn.changes']) for m in ends if 'pgrepl.txn.changes' in m]
    classes = collections.Counter('0' if n == 0 else '1' if n == 1 else '2-9' if n < 10 else '10-99' if n < 100 else '100-999'
                                  for n in sizes)
    found = statistics(wireshark, capture)
    assert sizes and below(found, 'Changes in a transaction') == classes
    assert found['Changes in a transaction', ] == len(sizes)


def test_every_series_counts_the_same(every_wireshark, capture):
    found = [statistics(w, capture) for w in every_wireshark.values()]
    assert all(f == found[0] for f in found)
