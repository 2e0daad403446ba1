//! Physical WAL against what the servers' own tools say of it: `tests/wal`, written by
//! `tests/recorder/write_wal_vectors.py`; PGREPL_WAL names another directory of the same kind.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use pgrepl::fields::{Kind, FIELDS};
use pgrepl::rmgr::{OperationName, RmgrName};
use pgrepl::session::{At, Direction, Payload, Record, Session};
use pgrepl::value::Lsn;
use pgrepl::walk::{Out, Walk};

/// What a tool, or a walk, says of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Listed {
    lsn: u64,
    prev: u64,
    length: u32,
    xid: u32,
    rmgr: String,
    operation: String,
    blocks: String,
}

/// WAL of a server.
struct Wal {
    name: String,
    start: u64,
    bytes: Vec<u8>,
    /// Its records; none when no tool could list them.
    records: Vec<Listed>,
}

fn unzipped(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

fn lsn(text: &str) -> u64 {
    Lsn::parse(text).unwrap_or_else(|| panic!("{text:?}")).0
}

impl Wal {
    fn all() -> Vec<Wal> {
        let directory = std::env::var("PGREPL_WAL").unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wal").into());
        let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.to_str().unwrap().ends_with(".wal.gz"));
        paths.sort();
        assert!(!paths.is_empty());
        paths.iter().map(|path| Wal::read(path)).collect()
    }

    fn read(path: &Path) -> Wal {
        let list = path.to_str().unwrap().replace(".wal.gz", ".tsv.gz");
        let list = String::from_utf8(unzipped(Path::new(&list))).unwrap();
        let mut lines = list.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let first = lines.next().unwrap();
        let record = |row: Vec<&str>| Listed {
            lsn: lsn(row[0]),
            prev: lsn(row[1]),
            length: row[2].parse().unwrap(),
            xid: row[3].parse().unwrap(),
            rmgr: row[4].into(),
            operation: row[5].into(),
            blocks: row[6].into(),
        };
        Wal {
            name: path.file_name().unwrap().to_str().unwrap().into(),
            start: lsn(first[2]),
            bytes: unzipped(path),
            records: lines.map(record).collect(),
        }
    }
}

/// An XLogData message.
fn xlog_data(start: u64, wal: &[u8]) -> Vec<u8> {
    [b"w".as_slice(), &start.to_be_bytes(), &(start + wal.len() as u64).to_be_bytes(), &[0; 8], wal].concat()
}

fn session() -> Session {
    let mut session = Session::new(Rc::default(), 0, Payload::Unknown);
    session.command(b"START_REPLICATION 0/0");
    session
}

/// A span without what points elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    name: &'static str,
    kind: Kind,
    generated: bool,
    bit: bool,
    depth: u8,
    offset: usize,
    length: usize,
    number: u64,
    text: String,
}

const XLOG_DATA: usize = 25;

fn walk(session: &Session, record: Record, bytes: &[u8], reported: usize, labels: bool) -> Vec<Seen> {
    let mut walk = Walk::new(record, bytes, reported, Some(session.known(&record)), labels);
    let mut spans = [MaybeUninit::uninit(); 64];
    let mut text = [MaybeUninit::uninit(); 4096];
    let mut all = Vec::new();
    loop {
        let mut out = Out::new(&mut spans, &mut text);
        walk.next(&mut out);
        if out.len == 0 {
            return all;
        }
        for span in out.written() {
            let field = &FIELDS[span.field as usize];
            let text = match field.kind {
                Kind::Text | Kind::Note | Kind::Group => span.as_str().to_string(),
                _ => String::new(),
            };
            all.push(Seen {
                name: field.name.trim_end_matches('\0'),
                kind: field.kind,
                generated: field.generated,
                bit: field.mask != 0,
                depth: span.depth,
                offset: span.offset as usize,
                length: span.length as usize,
                number: span.number,
                text,
            });
        }
    }
}

/// Checks that the outer fields cover the message, and the inner ones its WAL.
fn check_tiling(spans: &[Seen], captured: usize) {
    let on_wire = |span: &&Seen| !(span.kind == Kind::Group || span.kind == Kind::Note || span.generated || span.bit);
    for inner in [false, true] {
        let mut at = if inner { XLOG_DATA } else { 0 };
        for span in spans.iter().filter(on_wire).filter(|span| inner == (span.depth > 0)) {
            assert_eq!((span.offset, inner), (at, span.name.starts_with("pgrepl.wal.")), "{span:?}");
            assert!(span.length > 0, "{span:?}");
            at += span.length;
        }
        assert!(at == captured || captured <= XLOG_DATA, "{at} of {captured}, inner: {inner}");
    }
}

/// The records that walks show.
#[derive(Default)]
struct Found {
    records: Vec<Listed>,
    /// Right and wrong checksums.
    checked: [usize; 2],
    notes: Vec<String>,
    block: [u64; 2],
}

impl Found {
    fn add(&mut self, spans: &[Seen]) {
        for span in spans {
            if span.kind == Kind::Note {
                self.notes.push(format!("{} {}", span.name, span.text));
            }
            if span.name == "pgrepl.wal.record.lsn" {
                self.records.push(Listed { lsn: span.number, ..Listed::default() });
            }
            let Some(record) = self.records.last_mut() else { continue };
            match span.name {
                "pgrepl.wal.length" => record.length = span.number as u32,
                "pgrepl.wal.xid" => record.xid = span.number as u32,
                "pgrepl.wal.prev" => record.prev = span.number,
                "pgrepl.wal.rmgr" => record.rmgr = span.text.clone(),
                "pgrepl.wal.operation" => record.operation = span.text.clone(),
                "pgrepl.wal.block.id" => self.block[0] = span.number,
                "pgrepl.wal.block.fork" => self.block[1] = span.number,
                "pgrepl.wal.block.number" => {
                    let fork = ["main", "fsm", "vm", "init"][self.block[1] as usize];
                    let between = if record.blocks.is_empty() { "" } else { " " };
                    record.blocks += &format!("{between}{}::{fork}:{}", self.block[0], span.number);
                }
                "pgrepl.wal.block.rel" => {
                    let at = record.blocks.rfind("::").unwrap();
                    record.blocks.insert_str(at + 1, &span.text);
                }
                "pgrepl.wal.crc.ok" => self.checked[1 - span.number as usize] += 1,
                _ => {}
            }
        }
    }
}

/// Sizes of chunks, in turn.
type Sizes = dyn FnMut() -> usize;

/// Sends the WAL in chunks of these sizes and walks them all, in order or, as the second of two passes, in reverse.
fn stream(start: u64, wal: &[u8], sizes: &mut dyn FnMut() -> usize) -> Found {
    let mut session = session();
    let mut sent = Vec::new();
    let mut at = 0;
    let mut counted = Vec::new();
    let mut ends = 0;
    while at < wal.len() {
        let length = sizes().min(wal.len() - at);
        let message = xlog_data(start + at as u64, &wal[at..at + length]);
        let record = session.track_replication(Direction::Backend, &message, message.len(), At::default());
        sent.push((record, message));
        at += length;
    }
    let mut walks: Vec<Vec<Seen>> =
        sent.iter().rev().map(|(record, message)| walk(&session, *record, message, message.len(), false)).collect();
    walks.reverse();
    let mut found = Found::default();
    for ((record, message), spans) in sent.iter().zip(&walks) {
        check_tiling(spans, message.len());
        found.add(spans);
        for seen in session.wal_records(record, message) {
            counted.extend(seen.begins.then_some(seen.lsn));
            ends += usize::from(seen.ends.is_some());
        }
    }
    // The short way to the records leads to the same.
    let begun: Vec<u64> = found.records.iter().map(|record| record.lsn).collect();
    assert_eq!(counted, begun);
    assert_eq!(ends, found.checked.iter().sum::<usize>());
    found
}

/// A small generator of numbers, the same in every run.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

#[test]
fn records_are_those_that_the_servers_list() {
    for wal in Wal::all() {
        let mut random = random(wal.start);
        let chunkings: [(&str, Box<Sizes>); 4] = [
            ("128 kB", Box::new(|| 128 << 10)),
            ("a page", Box::new(|| 8192)),
            ("odd", Box::new(|| 1_000_003)),
            ("up to 5000 bytes", Box::new(move || 1 + random() as usize % 5000)),
        ];
        for (chunking, mut sizes) in chunkings {
            let found = stream(wal.start, &wal.bytes, &mut sizes);
            let name = format!("{} in chunks: {chunking}", wal.name);
            for (found, listed) in found.records.iter().zip(&wal.records) {
                assert_eq!(found, listed, "{name}");
            }
            assert!(wal.records.is_empty() || found.records.len() == wal.records.len(), "{name}: {}", found.records.len());
            assert_eq!(found.notes, Vec::<String>::new(), "{name}");
            assert_eq!(found.checked, [found.records.len(), 0], "{name}");
            let mut kinds = BTreeMap::<&str, usize>::new();
            for record in &found.records {
                *kinds.entry(&record.rmgr).or_default() += 1;
            }
            println!(
                "{name}: {} of {} listed records equal (position, previous, length, xid, resource manager, operation, blocks), \
                 {} checksums right; {kinds:?}",
                wal.records.len().min(found.records.len()),
                wal.records.len(),
                found.checked[0],
            );
        }
    }
}

/// The small vectors are enough to build WAL from.
fn small() -> Wal {
    Wal::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wal/pg18.wal.gz")))
}

/// Operation names of each server, by its own functions: tests/wal/operations.tsv.
#[test]
fn operations_are_named_as_the_servers_name_them() {
    let list = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wal/operations.tsv")).unwrap();
    let mut names = BTreeMap::new();
    for line in list.lines().skip(1) {
        let row: Vec<&str> = line.split('\t').collect();
        let key = (row[0].parse::<u8>().unwrap(), row[1].parse::<u8>().unwrap(), u8::from_str_radix(row[2], 16).unwrap());
        names.insert(key, row[3]);
    }
    for version in 10..=18 {
        for rmid in 0..=255 {
            for info in (0..=255).step_by(16) {
                let name = OperationName(rmid, info, version);
                assert_eq!(name.known(), names.get(&(version, rmid, info)).copied(), "{version} {rmid} {info:x}");
            }
        }
    }
    assert_eq!(OperationName(10, 0x80, 18).to_string(), "INSERT+INIT");
    assert_eq!(OperationName(10, 0x90, 18).to_string(), "UNKNOWN (90)");
    // Versions that are not in the table are taken for the nearest; of an unknown one only what all agree about is said.
    assert_eq!(OperationName(9, 0x10, 19).known(), Some("PRUNE_ON_ACCESS"));
    assert_eq!(OperationName(9, 0x10, 9).known(), Some("CLEAN"));
    assert_eq!(OperationName(9, 0x10, 0).known(), None);
    assert_eq!(OperationName(10, 0x00, 0).known(), Some("INSERT"));
    assert_eq!(RmgrName(9).to_string(), "Heap2");
    assert_eq!(RmgrName(128).to_string(), "custom128");
    assert_eq!(RmgrName(60).to_string(), "60");
}

/// Writes WAL as a server would.
struct Writer {
    start: u64,
    bytes: Vec<u8>,
    page: u64,
    big_endian: bool,
    magic: u16,
    timeline: u32,
    /// Of a record of the page before.
    remaining: u32,
    overwrites: bool,
    prev: u64,
    /// Where records began.
    records: Vec<u64>,
}

const SEGMENT: u64 = 1 << 20;

impl Writer {
    fn new(page: u64, big_endian: bool) -> Writer {
        let start = 5 * SEGMENT;
        Writer {
            start,
            bytes: Vec::new(),
            page,
            big_endian,
            magic: 0xd118,
            timeline: 1,
            remaining: 0,
            overwrites: false,
            prev: start - page + 40,
            records: Vec::new(),
        }
    }

    fn position(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn number(&self, value: u64, width: usize) -> Vec<u8> {
        match self.big_endian {
            true => value.to_be_bytes()[8 - width..].to_vec(),
            false => value.to_le_bytes()[..width].to_vec(),
        }
    }

    fn put(&mut self, value: u64, width: usize) {
        self.bytes.extend(self.number(value, width));
    }

    fn begin_page(&mut self) {
        let position = self.position();
        let long = position % SEGMENT == 0;
        let info = u64::from(self.remaining > 0) | if long { 2 } else { 0 } | if self.overwrites { 8 } else { 0 };
        self.overwrites = false;
        self.put(self.magic.into(), 2);
        self.put(info, 2);
        self.put(self.timeline.into(), 4);
        self.put(position, 8);
        self.put(self.remaining.into(), 4);
        self.put(0, 4);
        if long {
            self.put(0x0123_4567_89ab_cdef, 8);
            self.put(SEGMENT, 4);
            self.put(self.page, 4);
        }
    }

    fn write(&mut self, record: &[u8]) {
        let mut left = record;
        while !left.is_empty() {
            if self.position() % self.page == 0 {
                self.remaining = if left.len() == record.len() { 0 } else { left.len() as u32 };
                self.begin_page();
            }
            let room = (self.page - self.position() % self.page) as usize;
            let (now, later) = left.split_at(room.min(left.len()));
            self.bytes.extend(now);
            left = later;
        }
        self.remaining = 0;
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }

    /// A record of these parts after its header; it is not written yet.
    fn make(&mut self, info: u8, rmid: u8, body: &[u8]) -> Vec<u8> {
        let mut record = self.number(24 + body.len() as u64, 4);
        record.extend(self.number(761, 4));
        record.extend(self.number(self.prev, 8));
        record.extend([info, rmid, 0, 0]);
        let crc = crc32c::crc32c_append(crc32c::crc32c(body), &record);
        record.extend(self.number(crc.into(), 4));
        record.extend(body);
        record
    }

    /// Where the next record begins.
    fn next(&self) -> u64 {
        match self.position() {
            position if position % self.page > 0 => position,
            position if position % SEGMENT == 0 => position + 40,
            position => position + 24,
        }
    }

    fn record(&mut self, info: u8, rmid: u8, body: &[u8]) {
        let record = self.make(info, rmid, body);
        self.prev = self.next();
        self.records.push(self.prev);
        self.write(&record);
    }

    /// A Heap INSERT with a block of this much data, an image, a second block of the same relation and an origin.
    fn insert(&mut self, data: usize) {
        let mut body = vec![0, 0x30];
        body.extend(self.number(data as u64, 2));
        body.extend(self.number(5, 2));
        body.extend(self.number(100, 2));
        body.push(0x05);
        body.extend(self.number(200, 2));
        for oid in [1663, 5, 16384, 7] {
            body.extend(self.number(oid, 4));
        }
        body.extend([1, 0x82]);
        body.extend(self.number(0, 2));
        body.extend(self.number(8, 4));
        body.push(253);
        body.extend(self.number(1, 2));
        body.push(252);
        body.extend(self.number(760, 4));
        body.push(254);
        body.extend(self.number(3, 4));
        body.extend(vec![0xaa; 5 + data + 3]);
        self.record(0x80, 10, &body);
    }

    /// The rest of the segment after a switch: zeros, or as 10 does it with page headers.
    fn switch(&mut self, headers: bool) {
        self.record(0x40, 0, &[]);
        while self.position() % SEGMENT != 0 {
            if headers && self.position() % self.page == 0 {
                self.begin_page();
            }
            self.bytes.push(0);
        }
    }
}

/// Records of many lengths on pages of 1 kB, so that page borders cut most of their fields somewhere.
fn many(big_endian: bool) -> Writer {
    let mut writer = Writer::new(1024, big_endian);
    for i in 0..10 {
        writer.insert(i * 37 % 97);
        writer.record(0x00, 1, &[255, 2, 1, 2]);
    }
    writer.insert(1500);
    writer.record(0x10, 8, &[]);
    writer
}

fn check(writer: &Writer, found: &Found) {
    let begun: Vec<u64> = found.records.iter().map(|record| record.lsn).collect();
    assert_eq!(begun, writer.records);
    assert_eq!(found.notes, Vec::<String>::new());
    assert_eq!(found.checked, [writer.records.len(), 0]);
    for record in &found.records {
        match record.rmgr.as_str() {
            "Heap" => {
                assert_eq!(record.operation, "INSERT+INIT");
                assert_eq!(record.blocks, "0:1663/5/16384:main:7 1:1663/5/16384:vm:8");
            }
            _ => assert!(["COMMIT", "RUNNING_XACTS", "SWITCH"].contains(&record.operation.as_str()), "{record:?}"),
        }
        assert_eq!(record.xid, 761);
    }
}

#[test]
fn any_split_gives_the_same_records() {
    for big_endian in [false, true] {
        let writer = many(big_endian);
        for split in 1..writer.bytes.len() {
            let mut sizes = [split].into_iter();
            check(&writer, &stream(writer.start, &writer.bytes, &mut || sizes.next().unwrap_or(usize::MAX)));
        }
        for size in (1..40).chain([100, 1000]) {
            check(&writer, &stream(writer.start, &writer.bytes, &mut || size));
        }
    }
}

#[test]
fn tails_of_switched_segments() {
    for (headers, page) in [(false, 8192), (true, 8192), (true, 1024)] {
        let mut writer = Writer::new(page, false);
        writer.insert(50);
        writer.switch(headers);
        writer.insert(60);
        writer.switch(headers);
        writer.insert(60);
        for size in [usize::MAX, 128 << 10, 8192, 7777] {
            check(&writer, &stream(writer.start, &writer.bytes, &mut || size));
        }
    }
}

/// Without the long header of a segment's first page.
#[test]
fn page_size_shows_by_the_next_page() {
    for page in [1024, 2048, 4096, 8192, 16384, 32768, 65536] {
        let mut writer = Writer::new(page, false);
        while writer.bytes.len() < 5 * page as usize {
            writer.insert(100);
        }
        for first in [1_usize, 8, 1000] {
            let from = page as usize * 2 - first;
            let found = stream(writer.start + from as u64, &writer.bytes[from..], &mut || 128 << 10);
            // All that begin after the first page header.
            let expected: Vec<u64> = writer.records.iter().copied().filter(|lsn| *lsn >= writer.start + 2 * page).collect();
            let begun: Vec<u64> = found.records.iter().map(|record| record.lsn).filter(|lsn| *lsn >= expected[0]).collect();
            assert_eq!(begun, expected, "page of {page} bytes, {first} before it");
            assert_eq!(found.checked[1], 0);
        }
    }
}

#[test]
fn a_chunk_begins_with_a_record() {
    for big_endian in [false, true] {
        let mut writer = Writer::new(8192, big_endian);
        for _ in 0..5 {
            writer.insert(20);
        }
        let from = writer.records[2];
        let found = stream(from, &writer.bytes[(from - writer.start) as usize..], &mut || usize::MAX);
        assert_eq!(found.records.len(), 3);
        assert_eq!((found.checked, found.notes), ([3, 0], vec![]));
        // The version is not known, so names that depend on it are not there; this one does not.
        assert_eq!(found.records[0].operation, "INSERT+INIT");
        // Elsewhere nothing is found, and said so once.
        let found = stream(from + 8, &writer.bytes[(from + 8 - writer.start) as usize..], &mut || usize::MAX);
        assert!(found.records.is_empty());
        assert_eq!(found.notes.len(), 1);
        assert!(found.notes[0].starts_with("pgrepl.expert.wal_not_located "), "{:?}", found.notes);
    }
}

#[test]
fn overwritten_records() {
    for (magic, bit) in [(0xd110, 8_u8), (0xd118, 8), (0xd11f, 4)] {
        let mut writer = Writer::new(1024, false);
        writer.magic = magic;
        writer.insert(700);
        let long = writer.make(0, 10, &[0; 2000]);
        let room = 1024 - writer.bytes.len() % 1024;
        let given_up = writer.next();
        writer.bytes.extend(&long[..room]);
        writer.overwrites = true;
        let page = writer.bytes.len();
        writer.record(0xd0, 0, &[255, 2, 1, 2]);
        writer.bytes[page + 2] = bit;
        writer.insert(10);
        let found = stream(writer.start, &writer.bytes, &mut || 1024);
        assert_eq!(found.records.len(), writer.records.len() + 1);
        assert_eq!(found.checked, [writer.records.len(), 0]);
        let words = format!("the record at {} was given up by the server before its end", Lsn(given_up));
        assert_eq!(found.notes, [format!("pgrepl.expert.wal_overwritten {words}")]);
    }
}

#[test]
fn wrong_checksums_and_chains_are_told() {
    let mut writer = Writer::new(8192, false);
    for _ in 0..5 {
        writer.insert(20);
    }
    let at = (writer.records[2] - writer.start) as usize + 80;
    writer.bytes[at] ^= 1;
    let found = stream(writer.start, &writer.bytes, &mut || usize::MAX);
    let words = format!("the checksum of the record at {} is not that of its bytes", Lsn(writer.records[2]));
    assert_eq!((found.checked, found.notes), ([4, 1], vec![format!("pgrepl.expert.wal_crc {words}")]));

    let mut writer = Writer::new(8192, false);
    writer.insert(20);
    let (right, wrong) = (writer.prev, writer.prev - 8);
    writer.prev = wrong;
    writer.insert(20);
    writer.insert(20);
    let found = stream(writer.start, &writer.bytes, &mut || usize::MAX);
    let words = format!("the record before begins at {}, not at {}", Lsn(right), Lsn(wrong));
    assert_eq!((found.checked, found.notes), ([3, 0], vec![format!("pgrepl.expert.wal_prev {words}")]));
    // Another timeline may have another chain.
    let mut writer = Writer::new(1024, false);
    writer.insert(1024 - 40 - 80);
    writer.timeline = 2;
    writer.prev = wrong;
    while writer.bytes.len() < 3000 {
        writer.insert(30);
    }
    let found = stream(writer.start, &writer.bytes, &mut || usize::MAX);
    assert_eq!((found.checked[1], found.notes.len()), (0, 0), "{:?}", found.notes);
}

#[test]
fn huge_lengths() {
    for total in [23_u32, 1020 << 20, (1020 << 20) + 1, u32::MAX] {
        let mut writer = Writer::new(1024, false);
        writer.insert(20);
        let at = writer.bytes.len();
        for _ in 0..100 {
            writer.insert(20);
        }
        writer.bytes[at..at + 4].copy_from_slice(&total.to_le_bytes());
        let begin = std::time::Instant::now();
        let found = stream(writer.start, &writer.bytes, &mut || usize::MAX);
        assert!(begin.elapsed().as_secs() < 10);
        // The next page header puts it right.
        assert!(found.records.len() > 90, "{total}: {}", found.records.len());
        assert_eq!(found.checked[1], 0);
        let allowed = ["pgrepl.expert.wal_not_located ", "pgrepl.expert.wal_record "];
        assert!(found.notes.iter().all(|note| allowed.iter().any(|start| note.starts_with(start))), "{:?}", found.notes);
        assert!(!found.notes.is_empty());
    }
}

/// What a capture with a short snap length keeps of each message.
#[test]
fn short_snap_lengths_and_lost_messages() {
    let wal = small();
    let listed: std::collections::BTreeSet<u64> = wal.records.iter().map(|record| record.lsn).collect();
    for (captured, lost) in [(0, 0), (10, 0), (25, 0), (26, 0), (60, 0), (3000, 0), (9000, 0), (usize::MAX, 3), (9000, 5)] {
        let mut session = session();
        let mut found = Found::default();
        let mut random = random((captured as u64).wrapping_add(lost));
        let (mut at, mut sent) = (0, 0);
        while at < wal.bytes.len() {
            // As a server sends: to the end of a page.
            let length = (8192 * (1 + random() as usize % 4)).min(wal.bytes.len() - at);
            let message = xlog_data(wal.start + at as u64, &wal.bytes[at..at + length]);
            at += length;
            if lost > 0 && random() % lost == 0 {
                continue;
            }
            sent += 1;
            let kept = &message[..captured.min(message.len())];
            let record = session.track_replication(Direction::Backend, kept, message.len(), At::default());
            let spans = walk(&session, record, kept, message.len(), true);
            if kept.len() >= XLOG_DATA {
                check_tiling(&spans, kept.len());
            }
            found.add(&spans);
        }
        assert!(found.records.iter().all(|record| listed.contains(&record.lsn)));
        assert_eq!(found.checked[1], 0);
        assert!(
            found.records.len() > if captured >= 3000 { 100 } else { 0 } || captured < 3000,
            "{captured} {lost}: {}",
            found.records.len()
        );
        let allowed = ["pgrepl.expert.not_captured ", "pgrepl.expert.wal_not_located "];
        assert!(found.notes.iter().all(|note| allowed.iter().any(|start| note.starts_with(start))), "{:?}", found.notes);
        assert!(sent > 0);
    }
}

/// The same WAL begins again in a new stream, and on another connection.
#[test]
fn a_new_stream_begins_anew() {
    let wal = small();
    let mut session = session();
    let message = xlog_data(wal.start, &wal.bytes[..10_000]);
    let first = session.track_replication(Direction::Backend, &message, message.len(), At::default());
    session.command(b"START_REPLICATION 0/0 TIMELINE 2");
    let second = session.track_replication(Direction::Backend, &message, message.len(), At::default());
    let spans = walk(&session, first, &message, message.len(), true);
    assert_eq!(spans, walk(&session, second, &message, message.len(), true));
    check_tiling(&spans, message.len());
    // Without names only the bytes are there.
    let mut plain = [MaybeUninit::uninit(); 64];
    let mut out = Out::new(&mut plain, &mut []);
    Walk::new(first, &message, message.len(), None, false).next(&mut out);
    assert_eq!(out.len, 5);
    // Logical streams and unknown ones are left alone.
    let mut logical = Session::new(Rc::default(), 0, Payload::OtherPlugin);
    let record = logical.track_replication(Direction::Backend, &message, message.len(), At::default());
    assert!(walk(&logical, record, &message, message.len(), true).iter().all(|span| !span.name.starts_with("pgrepl.wal.")));
}

/// Random bytes, and WAL with random damage: nothing stops, everything is covered, two passes agree.
#[test]
fn damage_stops_nothing() {
    let wal = small();
    let mut random = random(7);
    for round in 0..600 {
        let from = 8192 * (random() as usize % 40);
        let mut bytes = match round % 4 {
            0 => (0..random() % 30_000).map(|_| random() as u8).collect(),
            1 => many(round % 8 == 1).bytes,
            _ => wal.bytes[from..from + 1 + random() as usize % 40_000].to_vec(),
        };
        let start = if round % 4 == 1 { 5 * SEGMENT } else { wal.start + from as u64 };
        for _ in 0..random() % 20 {
            if bytes.is_empty() {
                break;
            }
            let at = random() as usize % bytes.len();
            match random() % 3 {
                0 => bytes[at] = random() as u8,
                1 => bytes[at] ^= 1 << (random() % 8),
                _ => {
                    let end = (at + random() as usize % 64).min(bytes.len());
                    bytes[at..end].fill([0, 0xff][random() as usize % 2]);
                }
            }
        }
        let start = [start, start, start + random() % 9000, random(), u64::MAX - random() % 40_000][round % 5];
        let most = [100, 5000, 100_000][round % 3];
        let mut session = session();
        let (mut at, mut sent) = (0, Vec::new());
        while at < bytes.len() {
            let length = (1 + random() as usize % most).min(bytes.len() - at);
            let position = start.wrapping_add(at as u64);
            let message = [b"w".as_slice(), &position.to_be_bytes(), &[0; 16], &bytes[at..at + length]].concat();
            let kept = if random() % 10 == 0 { random() as usize % message.len() } else { message.len() };
            let record = session.track_replication(Direction::Backend, &message[..kept], message.len(), At::default());
            sent.push((record, message, kept, session.wal_records(&record, &[]).count()));
            at += length;
        }
        for (record, message, kept, _) in sent.iter().rev() {
            let bytes = &message[..*kept];
            let spans = walk(&session, *record, bytes, message.len(), true);
            if *kept >= XLOG_DATA {
                check_tiling(&spans, *kept);
            }
            assert_eq!(spans, walk(&session, *record, bytes, message.len(), true));
            // Fewer or more bytes than were tracked stop nothing either.
            walk(&session, *record, &bytes[..kept / 2], message.len(), true);
            // Nor does the record of another message.
            let other = sent[random() as usize % sent.len()].0;
            walk(&session, other, bytes, message.len(), true);
            session.wal_records(record, bytes).count();
        }
    }
}

/// The same WAL as a big-endian server would have written it.
fn swapped(wal: &Wal) -> Vec<u8> {
    let mut session = session();
    let message = xlog_data(wal.start, &wal.bytes);
    let record = session.track_replication(Direction::Backend, &message, message.len(), At::default());
    let mut bytes = wal.bytes.clone();
    let (mut in_page, mut parts, mut of_record) = (false, Vec::new(), Vec::new());
    for span in walk(&session, record, &message, message.len(), false) {
        if span.kind == Kind::Group && span.text != "Block reference" {
            in_page = span.text == "Page";
        }
        match span.name {
            "pgrepl.wal.record.lsn" => of_record = Vec::new(),
            "pgrepl.wal.crc.ok" => {
                let record: Vec<u8> = of_record.iter().map(|at: &usize| bytes[*at]).collect();
                let crc = crc32c::crc32c_append(crc32c::crc32c(&record[24..]), &record[..20]);
                for (at, byte) in of_record[20..24].iter().zip(crc.to_be_bytes()) {
                    bytes[*at] = byte;
                }
            }
            _ => {}
        }
        if span.depth < 2 || span.bit || span.generated || matches!(span.kind, Kind::Group | Kind::Note) {
            continue;
        }
        let range = span.offset - XLOG_DATA..span.offset - XLOG_DATA + span.length;
        if !in_page {
            of_record.extend(range.clone());
        }
        match span.kind {
            _ if span.name == "pgrepl.wal.part" => parts.extend(range),
            Kind::Uint | Kind::Lsn => {
                parts.extend(range);
                let number: Vec<u8> = parts.iter().map(|at| wal.bytes[*at]).collect();
                for (at, byte) in parts.drain(..).zip(number.into_iter().rev()) {
                    bytes[at] = byte;
                }
            }
            _ => {}
        }
    }
    bytes
}

#[test]
fn big_endian_servers() {
    let wal = small();
    let bytes = swapped(&wal);
    assert_eq!(bytes[..2], [0xd1, 0x18]);
    for size in [usize::MAX, 8192, 3333] {
        let found = stream(wal.start, &bytes, &mut || size);
        assert_eq!(found.records, wal.records);
        assert_eq!(found.notes, Vec::<String>::new());
        assert_eq!(found.checked, [found.records.len(), 0]);
    }
}
