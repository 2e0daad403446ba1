"""Tables, columns, types and values by name, in filters and columns as people use them."""
import struct

import pytest

import postgres
from conftest import captures, name_of

ORDER_42 = 'pgrepl.table == "public.orders" && pgrepl.cell == "id=42"'


# --- the bytes themselves -----------------------------------------------------------------------------------

def rows(body):
    """[(kind, [text or None])] of the rows in a text-mode Insert, Update or Delete (without xid)."""
    found, at = [], 5
    while at < len(body):
        kind, count = chr(body[at]), struct.unpack_from('>H', body, at + 1)[0]
        at, values = at + 3, []
        for _ in range(count):
            letter, at = body[at:at + 1], at + 1
            if letter == b't':
                length = struct.unpack_from('>i', body, at)[0]
                values.append(body[at + 4:at + 4 + length].decode())
                at += 4 + length
            else:
                values.append(None)
        found.append((kind, values))
    return found


def changes(capture):
    """(frame, tag, OID, rows) of all changes."""
    for message in postgres.messages(capture.content)[0]:
        payload = message.body[25:]
        if message.mode == 'W' and message.kind == 'd' and message.body[:1] == b'w' and payload[:1] in (b'I', b'U', b'D'):
            yield message.frame, payload[:1], struct.unpack_from('>I', payload, 1)[0], rows(payload)


def lines(wireshark, capture, display_filter, *fields, two_pass=False):
    wanted = [word for field in fields for word in ('-e', field)]
    text = wireshark.tshark(capture, '-Y', display_filter, '-T', 'fields', *wanted, two_pass=two_pass).text()
    return [line.split('\t') for line in text.splitlines()]


# --- filters ------------------------------------------------------------------------------------------------

@pytest.mark.captures('pg18_find_order')
@pytest.mark.parametrize('two_pass', [False, True], ids=['one-pass', 'two-pass'])
def test_order_42(wireshark, capture, answers, two_pass):
    oid = next(a['oid'] for a in answers if a.get('table') == 'public.orders')
    wanted = [frame for frame, _, relation, found in changes(capture)
              if relation == oid and any(values[0] == '42' for _, values in found)]
    assert len(wanted) == 4, 'Insert, two Updates, and the one that gives it another key'
    found = lines(wireshark, capture, ORDER_42, 'frame.number', two_pass=two_pass)
    # One frame may hold several changes.
    assert [int(frame) for frame, in found] == sorted(set(wanted))


@pytest.mark.captures('pg18_find_order')
def test_rows_for_a_ticket(wireshark, capture):
    found = [tuple(row) for row in lines(wireshark, capture, 'pgrepl.cell', 'pgrepl.table', 'pgrepl.cell')]
    text = '\n'.join('\t'.join(row) for row in found)
    for row in [('public.orders', 'id=42,total=19.90,note=NULL'), ('public.orders', 'id=142,total=42.00,note=id=42'),
                ('public.invoices', 'id=42,order_id=41,total=9.90,id=42,order_id=41,total=0.00'),
                ('public.orders', 'id=42,total=21.50,note='), ('public.orders', 'id=42,id=420,total=21.50,note='),
                ('public.orders', 'id=41')]:
        assert any(row[0] == a and row[1] in b for a, b in found), f'{row} is not in\n{text}'


# --- text and binary of the same values ---------------------------------------------------------------------

def values(wireshark, capture, field):
    """[(table, column, type, value or None)] of all values, by the group that holds each."""
    found = []
    for frame in wireshark.pdml(capture, two_pass=True).frames():
        for message in frame.messages:
            table, last = None, None
            for f in message.fields:
                if f.name == 'pgrepl.table':
                    table = f.show
                elif f.name == 'pgrepl.value.kind':
                    last = [table, None, None, None, bytes.fromhex(f.value).decode()]
                    found.append(last)
                elif f.name == 'pgrepl.value.column':
                    last[1] = f.show
                elif f.name == 'pgrepl.value.type':
                    last[2] = f.show
                elif f.name in (field, 'pgrepl.value.text'):
                    last[3] = f.show
    return found


@pytest.mark.parametrize('server', [15, 18])
@pytest.mark.captures('pg15_values_binary')
def test_binary_equals_text(wireshark, capture, server, scratch):
    del capture
    shown = []
    for form in ('text', 'binary'):
        path = next(path for path in captures() if name_of(path) == f'pg{server}_values_{form}')
        copy = scratch.path / path.name
        copy.write_bytes(path.read_bytes())
        scratch.give(copy)
        shown.append(values(wireshark, copy, 'pgrepl.value.decoded'))
    text, binary = shown
    assert [v[:3] for v in text] == [v[:3] for v in binary]
    compared, different = 0, []
    for a, b in zip(text, binary):
        if b[4] != 'b':
            continue
        if (a[3] or '') == (b[3] or ''):
            compared += 1
        elif not is_known(a, b):
            different.append((a, b))
    assert not different, f'{len(different)} differ, such as {different[:5]}'
    assert compared >= 2000


def is_known(text, binary):
    """Whether the wire does not say what the text does: an OID for a name, no currency, no subtype of a user's range; or
    the text is longer than pgrepl.value.decoded can be."""
    kind = text[2]
    base = kind.split(' (domain')[0].removesuffix('[]')
    undecoded = binary[3] is None and base.startswith('public.')
    return base.startswith(('money', 'reg')) or '(lc_monetary' in (binary[3] or '') or undecoded or len(text[3] or '') > 8000


# --- encodings ----------------------------------------------------------------------------------------------

ENCODED = {
    'pg16_latin1_client': ['public.täble', 'größe=grüße', 'größe=ÿ and ¡', 'größe=ça va'],
    'pg16_sjis_client': ['public.注文', '品名=表示ソフト能力', 'ｶﾅ=ｱｲｳ', '品名=\\ ~ and ascii', 'ｶﾅ=NULL', '品名=十'],
    'pg16_euc_jp_client': ['public.注文', '品名=表示ソフト能力', 'ｶﾅ=ｱｲｳ', '品名=\\ ~ and ascii', 'ｶﾅ=NULL', '品名=十'],
    'pg16_win1252_client': ['public.prix_€', 'montant_€=€ 5 – “œuvre” …', 'montant_€=Š Ž š ž Ÿ', 'montant_€=ça coûte 10 €'],
    'pg16_sql_ascii_database': ['public.bytes', 'größe=grüße', 'größe=gr\\xfc\\xdfe', 'größe=\\xff'],
}


@pytest.mark.captures(*ENCODED)
def test_encoding(wireshark, capture):
    shown = {f.show for frame in wireshark.pdml(capture).frames() for m in frame.messages
             for f in m.fields if f.name in ('pgrepl.table', 'pgrepl.cell')}
    missing = [text for text in ENCODED[name_of(capture.source)] if text not in shown]
    assert not missing, f'{missing} not among {sorted(shown)}'
