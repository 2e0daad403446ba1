"""What the user chooses: ports, Decode As, preferences. And connections that share ports or time."""
import re

import pytest

import pcap
import postgres
import sharkd
from documented import DOCUMENTED
from pdml import connections, packets, same
from test_passes import lasting
from test_segments import told

NO_HEURISTIC = ('--disable-heuristic', 'pgrepl_tcp')

# Chosen in the window and saved there: first by the name of the protocol, then by the one that really does it.
SAVED = {'saved': 'PGREPL', 'saved again': 'PGSQL+R'}

CHOICES = {
    'Decode As': ('-d', 'tcp.port==6543,pgrepl'),
    'Decode As, other name': ('-d', 'tcp.port==6543,pgsqlr'),
    'port': ('-o', 'pgsql.tcp.port:6543'),
    'ports': ('-o', 'pgsql.tcp.port:5432,6500-6600'),
    'Decode As, not in front': ('-d', 'tcp.port==6543,pgrepl', '-o', 'pgrepl.take_over_ports:FALSE'),
}

GIVEN_AWAY = {
    'Decode As': ('-d', 'tcp.port==5432,http'),
    'port': ('-o', 'pgsql.tcp.port:6543'),
    'not in front': ('-o', 'pgrepl.take_over_ports:FALSE'),
}


def pdml(wireshark, capture, *choice, **how):
    return wireshark.tshark(capture, '-T', 'pdml', *choice, **how)


def messages(run):
    return [m for frame in run.frames() for m in frame.messages]


@pytest.fixture
def profile(wireshark):
    """Writes Decode As entries as the window does; returns the arguments that have them read."""
    directory = wireshark.home / '.config' / 'wireshark' / 'profiles'

    def write(name, entry):
        place = directory / name
        place.mkdir(parents=True)
        path = place / 'decode_as_entries'
        path.write_text(entry + '\n')
        for part in (path, place, directory, directory.parent, directory.parent.parent):
            wireshark.scratch.give(part)
        return '-C', name
    return write


# --- ports ---------------------------------------------------------------------------------------------------

@pytest.mark.captures('pg15_port6543')
@pytest.mark.parametrize('choice', CHOICES)
def test_chosen_port(wireshark, capture, choice):
    """As if it had been found by itself, with the same layers in every frame."""
    assert not messages(pdml(wireshark, capture, *NO_HEURISTIC))
    for two_pass in (False, True):
        chosen = pdml(wireshark, capture, *NO_HEURISTIC, *CHOICES[choice], two_pass=two_pass)
        same(map(lasting, wireshark.pdml(capture).frames()), map(lasting, chosen.frames()))


@pytest.mark.captures('pg15_port6543')
@pytest.mark.parametrize('saved', SAVED)
def test_saved_choice(wireshark, capture, profile, saved):
    arguments = profile(saved, f'decode_as_entry: tcp.port,6543,(none),{SAVED[saved]}')
    chosen = pdml(wireshark, capture, *NO_HEURISTIC, *arguments)
    same(map(lasting, wireshark.pdml(capture).frames()), map(lasting, chosen.frames()))


@pytest.mark.captures('pg15_proto1_orders')
@pytest.mark.parametrize('choice', GIVEN_AWAY)
def test_port_given_away(wireshark, capture, choice):
    """Then the port is as it is without the plugin, to the byte."""
    arguments = GIVEN_AWAY[choice]
    assert messages(wireshark.pdml(capture))
    with_plugin = pdml(wireshark, capture, *NO_HEURISTIC, *arguments)
    others = () if choice == 'not in front' else arguments
    same(packets(pdml(wireshark, capture, *others, plugin=False).bytes()), packets(with_plugin.bytes()))


@pytest.mark.captures('pg15_proto1_orders', 'pg18_tls_direct')
def test_not_in_front(wireshark, capture):
    """Also in TLS that names PostgreSQL. What the heuristic finds stays ours."""
    off = pdml(wireshark, capture, '-o', 'pgrepl.take_over_ports:FALSE')
    same(packets(wireshark.without(capture).bytes()), packets(off.bytes()))
    chosen = pdml(wireshark, capture, '-o', 'pgrepl.take_over_ports:FALSE', '-d', 'tcp.port==5432,pgrepl')
    assert [told(m) for m in messages(chosen)] == [told(m) for m in messages(wireshark.pdml(capture))]


@pytest.mark.captures('pg15_port6543')
def test_heuristic_without_ports(wireshark, capture):
    off = pdml(wireshark, capture, '-o', 'pgrepl.take_over_ports:FALSE')
    same(packets(wireshark.pdml(capture).bytes()), packets(off.bytes()))


@pytest.mark.captures('pg15_proto1_orders', 'pg15_port6543')
def test_changed_while_running(wireshark, capture):
    """The window applies a preference by dissecting the file anew."""
    def shown():
        trees = {number: window.frame(number) for number in range(1, window.load(capture) + 1)}
        return {number: lines for number, lines in trees.items() if any('PostgreSQL Replication' in line for line in lines)}

    port = pcap.endpoints(capture.content)[0][0][1][1]
    with sharkd.Sharkd(wireshark) as window:
        before = shown()
        assert before
        settings = [('tcp.try_heuristic_first', 'FALSE', True), ('pgrepl.take_over_ports', 'FALSE', port != 5432),
                    ('pgrepl.take_over_ports', 'TRUE', True), ('pgsql.tcp.port', '6000,6543', True),
                    ('pgsql.tcp.port', '5432', True), ('pgrepl.take_over_ports', 'FALSE', port != 5432)]
        for name, value, ours in settings:
            window.call('setconf', name=name, value=value)
            assert shown() == (before if ours else {}), f'{name} {value}'


# --- several connections -------------------------------------------------------------------------------------

def renumbered(content):
    """The same connections with other sequence numbers, as the next ones on these ports have."""
    packets = []
    for packet in content.packets:
        s = pcap.parse(packet, content.linktype)
        data = pcap.build(s._replace(seq=s.seq + 10**6, ack=s.ack + 10**6 if s.flags & pcap.ACK else 0))
        packets.append(packet._replace(data=data, length=len(data)))
    return content._replace(packets=packets)


def at_once(captures):
    every = sorted((p for c in captures for p in c.packets), key=lambda p: p.time)
    return captures[0]._replace(packets=every)


@pytest.mark.captures('pg15_proto1_orders', 'pg15_port6543', 'pg15_tls')
@pytest.mark.parametrize('how', ['ports used again', 'at once'])
def test_two_connections(wireshark, capture, save, how):
    content = capture.content
    both = pcap.join([content, renumbered(content)]) if how == 'ports used again' else at_once([content, pcap.move(content, 1)])
    path = save(both)
    alone = connections(wireshark.pdml(capture).frames(), pcap.endpoints(content))
    assert alone
    for two_pass in (False, True):
        found = connections(wireshark.messages(path, two_pass=two_pass).frames(), pcap.endpoints(both))
        for (client, server), direction in alone:
            said = [told(m) for m in alone[(client, server), direction]]
            if how == 'at once':
                same(said, map(told, found.pop(((pcap.moved(client, 1), pcap.moved(server, 1)), direction))))
            else:
                said *= 2
            same(said, map(told, found.pop(((client, server), direction))))
        assert not found


# --- preferences ---------------------------------------------------------------------------------------------

def without_start(content):
    """What comes behind the CopyBothResponse."""
    last = max(m.frame for m in postgres.messages(content)[0] if m.kind == 'W')
    return content._replace(packets=content.packets[last:])


def on_the_wire(message):
    return [(f.name, f.value) for f in message.fields if f.name in DOCUMENTED and f.size]


@pytest.mark.captures('pg15_port6543')
def test_payload(wireshark, capture, save):
    """Where nothing else tells, the preference does; a stream that begins in the capture tells by itself."""
    path = save(without_start(capture.content))

    def shown(file, *choice):
        return [on_the_wire(m) for m in messages(pdml(wireshark, file, *choice)) if m.fields]

    def of(payload, file=path):
        return shown(file, '-o', f'pgrepl.payload:{payload}')

    whole = [m for m in shown(capture) if m]
    assert of('pgoutput') == whole[-len(of('pgoutput')):] and any(('pgrepl.message.type', '49') in m for m in of('pgoutput'))
    for payload in ('physical', 'other'):
        assert len(of(payload)) == len(of('pgoutput')) and not any(n == 'pgrepl.message.type' for m in of(payload) for n, _ in m)
    assert of('guess') == shown(path)
    assert of('physical', capture) == of('other', capture) == shown(capture)


@pytest.mark.captures('pg15_tls')
def test_text_length(wireshark, capture):
    """Of a value of 20000 bytes in the labels; the value itself is whole."""
    def labels(*choice):
        text = wireshark.tshark(capture, '-V', '-Y', 'pgrepl.cell contains "id=31"', *choice).text()
        return [max((found[1] for found in re.finditer(label + '(0123[0-9]*)…', text)), key=len)
                for label in ('note text: ', 'New row: .*note=')]

    for length, choice in ((80, ()), (10, ('-o', 'pgrepl.text_length:10')), (120, ('-o', 'pgrepl.text_length:120'))):
        assert [len(label) for label in labels(*choice)] == [length, length // 2]
    cells = wireshark.tshark(capture, '-T', 'fields', '-e', 'pgrepl.value.text', '-o', 'pgrepl.text_length:10').text()
    assert '0123456789' * 2000 in cells
