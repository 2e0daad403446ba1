"""Replication commands and their parts, and which of them each message of a stream goes back to."""
import re
import struct

import pytest

import pcap
import postgres
from pdml import connections

COMMAND = re.compile(rb'(IDENTIFY_SYSTEM|TIMELINE_HISTORY|READ_REPLICATION_SLOT|CREATE_REPLICATION_SLOT|ALTER_REPLICATION_SLOT|'
                     rb'DROP_REPLICATION_SLOT|START_REPLICATION|BASE_BACKUP|UPLOAD_MANIFEST)\b')
NAME = r'(?:"((?:[^"]|"")*)"|(\w+))'
PARTS = ('command', 'start.slot', 'start.mode', 'start.lsn', 'start.timeline', 'start.proto_version', 'start.publication_names',
         'start.binary', 'start.messages', 'start.streaming', 'start.two_phase', 'start.origin', 'command.slot', 'command.mode',
         'command.plugin')
SEPARATOR = '\x1f'


def name(found):
    return found[1].replace('""', '"') if found[1] is not None else found[2].lower()


def expected(text):
    """The parts of a command, read in another way."""
    parts = {'command': COMMAND.match(text)[0].decode()}
    text = text.rstrip(b'\0').decode()
    if parts['command'] == 'START_REPLICATION':
        if slot := re.search(r'SLOT ' + NAME, text):
            parts['start.slot'] = name(slot)
        lsn = re.search(r'\b([0-9A-F]+)/([0-9A-F]+)\b', text)
        parts['start.lsn'] = '/'.join(f'{int(half, 16):X}' for half in lsn.groups())
        if mode := re.search(r' (LOGICAL|PHYSICAL) [0-9A-F]+/', text):
            parts['start.mode'] = mode[1].lower()
        if timeline := re.search(r' TIMELINE (\d+)', text):
            parts['start.timeline'] = timeline[1]
        for option, value in re.findall(r'"?(\w+)"? \'((?:[^\']|\'\')*)\'', text):
            if f'start.{option}' in PARTS:
                parts[f'start.{option}'] = value.replace("''", "'")
    elif 'SLOT' in parts['command']:
        parts['command.slot'] = name(re.search(r'SLOT ' + NAME, text))
        if mode := re.search(r' (LOGICAL|PHYSICAL)\b(?: ' + NAME + ')?', text):
            parts['command.mode'] = mode[1].lower()
            if mode[1] == 'LOGICAL':
                parts['command.plugin'] = mode[2] or mode[3].lower()
    return parts


def test_parts(wireshark, capture):
    messages, _ = postgres.messages(capture.content)
    wanted = {m.frame: expected(m.body) for m in messages if m.kind == 'Q' and COMMAND.match(m.body)}
    # Nothing of it comes from other messages: a second pass need not be looked at everywhere.
    for two_pass in (False, True) if capture.source.name.startswith('pg16') else (False,):
        rows = wireshark.tshark(
            capture, '-Y', 'pgrepl.command', '-T', 'fields', '-E', f'separator={SEPARATOR}', '-e', 'frame.number',
            *(word for part in PARTS for word in ('-e', f'pgrepl.{part}')), two_pass=two_pass).text().splitlines()
        found = {}
        for row in rows:
            number, *values = row.split(SEPARATOR)
            found[int(number)] = {part: value for part, value in zip(PARTS, values) if value}
        if not any(p in capture.path.name for p in ('_tls',)):      # what is encrypted cannot be read here
            assert found == wanted
        assert found or not wanted


@pytest.mark.captures('pg15_proto1_orders', 'pg16_several_starts', 'pg16_two_connections', 'pg17_timeline_switch', 'pg15_test_decoding')
def test_started_in(wireshark, capture):
    """Of every message the START_REPLICATION in force, also after another one on the same connection."""
    started, begun = {}, {}
    for m in postgres.messages(capture.content)[0]:
        if m.kind == 'Q' and m.body.startswith(b'START_REPLICATION'):
            started[m.ends] = m.frame
        elif m.kind == 'W' and m.direction == pcap.SERVER:
            begun.setdefault(m.ends, []).append((m.frame, started[m.ends]))
    for run in (wireshark.pdml(capture), wireshark.pdml(capture, two_pass=True)):
        frames, compared = run.frames(), set()
        for frame in frames:
            ends = pcap.endpoints(capture.content)[frame.number - 1][0] if frame.messages else None
            for m in frame.messages:
                before = [start for number, start in begun[ends] if number <= frame.number]
                assert [int(f.show) for f in m.fields if f.name == 'pgrepl.start.frame'] == before[-1:]
                compared.update(before[-1:])
        assert compared <= {start for starts in begun.values() for _, start in starts} and compared
        assert connections(frames, pcap.endpoints(capture.content))


@pytest.mark.captures('pg15_test_decoding')
def test_transactions_of_test_decoding(wireshark, capture):
    """xids and links by the lines BEGIN and COMMIT."""
    xid = begin = None
    seen = 0
    for frame in wireshark.pdml(capture, two_pass=True).frames():
        for m in frame.messages:
            values = {f.name: f.show for f in m.fields}
            text = values.get('pgrepl.data.text')
            if text is None:
                continue
            if text.startswith('BEGIN '):
                xid, begin = text.split()[1], frame.number
            assert (values['pgrepl.txn.xid'], values['pgrepl.txn.begin_frame']) == (xid, str(begin)), text
            seen += 1
    assert seen > 20


def other_plugin(*payloads):
    return postgres.logical_stream([postgres.xlog_data(0x1000 + n, 849288006153206 + n, payload) for n, payload in enumerate(payloads)],
                                   '"include-xids" \'1\'')


@pytest.mark.parametrize('two_pass', [False, True])
def test_json(wireshark, save, two_pass):
    """JSON goes to its own dissector, and the columns stay ours."""
    path = save(other_plugin(b'{"action":"B","xid":7}', b'{"action":"I","table":"t","columns":[{"name":"id","value":1}]}',
                             b'{"action":"C"}', b'{"xid":8,"change":[]}', b'{ no JSON', b'BEGIN 9', b'\xff\xfe\0'))
    rows = wireshark.tshark(path, '-Y', 'pgrepl.data', '-T', 'fields', '-e', 'pgrepl.txn.xid', '-e', 'json.key', '-e', 'pgrepl.data.text',
                            '-e', 'frame.protocols', '-e', '_ws.col.Protocol', '-e', '_ws.col.Info', two_pass=two_pass).text()
    rows = [row.split('\t') for row in rows.splitlines()]
    assert [row[0] for row in rows] == ['7', '7', '7', '8', '', '9', '']
    assert [row[1] for row in rows][:4] == ['action,xid', 'action,table,name,value,columns', 'action', 'xid,change']
    assert rows[6][2] == '' and rows[5][2] == 'BEGIN 9'
    assert all(row[4] == 'PGREPL' and row[3].count('pgrepl') == 1 for row in rows)
    assert 'XLogData {"action":"B","xid":7}' in rows[0][5]


@pytest.mark.parametrize('two_pass', [False, True])
def test_primary_status(wireshark, save, two_pass):
    """PostgreSQL 19: the subscriber asks for the publisher's state, and gets it."""
    request = postgres.message(b'd', struct.pack('>cq', b'p', 849288006153206))
    answer = postgres.message(b'd', struct.pack('>cQQQq', b's', 0x1661e08, (2 << 32) + 750, (2 << 32) + 751, 849288006153207))
    run = wireshark.pdml(save(postgres.logical_stream([(pcap.CLIENT, request), answer])), two_pass=two_pass)
    asked, told = [{f.name: f.show for f in m.fields if f.size} for frame in run.frames() for m in frame.messages]
    assert set(asked) == {'pgrepl.copydata.type', 'pgrepl.send_time'}
    assert told['pgrepl.primary.write_lsn'] == '0/1661E08'
    assert [told[f'pgrepl.primary.{name}'] for name in ('oldest_commit_xid', 'next_xid')] == ['8589935342', '8589935343']


@pytest.mark.parametrize('two_pass', [False, True])
def test_plugin_of_a_slot(wireshark, save, two_pass):
    """It is that of the slot as it was then, although the slot is dropped later."""
    def command(text):
        return pcap.CLIENT, postgres.message(b'Q', text + b'\0')

    done = pcap.SERVER, postgres.message(b'C', b'DONE\0') + postgres.message(b'Z', b'I')
    start = [command(b'START_REPLICATION SLOT s LOGICAL 0/0'), (pcap.SERVER, postgres.message(b'W', bytes(3)))]
    path = save(pcap.conversation([
        (pcap.CLIENT, postgres.startup(user='me', replication='database')),
        (pcap.SERVER, postgres.message(b'R', bytes(4)) + postgres.message(b'Z', b'I')),
        command(b'CREATE_REPLICATION_SLOT s LOGICAL test_decoding'), done, *start, done, command(b'DROP_REPLICATION_SLOT s'), done, *start]))
    rows = wireshark.tshark(path, '-Y', 'pgrepl.start.slot', '-T', 'fields', '-e', 'pgrepl.start.plugin', two_pass=two_pass).text()
    assert rows == 'test_decoding\n\n'


@pytest.mark.captures('pg16_several_starts')
def test_in_the_list(wireshark, capture):
    """Each command stands in the list of packets in its own words."""
    wanted = {m.frame: m.body.rstrip(b'\0').decode() for m in postgres.messages(capture.content)[0] if m.kind == 'Q' and COMMAND.match(m.body)}
    rows = dict(re.findall(r'^ *(\d+) \S+ (.*)$', wireshark.columns(capture).text(), re.MULTILINE))
    for frame, text in wanted.items():
        assert text in rows[str(frame)]
    assert len(wanted) > 5
