//! Physical WAL through the C interface.

use pgrepl_c_api_tests::*;

/// The beginning of a segment of server 18: a long page header and two records.
const START: u64 = 0x900000;
const WAL: &str = "18d1060001000000000090000000000000000000000000008570810747ae0c6b00001000002000002e000000f702000060bf\
     8b00000000008001000068c70451ff14bf6945037104030001000000050000007f0600000000380000000000000028009000\
     000000001009000026cd6b01002008007f06000005000000e70400003c000000ff0201000c0001000e0000c6";

fn xlog_data(start: u64, wal: &[u8]) -> Vec<u8> {
    [b"w".as_slice(), &start.to_be_bytes(), &(start + wal.len() as u64).to_be_bytes(), &[0; 8], wal].concat()
}

fn show(spans: &[Span], name: &str) -> Vec<String> {
    let value = |span: &Span| if span.text.is_some() { span.words() } else { format!("{:x}", span.number) };
    spans.iter().filter(|span| span.name == name).map(value).collect()
}

#[test]
fn records_have_fields_names_and_labels() {
    let session = Session::new(c::PGREPL_PAYLOAD_UNKNOWN);
    session.command("START_REPLICATION 0/900000 TIMELINE 1");
    let message = xlog_data(START, &hex(WAL));
    let record = session.copy_data(c::PGREPL_DIRECTION_BACKEND, &message);
    let spans = walk_named(&session, &record, &message, c::PGREPL_WALK_LABELS);
    tiles(&spans, &message).unwrap();
    for (name, values) in [
        ("pgrepl.wal.page.magic", &["d118"][..]),
        ("pgrepl.wal.page.info.long_header", &["1"]),
        ("pgrepl.wal.page.addr", &["900000"]),
        ("pgrepl.wal.page.seg_size", &["100000"]),
        ("pgrepl.wal.page.block_size", &["2000"]),
        ("pgrepl.wal.record.lsn", &["900028", "900058"]),
        ("pgrepl.wal.length", &["2e", "38"]),
        ("pgrepl.wal.xid", &["2f7", "0"]),
        ("pgrepl.wal.prev", &["8bbf60", "900028"]),
        ("pgrepl.wal.rmgr", &["Transaction", "Heap2"]),
        ("pgrepl.wal.operation", &["COMMIT", "PRUNE_ON_ACCESS"]),
        ("pgrepl.wal.block.rel", &["1663/5/1255"]),
        ("pgrepl.wal.block.number", &["3c"]),
        ("pgrepl.wal.crc.ok", &["1", "1"]),
    ] {
        assert_eq!(show(&spans, name), values, "{name}");
    }
    let labels: Vec<String> = spans.iter().filter(|span| span.kind == c::PGREPL_KIND_GROUP).map(Span::words).collect();
    let records = ["Record 0/900028: Transaction COMMIT, 46 bytes", "Record 0/900058: Heap2 PRUNE_ON_ACCESS, 56 bytes"];
    assert_eq!(labels, ["Page 0/900000", records[0], records[1], "Block reference 0: 1663/5/1255 block 60"]);
    // The documented field spans it all; without a session it stands alone.
    let data =
        |spans: &[Span]| spans.iter().filter(|span| span.name == "pgrepl.data").map(|span| (span.offset, span.length)).collect::<Vec<_>>();
    assert_eq!(data(&spans), [(25, message.len() - 25)]);
    let plain = walk(&record, &message, message.len(), 64);
    assert_eq!(data(&plain), data(&spans));
    assert_eq!(plain.len(), 5);
}

/// Little room for spans and none for text gives the same fields of the wire.
#[test]
fn little_room() {
    let session = Session::new(c::PGREPL_PAYLOAD_PHYSICAL);
    let message = xlog_data(START, &hex(WAL));
    let record = session.copy_data(c::PGREPL_DIRECTION_BACKEND, &message);
    let on_wire = |spans: Vec<Span>| spans.into_iter().filter(|span| span.length > 0).collect::<Vec<_>>();
    let all = on_wire(walk_with(Some(&session), &record, &message, message.len(), 64, 4096, 0));
    for (room, words) in [(12, 0), (13, 1), (40, 100)] {
        let spans = walk_with(Some(&session), &record, &message, message.len(), room, words, 0);
        tiles(&spans, &message).unwrap();
        assert_eq!(on_wire(spans), all);
    }
}
