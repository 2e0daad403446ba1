"""What somebody could do to break it: texts of other plugins, odd commands, connections that only look like replication."""
import struct

import pytest

import pcap
import postgres
from pcap import CLIENT, SERVER
from pdml import packets
from test_broken_transactions import NOW, OPENING, BOTH, begin, commit, data, u32


def query(text):
    return postgres.message(b'Q', text + b'\0')


def answer(tag):
    return postgres.message(b'C', tag + b'\0') + postgres.message(b'Z', b'I')


def segments(stream, size=60_000):
    return [stream[i:i + size] for i in range(0, len(stream), size)]


def values(run, name):
    return [f.show for frame in run.frames() for m in frame.messages for f in m.fields if f.name == name]


# --- other plugins ------------------------------------------------------------------------------------------

ROW = (b'{"kind":"insert","schema":"public","table":"orders","columnnames":["id","name","amount"],'
       b'"columntypes":["integer","text","numeric"],"columnvalues":[1,"x",1.5]}')


def objects(rows):
    """A transaction as format version 1 of wal2json gives it."""
    return b'{"xid":%d,"change":[' % rows + b','.join([ROW] * rows) + b']}'


@pytest.mark.parametrize('two_pass', [False, True])
@pytest.mark.parametrize('large', [
    objects(5_000), b'{"a":[' + b'1,' * 400_000 + b'1]}', b'{' + b'"k":1,' * 70_000 + b'"k":1}', b'{"a":' * 200_000, b'{"a":[' + b'[' * 500_000,
    b'{"a":"' + b'x' * 1_000_000], ids=['transaction', 'array', 'object', 'objects', 'arrays', 'text'])
def test_large_json(wireshark, save, large, two_pass):
    """What the JSON dissector would give up is not handed on; all that comes behind it in the frame is there."""
    path = save(postgres.logical_stream(segments(b''.join(map(data, [objects(2), large, objects(3), objects(4)]))), '"include-xids" \'1\''))
    run = wireshark.pdml(path, two_pass=two_pass)
    assert not any(frame.malformed for frame in run.frames())
    assert [xid for xid in values(run, 'pgrepl.txn.xid') if xid != '5000'] == ['2', '3', '4']
    assert len(values(run, 'pgrepl.data')) + len(values(run, 'pgrepl.data.text')) >= 4


@pytest.mark.parametrize('two_pass', [False, True])
def test_much_small_json_in_a_frame(wireshark, save, two_pass):
    """Many values all in all; the first are taken apart."""
    path = save(postgres.logical_stream([b''.join(data(b'{"xid":%d,"change":[%s1]}' % (n, b'1,' * 150)) for n in range(1, 141))], '"include-xids" \'1\''))
    run = wireshark.pdml(path, two_pass=two_pass)
    assert not any(frame.malformed for frame in run.frames())
    assert values(run, 'pgrepl.txn.xid') == [str(n) for n in range(1, 141)]
    notes = [e.message for frame in run.frames() for e in frame.experts if e.ours]
    assert 0 < len([words for words in notes if 'JSON' in words]) < 140
