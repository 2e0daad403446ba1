"""Transactions, acknowledgements and lags are shown as the packets and the SQL of the workload say."""
import collections
import math
from decimal import Decimal, InvalidOperation

import pytest

import pcap
import postgres
import transactions
from documented import is_readable, recorded
from pcap import CLIENT
from pdml import Field, Frame, Message
from test_server_answers import Wrong, all_of, by_letter, number, one_of
from transactions import LAGS, NAMES, PART_ROLLED_BACK, ROLLED_BACK, unsigned

RECORDED = [
    'pg14_transactions_streamed', 'pg15_prepared_later', 'pg15_transactions', 'pg15_transactions_two_phase',
    'pg16_slow_client', 'pg16_transactions_immediate', 'pg16_transactions_streamed',
    'pg16_transactions_two_phase_immediate', 'pg17_prepared_later_streamed',
]
SLOW = ['pg15_slow_physical_client', 'pg16_slow_client']
KINDS = {'I': 'insert', 'U': 'update', 'D': 'delete', 'T': 'truncate'}
TEXTS = {'pgrepl.txn.outcome'}


def pgoutput(answers):
    return answers[0]['about'].get('plugin') == 'pgoutput'


def pair(frames, endpoints, items):
    """[(item, message)]: each CopyData message of a replication stream, as it is and as it is shown. Nothing else
    shows anything of transactions."""
    shown, expected = collections.defaultdict(list), collections.defaultdict(list)
    for frame in frames:
        for message in frame.messages:
            backup = any(f.name.startswith('pgrepl.backup.') for f in message.fields)
            if by_letter(message) and not backup:
                shown[endpoints[frame.number - 1]].append((frame.number, message))
            elif names := [name for name in NAMES if all_of(message, name)]:
                raise Wrong(f'{names} in {message}')
    for item in items:
        expected[item.way].append(item)
    pairs = []
    for way in shown.keys() | expected.keys():
        if [(n, by_letter(m)) for n, m in shown[way]] != [(item.frame, item.letter) for item in expected[way]]:
            raise Wrong(f'not the messages of {way}: {shown[way]}')
        pairs += zip(expected[way], (m for _, m in shown[way]))
    return sorted(pairs, key=lambda both: both[0].index)


def value(message, name):
    text = one_of(message, name)
    try:
        return text if text is None or name in TEXTS else Decimal(text)
    except InvalidOperation:
        raise Wrong(f'{name} is {text!r} in {message}') from None


def compare(pairs, known):
    """All fields of all messages; known(item): whose knowledge is enough, by index. Returns how often each was there."""
    done = collections.Counter()
    for item, message in pairs:
        wanted = [transactions.expected(item, last) for last in known(item)]
        for name in NAMES:
            found = value(message, name)
            if not any(found in each[name] for each in wanted):
                raise Wrong(f'{name} is {found} and not {[each[name] for each in wanted]} at {item}: {message}')
            done[name] += found is not None
    return done


def afterwards(_):
    return [math.inf]


def meanwhile(items):
    """In one pass: what came before the message is known, perhaps also what is behind it in the same packet."""
    last = {item.frame: item.index for item in items}
    return lambda item: [item.index, last[item.frame]]


# --- the SQL ------------------------------------------------------------------------------------------------

def rows(pairs):
    """{xid: {whether it is lost: {(table, kind): count}}} as shown."""
    found = collections.defaultdict(lambda: {False: collections.Counter(), True: collections.Counter()})
    for item, message in pairs:
        if xid := one_of(message, 'pgrepl.txn.xid'):
            lost = one_of(message, 'pgrepl.txn.outcome') == PART_ROLLED_BACK
            count = found[int(xid)][lost]
            if item.kind in KINDS:
                count.update((table, KINDS[item.kind]) for table in all_of(message, 'pgrepl.table'))
    return found


def agrees(found, wanted, how):
    return {'all': found == wanted, 'none': not found, 'some': found and not found - wanted}[how]


def compare_rows(answers, pairs):
    """Rows by table and kind are those of the SQL, those of rolled back subtransactions apart."""
    lines, found = transactions.lines(answers), rows(pairs)
    if unknown := found.keys() - lines.keys():
        raise Wrong(f'the SQL knows no transactions {unknown}')
    for xid, line in lines.items():
        kept, lost = transactions.counted(line['changes']), transactions.counted(line['rolled_back'])
        shown, how = found[xid], line['wire']
        if line['outcome'] == ROLLED_BACK:      # it makes no difference which is which
            sent = [rows for rows, part in ((kept, 'changes'), (lost, 'rolled_back')) if how[part] != 'none']
            right = agrees(shown[False] + shown[True], sum(sent, collections.Counter()), (
                'some' if 'some' in how.values() else 'all' if sent else 'none'))
        else:
            right = agrees(shown[False], kept, how['changes']) and agrees(shown[True], lost, how['rolled_back'])
        if not right:
            raise Wrong(f'{shown} is over SQL {line}')
    return len(lines)


def compare_ends(answers, pairs):
    """Outcome and number of changes are those of the SQL. Returns how many numbers."""
    done = 0
    for item, message in pairs:
        if xid := one_of(message, 'pgrepl.txn.xid'):
            line = transactions.lines(answers)[int(xid)]
            outcome = one_of(message, 'pgrepl.txn.outcome')
            if outcome not in (line['outcome'], PART_ROLLED_BACK):
                raise Wrong(f'the outcome is {line["outcome"]} in {message}')
            if (changes := one_of(message, 'pgrepl.txn.changes')) is not None:
                done += 1
                wanted = sum(n for (_, kind), n in transactions.counted(line['changes']).items() if kind != 'truncate')
                if int(changes) != wanted:
                    raise Wrong(f'there are {wanted} changes in {message}')
    return done


def compare_decoding_messages(answers, pairs):
    """Those of pg_logical_emit_message are in their transactions or in none. Returns how many."""
    lines = {(m['prefix'], m['content']): m['xid'] for a in answers if (m := a.get('message'))}
    done = 0
    for item, message in pairs:
        if item.kind == 'M':
            content = ''.join(f.value for f in message.fields if f.name == 'pgrepl.decoding_message.content')
            xid = lines[one_of(message, 'pgrepl.decoding_message.prefix'), bytes.fromhex(content).decode()]
            if one_of(message, 'pgrepl.txn.xid') != (str(xid) if xid else None):
                raise Wrong(f'it is in transaction {xid}: {message}')
            done += 1
    return done


def top(answer):
    """The top-level xid of a change that SQL gave: some have none, though SQL may name the one that wrote it."""
    data = bytes.fromhex(answer['data_hex'])
    if data[:1] == b'A':                # here SQL names the subtransaction
        return unsigned(data, 1, 4)
    return answer['xid'] or None


def compare_xids(answers, pairs):
    """Each message shows the transaction that SQL names for the same message. Returns how many."""
    done = 0
    for rule in answers[0]['compare'] if pgoutput(answers) else ():
        rolled_back = rule.get('rolled_back', ())
        left = [a for a in answers if a.get('slot') == rule['slot'] and 'data_hex' in a and a['xid'] not in rolled_back]
        for item, message in pairs:
            at = unsigned(item.body, 1)
            if item.stream.slot == rule['slot'] and item.kind and left and left[0]['data_hex'] == item.data.hex() and (
                    at in (0, number(left[0]['lsn']))):
                xid = None if item.kind == 'M' and not item.transaction else top(left[0])
                if one_of(message, 'pgrepl.txn.xid') != (str(xid) if xid else None):
                    raise Wrong(f'the transaction is {xid} and not that of {message}')
                del left[0]
                done += 1
        if left and rule['how'] != 'prefix':
            raise Wrong(f'not shown: {left[0]}')
    return done


def compare_lags(answers, pairs):
    """To the byte what the server saw when it had got the status update. Returns how many."""
    updates = [message for item, message in pairs if item.letter == 'r' and item.way[1] == CLIENT]
    lines = [a['lag'] for a in answers if 'lag' in a]
    for line in lines:
        message = updates[line['status'] - 1]
        for name, theirs in zip(LAGS, ('write_lsn', 'flush_lsn', 'replay_lsn'), strict=True):
            wanted = number(line['sent_lsn']) - number(line[theirs]) if line[theirs] else None
            if value(message, name) != wanted:
                raise Wrong(f'{name} is {wanted} in {message}')
    return len(lines)


# --- the captures -------------------------------------------------------------------------------------------

def shown(wireshark, capture, answers, two_pass):
    items = transactions.read(capture.content, pgoutput(answers))
    return items, pair(wireshark.pdml(capture, two_pass=two_pass).frames(), pcap.endpoints(capture.content), items)


def is_ours(answers):
    """Its transactions are those of pgoutput, and nothing of it is encrypted."""
    return is_readable(answers) and answers[0]['about'].get('plugin') != 'test_decoding'


OURS = pytest.mark.captures(*recorded(is_ours))


@OURS
def test_two_passes(wireshark, capture, answers):
    items, pairs = shown(wireshark, capture, answers, two_pass=True)
    done = compare(pairs, afterwards)
    assert done['pgrepl.txn.xid'] == sum(item.transaction is not None for item in items)
    assert (compare_xids(answers, pairs) > 0) == (pgoutput(answers) and bool(answers[0]['compare']))


@OURS
def test_one_pass(wireshark, capture, answers):
    items, pairs = shown(wireshark, capture, answers, two_pass=False)
    done = compare(pairs, meanwhile(items))
    assert done['pgrepl.txn.xid'] == sum(item.transaction is not None for item in items)


@pytest.mark.captures(*RECORDED)
def test_sql(wireshark, capture, answers):
    _, pairs = shown(wireshark, capture, answers, two_pass=True)
    assert compare_rows(answers, pairs)
    assert compare_ends(answers, pairs)
    messages = sum('message' in a for a in answers) if answers[0]['about']['options'].get('messages') else 0
    assert compare_decoding_messages(answers, pairs) == messages


@pytest.mark.captures(*SLOW)
def test_lags(wireshark, capture, answers):
    _, pairs = shown(wireshark, capture, answers, two_pass=False)
    assert compare_lags(answers, pairs) == 8


# --- the comparison can fail --------------------------------------------------------------------------------

def u32(*numbers):
    return b''.join(n.to_bytes(4, 'big') for n in numbers)


def u64(*numbers):
    return b''.join(n.to_bytes(8, 'big') for n in numbers)


def data(payload, lsn=0, sent=1_000_900):
    return postgres.xlog_data(lsn, sent, payload)


def stream_start(xid, first):
    return data(b'S' + u32(xid) + bytes([first]))


def insert(*xids):
    return data(b'I' + u32(*xids, 16) + b'N\0\0')


def status(*positions):
    return postgres.message(b'd', b'r' + u64(*positions, 0) + b'\0')


def relation(*xids):
    return data(b'R' + u32(*xids, 16) + b's\0t\0d\0\0')


STOP = data(b'E')
OPTIONS = """proto_version '2', publication_names '"p"', streaming 'on', messages 'on'"""
TALK = [                                # in frames 8 and following, a millisecond each
    stream_start(7, 1) + relation(7) + insert(7) + STOP,
    stream_start(8, 1) + relation(8) + insert(8) + STOP,
    stream_start(7, 0) + insert(9) + insert(9) + data(b'T' + u32(7, 1) + b'\0' + u32(16)) + STOP,      # 10
    data(b'A' + u32(7, 9)),
    data(b'B' + u64(0x500, 0) + u32(5)) + data(b'O' + u64(1) + b'far\0') + relation() + insert() + (
        data(b'C\0' + u64(0x500, 0x540, 1_000_000), 0x540)),
    (CLIENT, status(0x540, 0x53f, 0)),
    postgres.keepalive(0x600, 0),
    data(b'c' + u32(7) + b'\0' + u64(0x700, 0x740, 1_000_000), 0x740),                                 # 15
    data(b'p\0' + u64(0x740, 0x780, 1_000_000) + u32(8) + b'gid\0', 0x780, 999_000),
    (CLIENT, status(0x7f0, 0x740, 0x740)),
    data(b'M\0' + u64(0x800) + b'app\0' + u32(2) + b'hi', 0x800),
    data(b'K\0' + u64(0x800, 0x840, 1_000_000) + u32(8) + b'gid\0', 0x840),
    stream_start(10, 1) + relation(10) + insert(10) + STOP + data(b'A' + u32(10, 10), 0x880),          # 20
    (CLIENT, status(0x880, 0x880, 0x800)),
]
# What the messages that end or prepare something show, in the order of NAMES; counted by hand.
ENDS = {
    'C': (5, 12, None, 12, 'committed', 1, 21 + 13 + 12 + 8 + 26, '0', None, 17, '0.005'),
    'c': (7, 8, None, 15, 'committed', 1, 35 + 45 + 9 + 30, '0.007', '0.0009', 17, '0.002'),
    'p': (8, 9, 16, 19, 'committed', 1, 35 + 34, '0.007', '-0.001', 21, '0.005'),
    'K': (8, 9, 16, 19, 'committed', None, None, None, '0.0009', 21, '0.002'),
}
SQL = [
    {'about': {'plugin': 'pgoutput'}, 'compare': [{'slot': 's', 'how': 'subset'}]},
    *({'transaction': {
        'xid': xid, 'outcome': outcome, 'gid': gid, 'changes': {'s.t': changes}, 'rolled_back': {'s.t': lost},
        'wire': {'changes': 'all', 'rolled_back': 'some' if lost else 'none'}}}
      for xid, outcome, gid, changes, lost in (
          (5, 'committed', None, {'insert': 1}, {}), (7, 'committed', None, {'insert': 1, 'truncate': 1}, {'insert': 5}),
          (8, 'committed', 'gid', {'insert': 1}, {}), (10, 'rolled back', None, {'insert': 1}, {}))),
    {'slot': 's', 'lsn': '0/1', 'xid': 7, 'data_hex': '45'},
    {'slot': 's', 'lsn': '0/2', 'xid': 9, 'data_hex': '410000000700000009'},
    {'message': {'prefix': 'app', 'content': 'hi', 'transactional': False, 'xid': None}},
    {'lag': {'status': 1, 'sent_lsn': '0/540', 'write_lsn': '0/540', 'flush_lsn': '0/53F', 'replay_lsn': None}},
    {'lag': {'status': 3, 'sent_lsn': '0/880', 'write_lsn': '0/880', 'flush_lsn': '0/880', 'replay_lsn': '0/800'}},
]


def compare_all(pairs):
    compare(pairs, afterwards)
    return [what(SQL, pairs) for what in (
        compare_rows, compare_ends, compare_decoding_messages, compare_xids, compare_lags)]


def test_made_up_stream(wireshark, save):
    capture = postgres.logical_stream(TALK, OPTIONS)
    path, items = save(capture), transactions.read(capture)
    for two_pass, known in ((True, afterwards), (False, meanwhile(items))):
        pairs = pair(wireshark.pdml(path, two_pass=two_pass).frames(), pcap.endpoints(capture), items)
        compare(pairs, known)
    assert compare_lags(SQL, pairs) == 2


def made_up():
    """The frames that a right reader would show."""
    capture = postgres.logical_stream(TALK, OPTIONS)
    frames, items = {}, transactions.read(capture)
    for item in items:
        m = Message(0, 0)

        def put(name, show, value=b'', m=m):
            m.fields.append(Field(f'pgrepl.{name}', 0, len(value), show, value.hex(), '', 0, False))

        put('copydata.type', '', item.letter.encode())
        if item.kind in tuple(KINDS):
            put('table', 's.t')
        if item.kind == 'M':
            put('decoding_message.prefix', 'app')
            put('decoding_message.content', '', b'hi')
        for name, values in transactions.expected(item).items():
            for value in (values & {PART_ROLLED_BACK} or values) - {None}:
                put(name.removeprefix('pgrepl.'), f'{value:f}' if isinstance(value, Decimal) else str(value))
        frame = frames.setdefault(item.frame, Frame())
        frame.number = item.frame
        frame.messages.append(m)
    return list(frames.values()), pcap.endpoints(capture), items


def test_made_up():
    frames, endpoints, items = made_up()
    assert compare_all(pair(frames, endpoints, items)) == [4, 3, 1, 2, 2]
    for item in items:
        if item.kind in ENDS:
            by_hand = [Decimal(x) if isinstance(x, str) and x[-1].isdigit() else x for x in ENDS[item.kind]]
            assert transactions.expected(item) == {
                name: {x} for name, x in zip(NAMES, by_hand + [None] * len(LAGS), strict=True)}
    assert [one_of(m, 'pgrepl.txn.outcome') for frame in frames for m in frame.messages if all_of(m, 'pgrepl.table')] == [
        'committed', 'committed', PART_ROLLED_BACK, PART_ROLLED_BACK, 'committed', 'committed', 'rolled back']


@pytest.mark.parametrize('change', ['missing', 'wrong', 'more'])
@pytest.mark.parametrize('name', NAMES)
def test_a_wrong_field_shows(name, change):
    frames, endpoints, items = made_up()
    with_it = [m for frame in frames for m in frame.messages if bool(all_of(m, name)) == (change != 'more')]
    assert with_it
    for message in with_it:
        before = message.fields
        rest = [f for f in before if f.name != name]
        wrong = [Field(name, 0, 0, 'prepared' if name in TEXTS else '12345', '', '', 0, False)]
        message.fields = rest if change == 'missing' else rest + wrong
        with pytest.raises(Wrong):
            compare(pair(frames, endpoints, items), afterwards)
        message.fields = before
    compare(pair(frames, endpoints, items), afterwards)


def changed(lines, kind, **what):
    return [{kind: dict(line[kind], **what)} if kind in line else line for line in lines]


@pytest.mark.parametrize('answers, compared', [
    (changed(SQL, 'transaction', changes={'s.t': {'insert': 2}}), compare_rows),
    (changed(SQL, 'transaction', rolled_back={'s.t': {'insert': 1}}), compare_rows),
    (changed(SQL, 'transaction', rolled_back={'s.u': {'insert': 5}}), compare_rows),
    (changed(SQL, 'transaction', wire={'changes': 'none', 'rolled_back': 'some'}), compare_rows),
    (changed(SQL, 'transaction', xid=7), compare_rows),
    (changed(SQL, 'transaction', outcome='prepared'), compare_ends),
    (changed(SQL, 'transaction', changes={'s.t': {'update': 2}}), compare_ends),
    (changed(SQL, 'message', xid=7), compare_decoding_messages),
    (changed(SQL, 'lag', sent_lsn='0/541'), compare_lags),
    (changed(SQL, 'lag', replay_lsn='0/1'), compare_lags),
    (SQL + [{'slot': 's', 'lsn': '0/3', 'xid': 7, 'data_hex': '45ff'}], compare_xids),
    ([dict(line, xid=8) if line.get('data_hex') == '45' else line for line in SQL], compare_xids),
])
def test_other_sql_shows(answers, compared):
    with pytest.raises(Wrong):
        compared(answers, pair(*made_up()))


@pytest.mark.parametrize('how', ['fewer', 'more', 'order', 'elsewhere', 'outside'])
def test_other_messages_show(how):
    frames, endpoints, items = made_up()
    messages = frames[0].messages
    if how == 'outside':
        frames[0].messages = messages + [Message(0, 0)]
        frames[0].messages[-1].fields = [f for f in messages[0].fields if f.name in NAMES]
    elif how == 'elsewhere':
        frames[0].number = 9
    else:
        frames[5].messages = {'fewer': [], 'more': frames[5].messages * 2, 'order': frames[0].messages}[how]
    with pytest.raises(Wrong):
        pair(frames, endpoints, items)


def test_one_pass_knows_less():
    """What comes later is nothing to one pass, what came before is."""
    frames, endpoints, items = made_up()
    with pytest.raises(Wrong, match='frame'):
        compare(pair(frames, endpoints, items), meanwhile(items))
    for item in items:
        early = transactions.expected(item, item.index)
        assert early['pgrepl.txn.begin_frame'] == transactions.expected(item)['pgrepl.txn.begin_frame']
        assert early['pgrepl.ack.frame'] == {None}
        last = item.kind in ('C', 'c', 'K') or item.kind == 'A' and item.own == item.transaction.xid
        assert (early['pgrepl.txn.end_frame'] != {None}) == last


def test_totals():
    assert transactions.totals(SQL) == {'s.t': {'insert': 3, 'truncate': 1}}
    assert transactions.totals(SQL, ['rolled back']) == {'s.t': {'insert': 1}}
