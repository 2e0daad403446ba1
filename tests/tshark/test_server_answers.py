"""What is shown is what the server itself said over SQL: tests/captures/README.md has the form of the answers."""
import re

import pytest

import pcap
import postgres
from documented import DOCUMENTED
from pdml import Field, Message, connections

HEADER = 25                             # of XLogData
BUILTIN = 10000                         # type OIDs below have no Type message: the wire leaves nothing open


class Wrong(Exception):
    """What is shown is not what the server said."""


def all_of(message, name):
    return [f.show for f in message.fields if f.name == name]


def one_of(message, name):
    """The value of a field that is there once or not at all."""
    values = all_of(message, name)
    if len(values) > 1:
        raise Wrong(f'{name} more than once in {message}')
    return values[0] if values else None


def payload(message):
    """The bytes behind the header of XLogData, out of the documented fields."""
    return bytes.fromhex(''.join(f.value for f in message.fields
                                 if f.name in DOCUMENTED and f.size and f.pos - message.pos >= HEADER))


def by_letter(message):
    """The letter of the CopyData message, '' if it is something else."""
    first = [f for f in message.fields if f.name == 'pgrepl.copydata.type']
    return bytes.fromhex(first[0].value).decode('latin-1') if first else ''


START = re.compile(r'START_REPLICATION\s+(?:SLOT\s+(?P<slot>"[^"]+"|\w+)\s+)?(?P<mode>LOGICAL|PHYSICAL)?\s*[0-9A-F]+/[0-9A-F]+'
                   r'(?:\s+TIMELINE\s+(?P<timeline>\d+))?')


def starts(capture, answers):
    """{connection: [(frame, {slot, mode, timeline})]}, from the commands in the packets themselves; of those in TLS the
    answers tell."""
    found = {}
    slots = {a['encrypted']['client_port']: a['encrypted']['slot'] for a in answers if 'encrypted' in a}
    for ends in {end[0] for end in pcap.endpoints(capture) if end is not None}:
        if ends[0][1] in slots:
            found[ends] = [(0, {'slot': slots[ends[0][1]], 'mode': 'logical', 'timeline': None})]
    for message in postgres.messages(capture)[0]:
        start = START.match(message.body.decode('utf-8', 'replace')) if message.kind == 'Q' else None
        if start:
            what = {'slot': (start['slot'] or '').strip('"'), 'mode': (start['mode'] or 'PHYSICAL').lower(), 'timeline': start['timeline']}
            found.setdefault(message.ends, []).append((message.frame, what))
    return found


class Shown:
    """The messages of a capture, each with the START_REPLICATION in force."""

    def __init__(self, frames, endpoints, starts):
        self.ways = connections(frames, endpoints)
        self.starts = {}                # by message
        for frame in frames:
            before = [what for number, what in starts.get(endpoints[frame.number - 1][0], ()) if number <= frame.number]
            self.starts.update((id(m), before[-1]) for m in frame.messages if before)

    def start(self, message, field):
        return self.starts.get(id(message), {}).get(field)

    def every(self, letter, direction):
        return [m for way, messages in self.ways.items() if way[1] == direction
                for m in messages if by_letter(m) == letter]


# --- messages -----------------------------------------------------------------------------------------------

def matches(message, answer):
    """A walsender writes position 0 for all but the last message of a group, SQL knows them all."""
    at = one_of(message, 'pgrepl.wal_start')
    return payload(message).hex() == answer['data_hex'] and at in ('0/0', answer['lsn'])


def may_be_more(message, how):
    return how == 'subset' or how == 'relations' and payload(message)[:1] in (b'R', b'Y')


def compare_messages(rule, answers, shown):
    """Returns how many messages are as they should be."""
    slot, how = rule['slot'], rule['how']
    rolled_back = rule.get('rolled_back', ())
    wanted = [a for a in answers if a.get('slot') == slot and 'data_hex' in a and a['xid'] not in rolled_back]
    found = [m for m in shown.every('w', pcap.SERVER) if shown.start(m, 'slot') == slot]
    if not wanted or not found:
        raise Wrong(f'slot {slot}: {len(found)} messages, {len(wanted)} answers')
    at = 0
    for message in found:
        if at < len(wanted) and matches(message, wanted[at]):
            at += 1
        elif not may_be_more(message, how):
            raise Wrong(f'slot {slot}: {message} is not answer {at}: {wanted[at:at + 1]}')
    if at < len(wanted) and how != 'prefix':
        raise Wrong(f'slot {slot}: answer {at} is not shown: {wanted[at]}')
    return at


# --- tables -------------------------------------------------------------------------------------------------

def relation(message):
    """(name, replica identity, [(column, type, modifier)]) of a Relation message."""
    names = one_of(message, 'pgrepl.relation.namespace') or 'pg_catalog', one_of(message, 'pgrepl.relation.name')
    identity = [f.value for f in message.fields if f.name == 'pgrepl.relation.replica_identity']
    columns = zip(*(all_of(message, f'pgrepl.column.{x}') for x in ('name', 'type_oid', 'type_modifier')))
    return '.'.join(names), bytes.fromhex(*identity).decode(), [(c, int(oid), int(mod)) for c, oid, mod in columns]


def compare_tables(answers, shown):
    """Relations are as in the catalog in the end; names in rows are those of the last Relation message, types are
    written as the catalog writes them. Returns the numbers of relations and of values."""
    tables = [a for a in answers if 'table' in a]
    columns_of = {str(a['oid']): [(c['name'], c['type_oid'], c['typmod']) for c in a['columns']] for a in tables}
    types = {(a['table'], c['name'], c['type_oid'], c['typmod']): c['format_type']
             for a in tables for c in a['columns']}
    last, compared = {}, 0
    for messages in shown.ways.values():
        relations = {}                  # by OID
        for m in messages:
            if all_of(m, 'pgrepl.relation.name'):
                oid = one_of(m, 'pgrepl.relation.oid')
                relations[oid] = last[oid] = relation(m)
            elif kinds := all_of(m, 'pgrepl.value.kind'):
                name, _, columns = relations[one_of(m, 'pgrepl.relation.oid')]
                if one_of(m, 'pgrepl.table') != name:
                    raise Wrong(f'the table is {name} in {m}')
                columns = columns * (len(kinds) // len(columns))        # an Update may hold two rows
                if all_of(m, 'pgrepl.value.column') != [column for column, *_ in columns]:
                    raise Wrong(f'the columns are {columns} in {m}')
                for (column, oid, modifier), written in zip(columns, all_of(m, 'pgrepl.value.type'), strict=True):
                    known = types.get((name, column, oid, modifier))
                    if known and oid < BUILTIN:
                        compared += 1
                        if written != known:
                            raise Wrong(f'the type of {name}.{column} is {known} and not {written}')
    for a in tables:
        if found := last.get(str(a['oid'])):
            name, identity, columns = found
            known = [c for c in columns_of[str(a['oid'])] if c in columns]      # a publication may leave columns out
            if (name, identity, columns) != (a['table'], a['replica_identity'], known):
                raise Wrong(f'{found} is in the catalog as {a}')
    return sum(str(a['oid']) in last for a in tables), compared


# --- positions and WAL --------------------------------------------------------------------------------------

def compare_positions(answers, shown):
    """What pg_stat_replication knew, a status update had told, in the same words."""
    fields = [('write_lsn', 'write'), ('flush_lsn', 'flush'), ('replay_lsn', 'apply')]
    told = {tuple(one_of(m, f'pgrepl.standby.{ours}_lsn') for _, ours in fields) for m in shown.every('r', pcap.CLIENT)}
    rows = [tuple(row[theirs] or '0/0' for theirs, _ in fields) for a in answers for row in a.get('replication', ())]
    rows = [row for row in rows if any(lsn != '0/0' for lsn in row)]
    for row in rows:
        if row not in told:
            raise Wrong(f'no status update shows {row}')
    return len(rows)


def number(lsn):
    high, low = lsn.split('/')
    return int(high, 16) << 32 | int(low, 16)


def compare_wal(answers, shown):
    pieces = [(w['timeline'], number(w['from']), bytes.fromhex(w['data_hex'])) for a in answers if (w := a.get('wal'))]
    compared = 0
    for m in shown.every('w', pcap.SERVER) if pieces else ():
        if shown.start(m, 'mode') == 'physical':
            timeline, data = int(shown.start(m, 'timeline') or 1), payload(m)
            for wal_timeline, first, wal in pieces:
                at = number(one_of(m, 'pgrepl.wal_start')) - first
                if wal_timeline == timeline and at >= 0 and wal[at:at + len(data)] == data:
                    compared += len(data)
                    break
            else:
                raise Wrong(f'not in the WAL: {m}')
    if pieces and not compared:
        raise Wrong('no WAL is shown')
    return compared


def compare(answers, shown):
    """Everything. Returns how much of each was compared."""
    plugin = answers[0]['about'].get('plugin')
    relations, values = compare_tables(answers, shown) if plugin == 'pgoutput' else (0, 0)
    return {
        'messages': sum(compare_messages(rule, answers, shown) for rule in answers[0]['compare']),
        'relations': relations,
        'values': values,
        'positions': compare_positions(answers, shown),
        'wal': compare_wal(answers, shown),
    }


def test_answers(wireshark, capture, answers):
    shown = Shown(wireshark.pdml(capture, two_pass=True).frames(), pcap.endpoints(capture.content),
                  starts(capture.content, answers))
    done = compare(answers, shown)
    wanted = [f'{kind}: nothing' for kind, line in (('messages', 'counts'), ('relations', 'table'))
              if any(line in a for a in answers) and not done[kind] and answers[0]['about'].get('plugin') == 'pgoutput']
    assert not wanted, done


# --- the comparison can fail --------------------------------------------------------------------------------

def made_up():
    """A Relation, a row and a status update, and the answers that fit."""
    def message(*fields):
        m = Message(100, 0)
        at = 100
        for name, value, show in fields:
            m.fields.append(Field(f'pgrepl.{name}', at, len(value) // 2, show, value, '', 0, False))
            at += len(value) // 2
        return m

    def data(lsn, *fields):
        return message(('copydata.type', '77', "'w'"), ('wal_start', f'{lsn:016x}', f'0/{lsn:X}'),
                       ('wal_end', f'{lsn:016x}', f'0/{lsn:X}'), ('send_time', '00' * 8, 'now'),
                       *fields)

    table = data(0, ('message.type', '52', "'R'"), ('relation.oid', '00000010', '16'),
                 ('relation.namespace', '7300', 's'),
                 ('relation.name', '7400', 't'), ('relation.replica_identity', '64', "'d'"),
                 ('column.name', '6100', 'a'), ('column.type_oid', '00000017', '23'),
                 ('column.type_modifier', 'ffffffff', '-1'))
    row = data(0x1a0, ('message.type', '49', "'I'"), ('relation.oid', '00000010', '16'), ('table', '', 's.t'),
               ('value.kind', '74', "'t'"), ('value.column', '', 'a'), ('value.type', '', 'integer'))
    update = message(('copydata.type', '72', "'r'"), *((f'standby.{x}_lsn', '', lsn) for x, lsn in
                                                      (('write', '1/B0'), ('flush', '1/A0'), ('apply', '0/0'))))
    shown = Shown([], [], {})
    shown.starts = {id(m): {'mode': 'logical', 'slot': 'sl'} for m in (table, row, update)}
    shown.ways = {('c', pcap.SERVER): [table, row], ('c', pcap.CLIENT): [update]}
    answers = [
        {'about': {'plugin': 'pgoutput'}, 'compare': [{'slot': 'sl', 'how': 'exact'}]},
        *({'slot': 'sl', 'lsn': '0/1A0', 'xid': 7, 'data_hex': payload(m).hex()} for m in (table, row)),
        {'table': 's.t', 'oid': 16, 'replica_identity': 'd',
         'columns': [{'name': 'a', 'type_oid': 23, 'typmod': -1, 'format_type': 'integer'}]},
        {'replication': [{'write_lsn': '1/B0', 'flush_lsn': '1/A0', 'replay_lsn': None}]},
    ]
    return answers, shown


def test_made_up():
    assert compare(*made_up()) == {'messages': 2, 'relations': 1, 'values': 1, 'positions': 1, 'wal': 0}


@pytest.mark.parametrize('name, show', [
    ('wal_start', '0/1A1'), ('table', 's.u'), ('value.column', 'b'), ('value.type', 'int4'),
    ('relation.name', 'u'), ('relation.replica_identity', None),
    ('standby.flush_lsn', '0/1000000A0'), ('message.type', None)])
def test_a_wrong_field_shows(name, show):
    answers, shown = made_up()
    for messages in shown.ways.values():
        for m in messages:
            m.fields = [f._replace(show=show, value=f.value if show else '00') if f.name == f'pgrepl.{name}' else f
                        for f in m.fields]
    with pytest.raises(Wrong):
        compare(answers, shown)


@pytest.mark.parametrize('how', ['missing', 'more', 'order'])
def test_wrong_messages_show(how):
    answers, shown = made_up()
    messages = shown.ways['c', pcap.SERVER]
    messages[:] = {'missing': messages[:1], 'more': messages + messages[1:], 'order': messages[::-1]}[how]
    with pytest.raises((Wrong, KeyError)):
        compare(answers, shown)
