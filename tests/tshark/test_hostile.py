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


# --- commands -----------------------------------------------------------------------------------------------

START = b"START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '1', publication_names 'p')"
TRANSACTION = begin(7, 0x100) + commit(0x100)


@pytest.mark.parametrize('two_pass', [False, True])
def test_a_dropped_slot_is_forgotten(wireshark, save, two_pass):
    """Another one of that name may have another plugin, and SQL that creates it tells nothing."""
    path = save(pcap.conversation([
        *OPENING, (CLIENT, query(b'CREATE_REPLICATION_SLOT s LOGICAL test_decoding')), (SERVER, answer(b'CREATE_REPLICATION_SLOT')),
        (CLIENT, query(b'DROP_REPLICATION_SLOT s')), (SERVER, answer(b'DROP_REPLICATION_SLOT')),
        (CLIENT, query(b"SELECT pg_create_logical_replication_slot('s', 'pgoutput')")), (SERVER, answer(b'SELECT 1')),
        (CLIENT, query(START)), (SERVER, BOTH), (SERVER, TRANSACTION)]))
    assert values(wireshark.pdml(path, two_pass=two_pass), 'pgrepl.txn.xid') == ['7', '7']


def test_commands_in_one_segment(wireshark, save):
    """Each ReadyForQuery ends the first of the queries that wait for one."""
    path = save(pcap.conversation([
        *OPENING, (CLIENT, query(b'CREATE_REPLICATION_SLOT s LOGICAL pgoutput') + query(START)),
        (SERVER, answer(b'CREATE_REPLICATION_SLOT') + BOTH), (SERVER, TRANSACTION)]))
    run = wireshark.pdml(path)
    assert values(run, 'pgrepl.start.frame') == ['6', '6']
    assert not [e for frame in run.frames() for e in frame.experts if e.ours]


# --- what only looks like replication -----------------------------------------------------------------------

def late(*pieces):
    """A connection that is captured from some later segment on."""
    return pcap.drop(pcap.conversation(list(pieces)), 0, 1, 2)


def as_without(wireshark, path):
    """Nothing of ours, and what the plugin has left to others."""
    return packets(wireshark.pdml(path).bytes()) == packets(wireshark.without(path).bytes())


def tar_header(name):
    """The 512 bytes in front of a file of a base backup."""
    return (name.ljust(100, b'\0') + b'0000600\0' + b'0000032\0' * 2 + b'00000001000\0' + b'14000000000\0' + b'0000000\0' + b'0' + bytes(100)
            + b'ustar\0' + b'00' + b'postgres').ljust(512, b'\0')




@pytest.mark.parametrize('name', [
    b'base/1/1259', b'a_name_longer_than_most.conf',
    b'wal.conf'])
def test_late_base_backup(wireshark, save, name):
    """Before version 15 each file has a CopyData that begins with its name and zeros."""
    rows = [postgres.message(b'd', part) for part in (tar_header(b'base/1/1234'), tar_header(name), b'x' * 1000, tar_header(b'base/1/2'))]
    assert as_without(wireshark, save(late(*((SERVER, row) for row in rows))))


def test_late_rows_of_a_number_and_bytes(wireshark, save):
    """In binary: 100 is the letter d, and the length of the next column stands where that of a message would."""
    text = b'w' + bytes(95)
    row = postgres.message(b'D', struct.pack('>h', 2) + u32(4, 100) + u32(len(text)) + text)
    assert as_without(wireshark, save(late((SERVER, row[9:] + row * 5), (SERVER, row * 5), (SERVER, answer(b'SELECT 11')))))


def test_late_row_with_a_message_in_it(wireshark, save):
    """The row begins with the segment, and the client has asked for it before."""
    value = b'A' * 500 + postgres.keepalive(0x1000, NOW) + b'B' * 5000
    row = postgres.message(b'D', struct.pack('>hi', 1, len(value)) + value)
    assert as_without(wireshark, save(late(
        (CLIENT, query(b'SELECT packet FROM packets')), *((SERVER, part) for part in segments(row, 1400)), (SERVER, answer(b'SELECT 1')))))


@pytest.mark.parametrize('way', [CLIENT, SERVER])
def test_late_copy_of_text(wireshark, save, way):
    rows = [postgres.message(b'd', row) for row in (b'wonder\t1\n', b'k\t1234567890123456\n', b'r' + b'1' * 32 + b'\n', b'w' * 24 + b'\n')]
    ends = [postgres.message(b'c', b'')] + ([answer(b'COPY 4')] if way == SERVER else [])
    assert as_without(wireshark, save(late(*((way, piece) for piece in rows + ends))))


def test_a_long_query_behind_a_lost_one(wireshark, save):
    """The client has ended its stream, and one of its queries is lost; the next goes on in another segment."""
    long = query(b"SELECT 2 FROM another_table WHERE x = 3")
    content = pcap.conversation([
        *OPENING, (CLIENT, query(START)), (SERVER, BOTH), (SERVER, TRANSACTION), (CLIENT, postgres.message(b'c', b'')),
        (SERVER, postgres.message(b'c', b'') + answer(b'START_REPLICATION')), (CLIENT, query(b'SELECT 1')), (SERVER, answer(b'SELECT 1')),
        *((CLIENT, part) for part in segments(long, 20)), (SERVER, answer(b'SELECT 1'))])
    path = save(pcap.drop(content, 10))
    look = ('-T', 'fields', '-e', 'pgsql.query', '-Y', 'pgsql.query')
    assert 'another_table' in wireshark.tshark(path, *look, plugin=False).text()
    assert wireshark.tshark(path, *look).text() == wireshark.tshark(path, *look, plugin=False).text()


@pytest.mark.captures('pg15_copy_mimic')
@pytest.mark.parametrize('gone', ['beginning', 'one packet'])
def test_copy_that_looks_like_replication(wireshark, capture, save, gone):
    """README.md: ordinary COPY is left to Wireshark, whatever its rows look like; also when its beginning is missing, and
    when a packet of a connection is missing that said what it does."""
    frames = [i for i, packet in enumerate(capture.content.packets) if packet.data.endswith(b'G\0\0\0\x08\0\0\1\0\0') or b'G\0\0\0' in packet.data]
    begin = frames[0] + 1
    content = capture.content._replace(packets=capture.content.packets[begin:]) if gone == 'beginning' else pcap.drop(capture.content, begin)
    assert not wireshark.messages(save(content)).frames()


def test_transaction_in_parts(wireshark, save):
    """wal2json with write-in-chunks: one text for the beginning, for each change, and for the end."""
    parts = [b'{"xid":7,"change":[', b'{"kind":"insert","table":"t"}', b',{"kind":"insert","table":"t"}', b']}']
    path = save(postgres.logical_stream(list(map(data, parts)), '"write-in-chunks" \'1\''))
    run = wireshark.pdml(path, two_pass=True)
    assert values(run, 'pgrepl.txn.end_frame') in (['11'] * 4, [])


@pytest.mark.parametrize('size', [100_000, 1_000_000])
def test_late_huge_row(wireshark, save, size):
    """The first query that was captured, and its answer, are whole."""
    columns = struct.pack('>h', 1) + b'data\0' + struct.pack('>ihihih', 16385, 1, 17, -1, -1, 0)
    rows = postgres.message(b'T', columns) + postgres.message(b'D', struct.pack('>hi', 1, size) + b'x' * size) + answer(b'SELECT 1')
    assert as_without(wireshark, save(late((CLIENT, query(b'SELECT data FROM t')), *((SERVER, part) for part in segments(rows, 1400)))))


@pytest.mark.parametrize('cut', [700, 150_000])
def test_late_within_a_huge_row(wireshark, save, cut):
    row = postgres.message(b'D', struct.pack('>hi', 1, 200_000) + b'x' * 200_000) + answer(b'SELECT 1')
    pieces = [(SERVER, part) for part in segments(row[cut:], 1400)]
    assert as_without(wireshark, save(late(*pieces, (CLIENT, query(b'SELECT 1')), (SERVER, answer(b'SELECT 1')))))
