//! Tracking: what earlier messages of a connection say about later ones.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::command::Command;
use crate::encoding::Encoding;
use crate::fields::Field;
use crate::formats::{self, Format, Layer};
use crate::probe::{self, Size, HEADER};
use crate::relation::{self, Memory, Relation};
use crate::wal;
use crate::walk;

/// What there is to walk in a message.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing: not a CopyData message of a replication stream or a base backup.
    Other = 0,
    /// CopyData of a replication stream: a walsender message.
    CopyData = 1,
    /// CopyData of a base backup.
    Backup = 2,
    /// CopyData of a base backup before PostgreSQL 15: bytes of an archive without any tag.
    UntaggedBackup = 3,
    /// A pgoutput message by itself, as the SQL interface of replication slots gives it.
    Pgoutput = 4,
    /// Bytes in a replication stream that do not begin a message.
    Unaligned = 5,
}

/// What XLogData holds.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Not known: no START_REPLICATION was seen.
    Unknown = 0,
    /// Messages of pgoutput.
    Pgoutput = 1,
    /// WAL.
    Physical = 2,
    /// What another output plugin wrote.
    OtherPlugin = 3,
}

/// Direction of a message.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the server to the client.
    Backend = 0,
    /// From the client to the server.
    Frontend = 1,
}

/// What tracking found out about one message; all that walking needs besides the bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// What there is to walk.
    pub content: u8,
    /// What XLogData holds.
    pub payload: u8,
    /// 1: from the client; 2: in a stream block, so that changes begin with an xid; 4: first of a guessed stream;
    /// 8: `relation` is for a Truncate.
    pub flags: u8,
    /// Encoding of names and text.
    pub encoding: u8,
    /// The Relation messages in force for the tables named here: an index of the session's memory, 0 when none.
    pub relation: u32,
}

impl Record {
    pub(crate) const FROM_CLIENT: u8 = 1;
    pub(crate) const STREAMED: u8 = 2;
    pub(crate) const GUESSED: u8 = 4;
    pub(crate) const TRUNCATES: u8 = 8;

    pub fn content(&self) -> Content {
        match self.content {
            1 => Content::CopyData,
            2 => Content::Backup,
            3 => Content::UntaggedBackup,
            4 => Content::Pgoutput,
            5 => Content::Unaligned,
            _ => Content::Other,
        }
    }

    pub fn payload(&self) -> Payload {
        match self.payload {
            1 => Payload::Pgoutput,
            2 => Payload::Physical,
            3 => Payload::OtherPlugin,
            _ => Payload::Unknown,
        }
    }

    pub fn from_client(&self) -> bool {
        self.flags & Self::FROM_CLIENT != 0
    }

    pub fn has_xid(&self) -> bool {
        self.flags & Self::STREAMED != 0
    }
}

/// What the sessions of one capture share. Its memory is bounded by `MAX_SLOTS`.
#[derive(Default)]
pub struct Shared {
    /// Output plugin of a slot of a server, from CREATE_REPLICATION_SLOT.
    plugins: HashMap<(u64, Vec<u8>), Vec<u8>>,
}

/// Slots that are remembered in a capture; later ones are not.
pub(crate) const MAX_SLOTS: usize = 10_000;

/// What the messages of the connection mean now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Queries and their results; also COPY rows, whatever they look like.
    Query,
    /// After CopyBothResponse.
    Replication(Payload),
    /// After CopyOutResponse to BASE_BACKUP; whether its messages are tagged shows at the first of them.
    Backup(Option<Content>),
}

/// One connection.
pub struct Session {
    shared: Rc<RefCell<Shared>>,
    /// Tells one server of the capture from another.
    server: u64,
    /// How XLogData is read when no START_REPLICATION was seen.
    unseen: Payload,
    mode: Mode,
    /// The client answers a replication stream. It may do so for a while after the server has ended it.
    client_answers: bool,
    /// The last command that was sent and not finished.
    command: Command,
    /// The transaction of the open block, between Stream Start and Stream Stop.
    stream: Option<u32>,
    /// client_encoding
    encoding: Encoding,
    memory: Memory,
    /// For each Truncate the Relations of its tables.
    truncations: Vec<Box<[Option<Rc<Relation>>]>>,
    /// The last row's table and the index of its Relation, for tables come in runs.
    last_lookup: Option<(u32, u32)>,
    /// The stream was guessed, and no record has said so yet.
    guessed: bool,
    wal: wal::Memory,
}

impl Session {
    pub fn new(shared: Rc<RefCell<Shared>>, server: u64, unseen: Payload) -> Session {
        Session {
            shared,
            server,
            unseen,
            mode: Mode::Query,
            client_answers: false,
            command: Command::Other,
            guessed: false,
            stream: None,
            encoding: Encoding::Utf8,
            memory: Memory::default(),
            truncations: Vec::new(),
            last_lookup: None,
            wal: wal::Memory::default(),
        }
    }

    /// CopyData of a replication stream or of a base backup comes now.
    pub fn in_copy(&self) -> bool {
        self.mode != Mode::Query
    }

    /// How long the message is that begins here, in the present mode of the connection. It asks for more evidence than
    /// the message itself: what begins here may be the middle of a message whose beginning was lost, and a wrong length
    /// would swallow what follows. `available` bytes of the segment are left.
    pub fn message_size(&self, direction: Direction, bytes: &[u8], available: usize) -> Size {
        let size = probe::message_size(direction, bytes);
        let streams = match direction {
            Direction::Backend => matches!(self.mode, Mode::Replication(_)),
            Direction::Frontend => self.client_answers,
        };
        match size {
            Size::Known(length) if streams => probe::in_stream(direction, bytes, length, available),
            size => size,
        }
    }

    /// A message of the connection, from its type byte (or, at startup, its length) on. `bytes` may be cut short.
    #[inline]
    pub fn track(&mut self, direction: Direction, bytes: &[u8], reported: usize, position: u64) -> Record {
        match (bytes.first(), direction) {
            (Some(b'd'), _) => {
                let payload = bytes.get(HEADER..).unwrap_or(&[]);
                return self.track_copy_data(direction, payload, reported.saturating_sub(HEADER), position);
            }
            (Some(b'Q'), Direction::Frontend) => {
                let text = bytes.get(HEADER..).unwrap_or(&[]);
                // Half a command, cut off by the capture, would be taken for another one.
                self.command = memchr::memchr(0, text).map_or(Command::Other, |end| Command::parse(&text[..end]));
                self.client_answers = false;
            }
            (Some(0), Direction::Frontend) => self.track_startup(bytes),
            (Some(b'S'), Direction::Backend) => self.track_parameters(bytes.get(HEADER..).unwrap_or(&[])),
            // The client has noticed that the stream is over, or never was in one.
            (Some(letter), Direction::Frontend) if *letter != b'c' => self.client_answers = false,
            (Some(b'W'), Direction::Backend) => self.begin_replication(),
            (Some(b'H'), Direction::Backend) if self.command == Command::BaseBackup => self.mode = Mode::Backup(None),
            (Some(b'H' | b'G'), Direction::Backend) => self.mode = Mode::Query,
            (Some(b'C'), Direction::Backend) => {
                self.mode = Mode::Query;
                self.remember_slot();
            }
            (Some(b'E'), Direction::Backend) => {
                self.mode = Mode::Query;
                self.command = Command::Other;
            }
            (Some(b'Z'), Direction::Backend) => {
                self.mode = Mode::Query;
                self.command = Command::Other;
            }
            _ => {}
        }
        Record::default()
    }

    /// StartupMessage: length, version, then parameters.
    fn track_startup(&mut self, bytes: &[u8]) {
        if bytes.get(4..6) == Some(&[0, 3]) {
            self.track_parameters(bytes.get(8..).unwrap_or(&[]));
        }
    }

    /// Names and values, each with a terminating zero: of StartupMessage, or the one of ParameterStatus.
    fn track_parameters(&mut self, bytes: &[u8]) {
        let mut left = bytes;
        // A value without its terminating zero was cut off by the capture.
        let mut string = || {
            let end = memchr::memchr(0, left)?;
            let text = &left[..end];
            left = &left[end + 1..];
            Some(text)
        };
        while let (Some(name), Some(value)) = (string(), string()) {
            if name == b"client_encoding" {
                self.encoding = Encoding::from_name(value);
            }
        }
    }

    /// A command that the caller knows to have succeeded; START_REPLICATION begins a new stream.
    pub fn command(&mut self, text: &[u8]) {
        self.command = Command::parse(text);
        self.remember_slot();
        if matches!(self.command, Command::StartReplication(_)) {
            self.mode = Mode::Query;
        }
    }

    /// CREATE_REPLICATION_SLOT has succeeded.
    fn remember_slot(&mut self) {
        if let Command::CreateReplicationSlot { slot, plugin: Some(plugin) } = &self.command {
            let plugins = &mut self.shared.borrow_mut().plugins;
            let key = (self.server, slot.clone());
            if plugins.len() < MAX_SLOTS || plugins.contains_key(&key) {
                plugins.insert(key, plugin.clone());
            }
        }
    }

    /// The connection is in the middle of a replication stream whose start was not captured.
    pub fn assume_replication(&mut self) {
        if !self.in_copy() {
            self.begin_replication();
            self.guessed = true;
        }
    }

    /// CopyBothResponse: the last START_REPLICATION is accepted.
    fn begin_replication(&mut self) {
        self.stream = None;
        self.last_lookup = None;
        self.memory.reset();
        self.wal.restart();
        let payload = match &self.command {
            Command::StartReplication(start) if !start.logical => Payload::Physical,
            Command::StartReplication(start) => {
                let shared = self.shared.borrow();
                let plugin = start.slot.as_ref().and_then(|slot| shared.plugins.get(&(self.server, slot.clone())));
                match plugin {
                    Some(plugin) if plugin == b"pgoutput" => Payload::Pgoutput,
                    None if start.is_for_pgoutput() => Payload::Pgoutput,
                    _ => Payload::OtherPlugin,
                }
            }
            _ => self.unseen,
        };
        self.mode = Mode::Replication(payload);
        self.client_answers = true;
    }

    /// CopyData of a stream that the caller knows to be replication, from its first payload byte on.
    pub fn track_replication(&mut self, direction: Direction, payload: &[u8], reported: usize, position: u64) -> Record {
        if !matches!(self.mode, Mode::Replication(_)) {
            self.begin_replication();
        }
        self.track_copy_data(direction, payload, reported, position)
    }

    #[inline]
    fn track_copy_data(&mut self, direction: Direction, payload: &[u8], reported: usize, position: u64) -> Record {
        if direction == Direction::Frontend {
            return match self.client_answers {
                true => self.copy_data_record(Payload::Unknown, Record::FROM_CLIENT),
                false => Record::default(),
            };
        }
        match self.mode {
            Mode::Query => Record::default(),
            Mode::Replication(kind) => {
                let mut record = self.copy_data_record(kind, 0);
                if kind == Payload::Pgoutput && payload.first() == Some(&b'w') {
                    const XLOG_DATA: usize = crate::formats::XLOG_DATA.min_length();
                    self.track_change(payload.get(XLOG_DATA..).unwrap_or(&[]), &mut record, position);
                }
                if kind == Payload::Physical && payload.first() == Some(&b'w') {
                    record.relation = self.wal.track(payload, reported);
                }
                record
            }
            Mode::Backup(known) => {
                let content = known.unwrap_or_else(|| {
                    let tagged = payload.first() == Some(&b'n') && walk::fits(Layer::BaseBackup, payload, reported);
                    if tagged {
                        Content::Backup
                    } else {
                        Content::UntaggedBackup
                    }
                });
                self.mode = Mode::Backup(Some(content));
                Record { content: content as u8, ..Record::default() }
            }
        }
    }

    #[inline]
    fn copy_data_record(&mut self, payload: Payload, flags: u8) -> Record {
        let guessed = if std::mem::take(&mut self.guessed) { Record::GUESSED } else { 0 };
        Record {
            content: Content::CopyData as u8,
            payload: payload as u8,
            flags: flags | guessed,
            encoding: self.encoding as u8,
            relation: 0,
        }
    }

    /// A pgoutput message without XLogData around it.
    pub fn track_pgoutput(&mut self, message: &[u8], position: u64) -> Record {
        let mut record = Record {
            content: Content::Pgoutput as u8,
            payload: Payload::Pgoutput as u8,
            encoding: self.encoding as u8,
            ..Record::default()
        };
        self.track_change(message, &mut record, position);
        record
    }

    /// The open stream block, and the tables that the message describes or names. Only what can stand nowhere else than
    /// outside a block closes it besides Stream Stop.
    #[inline]
    fn track_change(&mut self, message: &[u8], record: &mut Record, position: u64) {
        let Some(&tag) = message.first() else { return };
        let number = |at: usize| message.get(at..at + 4).map(|n| u32::from_be_bytes([n[0], n[1], n[2], n[3]]));
        match tag {
            b'I' | b'U' | b'D' | b'R' | b'Y' | b'T' | b'M' => {
                let mut body = 1;
                if self.stream.is_some() {
                    record.flags |= Record::STREAMED;
                    body += Format::Xid.min_length();
                }
                match tag {
                    b'I' | b'U' | b'D' => {
                        if let Some(oid) = number(body) {
                            record.relation = self.relation_in_force(oid);
                        }
                    }
                    b'R' => {
                        self.last_lookup = None;
                        let description = message.get(body..).unwrap_or(&[]);
                        record.relation = self.memory.add_relation(description, position, self.encoding, self.stream);
                    }
                    b'Y' => self.memory.add_type(message.get(body..).unwrap_or(&[])),
                    b'T' => {
                        record.flags |= Record::TRUNCATES;
                        record.relation = self.track_truncate(message.get(body..).unwrap_or(&[]));
                    }
                    _ => {}
                }
            }
            b'S' => self.set_stream(Some(number(formats::STREAM_START.offset(Field::Xid)).unwrap_or(0))),
            b'E' | b'B' | b'C' | b'b' | b'P' | b'K' | b'r' => self.set_stream(None),
            b'c' | b'p' | b'A' => {
                self.stream = None;
                self.last_lookup = None;
                let (message, keep) = match tag {
                    b'c' => (&formats::STREAM_COMMIT, true),
                    b'p' => (&formats::STREAM_PREPARE, true),
                    _ => (&formats::STREAM_ABORT, false),
                };
                let xid = number(message.offset(Field::Xid));
                // A subtransaction's abort leaves the rest of the transaction alone.
                let ends = tag != b'A' || xid == number(message.offset(Field::Subxid));
                if let (Some(xid), true) = (xid, ends) {
                    self.memory.end_stream(xid, keep);
                }
            }
            _ => {}
        }
    }

    #[inline]
    fn set_stream(&mut self, stream: Option<u32>) {
        if self.stream != stream {
            self.stream = stream;
            self.last_lookup = None;
        }
    }

    #[inline]
    fn relation_in_force(&mut self, oid: u32) -> u32 {
        match self.last_lookup {
            Some((last, index)) if last == oid => index,
            _ => {
                let index = self.memory.index_in_force(oid, self.stream);
                self.last_lookup = Some((oid, index));
                index
            }
        }
    }

    /// The tables of a Truncate, from its count on: an index of `truncations` and one more.
    fn track_truncate(&mut self, body: &[u8]) -> u32 {
        let Some(oids) = body.get(Format::Count32.min_length() + Format::Int8.min_length()..) else { return 0 };
        if self.truncations.len() >= relation::MAX_VERSIONS || oids.len() > 4 * MAX_TRUNCATED {
            return 0;
        }
        let relations = oids.chunks_exact(4).map(|oid| {
            let index = self.memory.index_in_force(u32::from_be_bytes([oid[0], oid[1], oid[2], oid[3]]), self.stream);
            self.memory.version(index).map(|version| version.relation.clone())
        });
        let relations: Box<[_]> = relations.collect();
        if relations.iter().all(Option::is_none) {
            return 0;
        }
        self.truncations.push(relations);
        self.truncations.len() as u32
    }

    /// The WAL records that begin or end in the record's message, an XLogData of a physical stream.
    pub fn wal_records<'c>(&self, record: &Record, message: &'c [u8]) -> impl Iterator<Item = wal::WalRecord> + use<'c> {
        self.names(record).wal.map(|chunk| chunk.records(message)).into_iter().flatten()
    }

    /// What the record's message says about tables beyond its bytes. Nothing of it is changed by later tracking.
    pub fn names(&self, record: &Record) -> Names<'_> {
        if record.payload() == Payload::Physical {
            return Names { relation: None, position: 0, truncated: &[], wal: self.wal.chunk(record.relation) };
        }
        if record.flags & Record::TRUNCATES != 0 {
            let list = (record.relation as usize).checked_sub(1).and_then(|i| self.truncations.get(i));
            return Names { relation: None, position: 0, truncated: list.map_or(&[], |list| list), wal: None };
        }
        let version = self.memory.version(record.relation);
        Names {
            relation: version.map(|version| &*version.relation),
            position: version.map_or(0, |version| version.position),
            truncated: &[],
            wal: None,
        }
    }
}

/// Names for one message, from the memory of its session.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The Relation of a row message, or that which a Relation message describes.
    pub relation: Option<&'a Relation>,
    /// Where it was described.
    pub position: u64,
    /// The Relations of a Truncate's tables, as far as they are known.
    pub truncated: &'a [Option<Rc<Relation>>],
    /// How the WAL in the message begins.
    pub wal: Option<wal::Chunk<'a>>,
}

/// Tables of one Truncate that are looked up.
const MAX_TRUNCATED: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        Session::new(Rc::default(), 0, Payload::Unknown)
    }

    fn message(letter: u8, body: &[u8]) -> Vec<u8> {
        [&[letter][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    fn track(session: &mut Session, direction: Direction, letter: u8, body: &[u8]) -> Record {
        let bytes = message(letter, body);
        session.track(direction, &bytes, bytes.len(), 0)
    }

    fn query(session: &mut Session, text: &str) {
        track(session, Direction::Frontend, b'Q', format!("{text}\0").as_bytes());
    }

    fn keepalive(session: &mut Session) -> Content {
        track(session, Direction::Backend, b'd', &[b"k".as_slice(), &[0; 17]].concat()).content()
    }

    #[test]
    fn copy_rows_are_never_replication() {
        let mut s = session();
        assert_eq!(keepalive(&mut s), Content::Other);
        query(&mut s, "COPY t TO STDOUT");
        track(&mut s, Direction::Backend, b'H', &[0, 0, 0]);
        assert_eq!(keepalive(&mut s), Content::Other);
        track(&mut s, Direction::Backend, b'c', &[]);
        track(&mut s, Direction::Backend, b'C', b"COPY 1\0");
        track(&mut s, Direction::Backend, b'Z', b"I");
        query(&mut s, "START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '1', publication_names 'p')");
        track(&mut s, Direction::Backend, b'W', &[0, 0, 0]);
        assert_eq!(keepalive(&mut s), Content::CopyData);
        // CopyData still follows CopyDone.
        track(&mut s, Direction::Frontend, b'c', &[]);
        track(&mut s, Direction::Backend, b'c', &[]);
        assert_eq!(keepalive(&mut s), Content::CopyData);
        track(&mut s, Direction::Backend, b'C', b"COPY 0\0");
        assert_eq!(keepalive(&mut s), Content::Other);
    }

    #[test]
    fn start_replication_decides_the_payload() {
        let shared: Rc<RefCell<Shared>> = Rc::default();
        let answered = |server: u64, commands: &[&str], failed: bool| {
            let mut s = Session::new(shared.clone(), server, Payload::Unknown);
            for text in commands {
                query(&mut s, text);
                if text.starts_with("CREATE") {
                    let (letter, answer) = if failed { (b'E', &b"SERROR\0\0"[..]) } else { (b'C', &b"CREATE_REPLICATION_SLOT\0"[..]) };
                    track(&mut s, Direction::Backend, letter, answer);
                    track(&mut s, Direction::Backend, b'Z', b"I");
                }
            }
            track(&mut s, Direction::Backend, b'W', &[0, 0, 0]);
            track(&mut s, Direction::Backend, b'd', b"w").payload()
        };
        let payload = |server: u64, commands: &[&str]| answered(server, commands, false);
        assert_eq!(payload(1, &["START_REPLICATION SLOT a LOGICAL 0/0 (proto_version '1', publication_names 'p')"]), Payload::Pgoutput);
        assert_eq!(payload(1, &["START_REPLICATION SLOT a LOGICAL 0/0"]), Payload::OtherPlugin);
        assert_eq!(payload(1, &["START_REPLICATION 0/0 TIMELINE 1"]), Payload::Physical);
        assert_eq!(payload(1, &[]), Payload::Unknown);
        // The plugin of a slot is known to all connections of that server, and wins over the options.
        let create = "CREATE_REPLICATION_SLOT a LOGICAL test_decoding";
        let start = "START_REPLICATION SLOT a LOGICAL 0/0 (proto_version '1')";
        assert_eq!(answered(1, &[create, start], true), Payload::Pgoutput, "there is no such slot");
        assert_eq!(payload(1, &[create, start]), Payload::OtherPlugin);
        assert_eq!(payload(1, &[start]), Payload::OtherPlugin);
        assert_eq!(payload(2, &[start]), Payload::Pgoutput);
    }

    /// Half a command is no command.
    #[test]
    fn a_cut_command_is_not_known() {
        let mut s = session();
        let text = b"START_REPLICATION SLOT a LOGICAL 0/0 (proto_version '1', publication_names 'p')\0";
        let whole = message(b'Q', text);
        s.track(Direction::Frontend, &whole[..50], whole.len(), 0);
        track(&mut s, Direction::Backend, b'W', &[0, 0, 0]);
        assert_eq!(track(&mut s, Direction::Backend, b'd', b"w").payload(), Payload::Unknown);
    }

    #[test]
    fn a_told_command_begins_a_new_stream() {
        let mut s = session();
        s.command(b"START_REPLICATION 0/0");
        assert_eq!(s.track_replication(Direction::Backend, b"w", 1, 0).payload(), Payload::Physical);
        s.command(b"START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '2', publication_names 'p')");
        let data = |change: &[u8]| [b"w".as_slice(), &[0; 24], change].concat();
        let start = data(b"S\0\0\x03\x20\x01");
        assert_eq!(s.track_replication(Direction::Backend, &start, start.len(), 0).payload(), Payload::Pgoutput);
        s.command(b"START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '2', publication_names 'p')");
        let insert = data(b"I");
        assert!(!s.track_replication(Direction::Backend, &insert, insert.len(), 0).has_xid());
    }

    #[test]
    fn a_new_stream_begins_outside_any_block() {
        let mut s = session();
        for round in 0..2 {
            query(&mut s, "START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '2', publication_names 'p', streaming 'on')");
            track(&mut s, Direction::Backend, b'W', &[0, 0, 0]);
            let mut change = |tag: u8| {
                let body = [b"w".as_slice(), &[0; 24], &[tag]].concat();
                track(&mut s, Direction::Backend, b'd', &body).has_xid()
            };
            assert!(!change(b'I'), "round {round}");
            change(b'S');
            assert!(change(b'I'));
            // The stream breaks off inside the block.
            track(&mut s, Direction::Backend, b'E', b"SERROR\0\0");
            track(&mut s, Direction::Backend, b'Z', b"I");
        }
    }

    #[test]
    fn the_client_may_answer_after_the_end() {
        let mut s = session();
        query(&mut s, "START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '1', publication_names 'p')");
        track(&mut s, Direction::Backend, b'W', &[0, 0, 0]);
        let status = [b"r".as_slice(), &[0; 33]].concat();
        let answers = |s: &mut Session| track(s, Direction::Frontend, b'd', &status).content() == Content::CopyData;
        assert!(answers(&mut s));
        track(&mut s, Direction::Frontend, b'c', &[]);
        track(&mut s, Direction::Backend, b'C', b"COPY 0\0");
        track(&mut s, Direction::Backend, b'Z', b"I");
        assert!(answers(&mut s));
        query(&mut s, "COPY t FROM STDIN");
        track(&mut s, Direction::Backend, b'G', &[0, 0, 0]);
        assert!(!answers(&mut s));
    }

    #[test]
    fn base_backups_with_and_without_tags() {
        for (first, content) in [(&b"nbase.tar\0\0"[..], Content::Backup), (b"base/1/PG_VERSION\0\0\0", Content::UntaggedBackup)] {
            let mut s = session();
            query(&mut s, "BASE_BACKUP LABEL 'x'");
            // Result sets come first.
            track(&mut s, Direction::Backend, b'C', b"SELECT\0");
            track(&mut s, Direction::Backend, b'H', &[0, 0, 0]);
            assert_eq!(track(&mut s, Direction::Backend, b'd', first).content(), content);
            assert_eq!(track(&mut s, Direction::Backend, b'd', b"dxyz").content(), content);
            track(&mut s, Direction::Backend, b'c', &[]);
            track(&mut s, Direction::Backend, b'Z', b"I");
            assert_eq!(track(&mut s, Direction::Backend, b'd', first).content(), Content::Other);
        }
    }
}
