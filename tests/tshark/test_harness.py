"""The tools of these tests do what they say."""
import io
from xml.parsers import expat

import pytest

import pcap
import pdml
import postgres
from pcap import CLIENT, SERVER

PDML = b"""<?xml version="1.0"?>
<pdml version="0" time="now">
<packet>
  <proto name="geninfo"><field name="num" pos="0" show="7"/></proto>
  <proto name="frame"><field name="frame.protocols" show="eth:ip:tcp:pgsql:pgrepl"/></proto>
  <proto name="pgsql" pos="66" size="30"><field name="pgsql.type" show="Copy data"/>
    <proto name="pgrepl" pos="60" size="99" showname="all">
      <field name="" show="a subtree" pos="71" size="9">
        <field name="pgrepl.copydata.type" pos="71" size="1" show="'k'" value="6b"/>
        <field name="pgrepl.wal_end.pos" pos="72" size="8" show="1" value="01" hide="yes"/>
        <proto name="_ws.expert"><field name="pgrepl.expert.reply"/><field name="_ws.expert.severity" show="6291456"/></proto>
      </field>
      <proto name="json"><field name="pgrepl.not_ours" pos="0" size="1"/></proto>
      <field name="pgrepl.generated" show="x"/>
    </proto>
  </proto>
</packet>
<packet>
  <proto name="geninfo"><field name="num" pos="0" show="8"/></proto>
  <proto name="_ws.malformed" showname="[Malformed Packet]"/>
</packet>
</pdml>
"""


def test_pdml():
    one, two = pdml.read(io.BytesIO(PDML))
    assert (one.number, one.protocols[-1], one.malformed) == (7, 'pgrepl', [])
    assert one.items == ['geninfo', 'frame', 'pgsql', 'pgrepl', 'json'] and one.fields == {'pgsql.type': 1}
    message, = one.messages
    assert (message.pos, message.size) == (71, 9)
    assert [(f.name, f.depth, f.hidden) for f in message.fields] == [
        ('pgrepl.copydata.type', 0, False), ('pgrepl.wal_end.pos', 0, True), ('pgrepl.generated', -1, False)]
    assert [(e.ours, e.severity) for e in one.experts] == [(True, pdml.WARNING)]
    assert (two.number, two.messages, two.malformed) == (8, [], ['[Malformed Packet]'])
    assert len(pdml.packets(PDML)) == 2 and b'now' not in b''.join(pdml.packets(PDML))


def test_pdml_cut_short():
    with pytest.raises(expat.ExpatError):
        list(pdml.read(io.BytesIO(PDML[:-9])))


@pytest.mark.parametrize('a, b, found', [
    ([1, 2], [1, 2], ''), ([1, 2], [1, 3], 'item 1'), ([1], [1, 2], 'item 1'), ([b'x\ny\n'], [b'x\nz\n'], 'item 0, item 1')])
def test_difference(a, b, found):
    assert pdml.difference(a, b).startswith(found) and bool(pdml.difference(a, b)) == bool(found)


# --- captures -----------------------------------------------------------------------------------------------

TALK = [(CLIENT, b'hello'), (SERVER, bytes(range(200))), (SERVER, b'more'), (CLIENT, b'bye')]


def streams(capture):
    """What each end said, and who spoke in which order."""
    said, turns = {CLIENT: b'', SERVER: b''}, []
    for _, _, direction, data in pcap.arrivals(capture):
        said[direction] += data
        if turns[-1:] != [direction]:
            turns.append(direction)
    return said, turns


def test_conversation():
    said, turns = streams(pcap.conversation(TALK))
    assert said == {CLIENT: b'hellobye', SERVER: bytes(range(200)) + b'more'} and turns == [CLIENT, SERVER, CLIENT]


@pytest.mark.parametrize('sizes', [1, 7, 60000, pcap.random_sizes(3, 1, 20)])
def test_resegment(sizes):
    capture = pcap.conversation(TALK)
    cut = pcap.resegment(capture, sizes)
    assert streams(cut) == streams(capture)
    times = [p.time for p in cut.packets]
    assert times == sorted(times)
    if sizes == 7:
        lengths = [len(pcap.parse(p, cut.linktype).payload) for p in cut.packets]
        assert sorted(set(lengths)) == [0, 1, 3, 5, 7]
    flags = [pcap.parse(p, cut.linktype).flags for p in cut.packets]
    assert sum(bool(f & pcap.SYN) for f in flags) == sum(bool(f & pcap.FIN) for f in flags) == 2


def test_order():
    capture = pcap.conversation(TALK)
    assert streams(pcap.duplicate(capture, 4))[0] == streams(capture)[0]
    assert streams(pcap.swap(capture, 4))[0] == streams(capture)[0]
    assert streams(pcap.drop(capture, 4))[0][SERVER] == b''
    with pytest.raises(ValueError, match='gap'):
        pcap.resegment(pcap.drop(capture, 4), 7)
    with pytest.raises(ValueError, match='snapped'):
        pcap.resegment(pcap.snap(capture, 60), 7)


def test_move_and_join():
    capture = pcap.conversation(TALK)
    joined = pcap.join([capture, pcap.move(capture, 1)])
    assert streams(joined)[0][CLIENT] == b'hellobye' * 2
    first, second = sorted({ends for ends, _ in pcap.endpoints(joined)})
    assert tuple(pcap.moved(end, 1) for end in first) == second


def test_files(tmp_path):
    capture = pcap.snap(pcap.conversation(TALK), 100)._replace(secrets=(b'keys',))
    pcap.write(tmp_path / 'x.pcapng', capture)
    assert pcap.read(tmp_path / 'x.pcapng') == capture


def test_messages():
    stream = postgres.logical_stream([postgres.keepalive(1, 2), postgres.message(b'c', b'') + postgres.message(b'C', b'x\0')])
    for capture in (stream, pcap.resegment(stream, 1)):
        found, opaque = postgres.messages(capture)
        assert [(m.kind, m.mode) for m in found] == [
            ('', None), ('R', None), ('Z', None), ('Q', None), ('W', 'W'), ('d', 'W'), ('c', 'W'), ('C', 'C')]
        assert not opaque


def test_encrypted():
    request = postgres.message(b'', postgres.ENCRYPTION[0])
    for answer, encrypted in ((b'S', True), (b'N', False)):
        capture = pcap.conversation([(CLIENT, request), (SERVER, answer), (CLIENT, postgres.startup(user='me'))])
        assert bool(postgres.messages(capture)[1]) == encrypted
