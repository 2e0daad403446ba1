"""Physical WAL: records are found, divide the data without a gap, and have the names that pg_waldump prints."""
import pytest

physical = pytest.mark.captures('pg15_pg_receivewal', 'pg16_hot_standby', 'pg17_timeline_switch')

# Not on the wire, or bits of another field.
GENERATED = {'pgrepl.wal.record.lsn', 'pgrepl.wal.rmgr', 'pgrepl.wal.operation', 'pgrepl.wal.crc.ok',
             'pgrepl.wal.block.fork', 'pgrepl.wal.block.rel'}
BITS = ('pgrepl.wal.page.info.', 'pgrepl.wal.info.', 'pgrepl.wal.block.flags.', 'pgrepl.wal.block.image_info.')


def on_wire(field):
    return (field.name.startswith('pgrepl.wal.') and not field.name.endswith('.pos')
            and field.name not in GENERATED and not field.name.startswith(BITS))


@physical
def test_records_are_located(wireshark, capture):
    begun, right, wrong = 0, 0, 0
    for frame in wireshark.pdml(capture).frames():
        for message in frame.messages:
            data = [f for f in message.fields if f.name == 'pgrepl.data']
            if not data:
                continue
            at = data[0].pos
            for field in filter(on_wire, message.fields):
                assert field.pos == at, field
                at += field.size
            assert at == data[0].pos + data[0].size
            begun += sum(f.name == 'pgrepl.wal.record.lsn' for f in message.fields)
            right += sum(f.name == 'pgrepl.wal.crc.ok' and f.show in ('1', 'True') for f in message.fields)
            wrong += sum(f.name == 'pgrepl.wal.crc.ok' and f.show in ('0', 'False') for f in message.fields)
    assert begun == right > 3 and wrong == 0


@physical
def test_records_are_filtered_by_name(wireshark, capture):
    def frames(display_filter):
        return set(wireshark.tshark(capture, '-Y', display_filter, '-T', 'fields', '-e', 'frame.number').text().split())

    heap = frames('pgrepl.wal.rmgr == "Heap"')
    assert heap and heap <= frames('pgrepl.wal.record.lsn')
    assert frames('pgrepl.wal.rmgr == "Heap" && pgrepl.wal.operation contains "INSERT"') <= heap
    assert frames('pgrepl.wal.record.lsn.pos > 0') == frames('pgrepl.wal.record.lsn')
    assert not frames('pgrepl.expert.wal_crc || pgrepl.expert.wal_prev || pgrepl.expert.wal_record')
