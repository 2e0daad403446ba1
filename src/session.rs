//! Tracking: what earlier messages of a connection say about later ones.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use crate::command::{self, Command};
use crate::encoding::Encoding;
use crate::fields::Field;
use crate::formats::{self, Format, Layer};
use crate::plugins::{self, Mark};
use crate::probe::{self, Size, HEADER};
use crate::progress::{Acknowledgement, Progress, Status};
use crate::relation::{self, Memory, Relation};
use crate::transaction::{Archive, End, Facts, Transactions};
use crate::value::{long_at, number_at, xid_at};
use crate::wal;
use crate::walk;

/// Where and when a message was: a number of the caller's from 1 on, such as its frame, and nanoseconds of any clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    pub position: u32,
    pub time: Option<i64>,
}

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
    /// A Query that is a replication command.
    Command = 6,
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
    /// 8: `detail` is for a Truncate; 16: an earlier keepalive has asked for a reply that has not come; 32: the
    /// transaction before has not come to its end; 64: `detail` is for a commit or its kin; 128: xids have 8 bytes.
    pub flags: u8,
    /// Encoding of names and text.
    pub encoding: u8,
    /// What the session remembers for this kind of message, 0 when nothing: of a row or Relation the Relation in force,
    /// of a Truncate those of its tables, of a commit its acknowledgement, of a status update what was sent before, of
    /// physical WAL how it begins.
    pub detail: u32,
    /// The transaction that the message belongs to, as the session remembers it; 0 when none.
    pub transaction: u32,
}

impl Record {
    pub(crate) const FROM_CLIENT: u8 = 1;
    pub(crate) const STREAMED: u8 = 2;
    pub(crate) const GUESSED: u8 = 4;
    pub(crate) const TRUNCATES: u8 = 8;
    pub(crate) const UNANSWERED: u8 = 16;
    pub(crate) const UNFINISHED: u8 = 32;
    pub(crate) const COMMITS: u8 = 64;
    pub(crate) const WIDE_XID: u8 = 128;

    pub fn content(&self) -> Content {
        match self.content {
            1 => Content::CopyData,
            2 => Content::Backup,
            3 => Content::UntaggedBackup,
            4 => Content::Pgoutput,
            5 => Content::Unaligned,
            6 => Content::Command,
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

    /// Bytes of an xid.
    pub fn xid_size(&self) -> usize {
        formats::XID_SIZES[usize::from(self.flags & Self::WIDE_XID != 0)]
    }
}

/// A slot of a server, and the name of an output plugin.
type Slot = (u64, Vec<u8>);
pub type Plugin = Vec<u8>;

/// What the sessions of one capture share.
#[derive(Default)]
pub struct Shared {
    /// Output plugin of a slot of a server, from CREATE_REPLICATION_SLOT. Bounded by `MAX_SLOTS`.
    plugins: RefCell<HashMap<Slot, Plugin>>,
    archive: RefCell<Archive>,
}

/// Slots that are remembered in a capture; later ones are not.
pub(crate) const MAX_SLOTS: usize = 10_000;
/// Commands of a connection that wait for their end.
const MAX_COMMANDS: usize = 1000;

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

/// Where the stream is between Stream Start and Stream Stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Outside,
    /// In a block of this transaction; 0: not known of which.
    Inside(u64),
    /// Messages are missing.
    Unknown,
}

/// One connection.
pub struct Session {
    shared: Rc<Shared>,
    /// Tells one server of the capture from another.
    server: u64,
    /// How XLogData is read when no START_REPLICATION was seen.
    unseen: Payload,
    mode: Mode,
    /// The client answers a replication stream. It may do so for a while after the server has ended it.
    client_answers: bool,
    /// The commands that were sent and not finished, and where: the server works on the first.
    commands: VecDeque<(Command, u32)>,
    /// Where the START_REPLICATION of the stream is.
    start: u32,
    /// An ordinary COPY goes on.
    is_in_copy_of_rows: bool,
    /// The plugins of START_REPLICATION commands, by position; `MAX_SLOTS` of them at most.
    plugins: Vec<(u32, Plugin)>,
    block: Block,
    /// Bytes of an xid.
    xid_size: usize,
    transactions: Transactions,
    progress: Progress,
    /// client_encoding
    encoding: Encoding,
    memory: Memory,
    /// For each Truncate the Relations of its tables.
    truncations: Vec<Box<[Option<Rc<Relation>>]>>,
    /// The last row's table and the index of its Relation, for tables come in runs.
    last_lookup: Option<(u32, u32)>,
    /// The stream was guessed, and no record has said so yet.
    guessed: bool,
    /// The connection was captured from its beginning on, or the server has said since that it waits for a query, and
    /// nothing was lost after that.
    is_certain: bool,
    /// By direction: something is missing before the next message, so that it has to prove where it begins.
    is_torn: [bool; 2],
    wal: wal::Memory,
}

impl Session {
    pub fn new(shared: Rc<Shared>, server: u64, unseen: Payload) -> Session {
        Session {
            transactions: Transactions::new(server),
            progress: Progress::default(),
            shared,
            server,
            unseen,
            mode: Mode::Query,
            client_answers: false,
            commands: VecDeque::new(),
            start: 0,
            is_in_copy_of_rows: false,
            plugins: Vec::new(),
            guessed: false,
            is_certain: false,
            is_torn: [false; 2],
            block: Block::Outside,
            xid_size: formats::XID_SIZES[0],
            encoding: Encoding::Utf8,
            memory: Memory::default(),
            truncations: Vec::new(),
            last_lookup: None,
            wal: wal::Memory::default(),
        }
    }

    /// xids of pgoutput have 8 bytes, as Postgres Pro Enterprise sends them.
    pub fn set_wide_xids(&mut self, wide: bool) {
        self.xid_size = formats::XID_SIZES[usize::from(wide)];
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
            Size::Known(_) if streams && self.is_torn[direction as usize] && !probe::is_proved(direction, bytes, available) => {
                Size::NotAMessage
            }
            Size::Known(length) if streams => probe::in_stream(direction, bytes, length, available),
            size => size,
        }
    }

    /// Bytes before the first message of the segment that shows this connection to be in a replication stream whose
    /// start was not captured; None when there is none, or when the connection is known to do something else.
    pub fn find_replication(&self, direction: Direction, bytes: &[u8], available: usize) -> Option<usize> {
        if self.is_certain || self.in_copy() {
            return None;
        }
        // What it does now can be read: there is no need to look inside.
        if bytes.first() != Some(&b'd') && probe::is_plausible(direction, bytes, available) {
            return None;
        }
        Some(probe::find_stream(direction, bytes, available)).filter(|at| *at < available)
    }

    /// Whether a message that goes far beyond its segment is perhaps the middle of another one: waiting for its end would
    /// hide all that follows.
    pub fn doubts(&self, direction: Direction, bytes: &[u8], available: usize) -> bool {
        const MAX_DOUBTFUL: usize = 64 * 1024;
        match probe::message_size(direction, bytes) {
            Size::Known(length) if length > available + MAX_DOUBTFUL => {
                !self.is_certain && !probe::is_plausible(direction, bytes, available)
            }
            _ => false,
        }
    }

    /// A message of the connection, from its type byte (or, at startup, its length) on. `bytes` may be cut short.
    #[inline]
    pub fn track(&mut self, direction: Direction, bytes: &[u8], reported: usize, at: At) -> Record {
        self.is_torn[direction as usize] = false;
        match (bytes.first(), direction) {
            (Some(b'd'), _) => {
                let payload = bytes.get(HEADER..).unwrap_or(&[]);
                return self.track_copy_data(direction, payload, reported.saturating_sub(HEADER), at);
            }
            (Some(b'Q'), Direction::Frontend) => {
                let text = bytes.get(HEADER..).unwrap_or(&[]);
                // Half a command, cut off by the capture, would be taken for another one.
                let command = memchr::memchr(0, text).map_or(Command::Other, |end| Command::parse(&text[..end]));
                self.client_answers = false;
                if self.commands.len() == MAX_COMMANDS {
                    self.commands.pop_front();
                }
                if let Some(plugin) = self.plugin_of(&command).filter(|_| self.plugins.len() < MAX_SLOTS) {
                    self.plugins.push((at.position, plugin));
                }
                self.commands.push_back((command, at.position));
                if command::is_command(text) {
                    return Record { content: Content::Command as u8, encoding: self.encoding as u8, ..Record::default() };
                }
            }
            (Some(0), Direction::Frontend) => self.track_startup(bytes),
            (Some(b'S'), Direction::Backend) => self.track_parameters(bytes.get(HEADER..).unwrap_or(&[])),
            // The client has noticed that the stream is over, or never was in one.
            (Some(letter), Direction::Frontend) if *letter != b'c' => self.client_answers = false,
            (Some(b'W'), Direction::Backend) => self.begin_replication(),
            (Some(b'H'), Direction::Backend) if *self.present_command() == Command::BaseBackup => self.mode = Mode::Backup(None),
            (Some(b'H' | b'G'), Direction::Backend) => {
                self.mode = Mode::Query;
                self.is_in_copy_of_rows = true;
            }
            (Some(b'C'), Direction::Backend) => {
                self.mode = Mode::Query;
                self.is_in_copy_of_rows = false;
                self.remember_slot();
            }
            (Some(b'E'), Direction::Backend) => {
                self.mode = Mode::Query;
                self.is_in_copy_of_rows = false;
                if let Some((command, _)) = self.commands.front_mut() {
                    *command = Command::Other;
                }
            }
            (Some(b'Z'), Direction::Backend) => {
                self.is_certain = true;
                self.is_in_copy_of_rows = false;
                self.mode = Mode::Query;
                self.commands.pop_front();
            }
            _ => {}
        }
        Record::default()
    }

    /// StartupMessage: length, version, then parameters.
    fn track_startup(&mut self, bytes: &[u8]) {
        self.is_certain = true;
        if bytes.get(4..6) == Some(&[0, 3]) {
            // The server says when it is ready for the first command.
            self.commands.push_back((Command::Other, 0));
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
        self.commands = VecDeque::from([(Command::parse(text), 0)]);
        self.remember_slot();
        if matches!(self.present_command(), Command::StartReplication(_)) {
            self.mode = Mode::Query;
        }
    }

    /// CREATE_REPLICATION_SLOT or DROP_REPLICATION_SLOT has succeeded.
    fn remember_slot(&mut self) {
        let command = self.present_command();
        if let Command::DropReplicationSlot { slot } = command {
            self.shared.plugins.borrow_mut().remove(&(self.server, slot.clone()));
        }
        if let Command::CreateReplicationSlot { slot, plugin: Some(plugin) } = command {
            let plugins = &mut self.shared.plugins.borrow_mut();
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
            self.set_block(Block::Unknown);
            self.guessed = true;
            self.is_torn = [true; 2];
        }
    }

    /// CopyBothResponse: the last START_REPLICATION is accepted.
    fn begin_replication(&mut self) {
        // Nothing else is answered so: what was sent before it is done, whether its end was seen or not.
        let start = self.commands.iter().position(|(command, _)| matches!(command, Command::StartReplication(_)));
        self.commands.drain(..start.unwrap_or(0));
        self.set_block(Block::Outside);
        self.last_lookup = None;
        self.memory.reset();
        self.wal.restart();
        self.progress.reset();
        self.transactions.reset(match self.present_command() {
            Command::StartReplication(start) => start.slot.clone(),
            _ => None,
        });
        let payload = match self.present_command() {
            Command::StartReplication(start) if !start.logical => Payload::Physical,
            Command::StartReplication(start) => {
                let plugins = self.shared.plugins.borrow();
                let plugin = start.slot.as_ref().and_then(|slot| plugins.get(&(self.server, slot.clone())));
                match plugin {
                    Some(plugin) if plugin == b"pgoutput" => Payload::Pgoutput,
                    None if start.is_for_pgoutput() => Payload::Pgoutput,
                    _ => Payload::OtherPlugin,
                }
            }
            _ => self.unseen,
        };
        self.start = match self.commands.front() {
            Some((Command::StartReplication(_), position)) => *position,
            _ => 0,
        };
        self.mode = Mode::Replication(payload);
        self.client_answers = true;
    }

    /// Position of the START_REPLICATION of the stream that has begun last; 0 when it was not seen.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// The command that the server works on.
    fn present_command(&self) -> &Command {
        self.commands.front().map_or(&Command::Other, |(command, _)| command)
    }

    /// The output plugin that a START_REPLICATION will use, as far as that is known now.
    fn plugin_of(&self, command: &Command) -> Option<Plugin> {
        let Command::StartReplication(start) = command else { return None };
        let plugins = self.shared.plugins.borrow();
        let plugin = start.slot.as_ref().and_then(|slot| plugins.get(&(self.server, slot.clone()))).cloned();
        plugin.or_else(|| start.is_for_pgoutput().then(|| b"pgoutput".to_vec()))
    }

    /// What was known of the plugin of the START_REPLICATION at this position.
    pub fn plugin_at(&self, position: u32) -> Option<&[u8]> {
        let found = self.plugins.binary_search_by_key(&position, |(at, _)| *at).ok()?;
        Some(&self.plugins[found].1)
    }

    /// CopyData of a stream that the caller knows to be replication, from its first payload byte on.
    pub fn track_replication(&mut self, direction: Direction, payload: &[u8], reported: usize, at: At) -> Record {
        if !matches!(self.mode, Mode::Replication(_)) {
            self.begin_replication();
        }
        self.track_copy_data(direction, payload, reported, at)
    }

    #[inline]
    fn track_copy_data(&mut self, direction: Direction, payload: &[u8], reported: usize, at: At) -> Record {
        if direction == Direction::Frontend {
            if !self.client_answers {
                return Record::default();
            }
            let mut record = self.copy_data_record(Payload::Unknown, Record::FROM_CLIENT);
            if payload.first() == Some(&formats::STANDBY_STATUS_UPDATE.tag) {
                const FIELDS: [Field; 3] = [Field::StandbyWriteLsn, Field::StandbyFlushLsn, Field::StandbyApplyLsn];
                let told = FIELDS.map(|field| long_at(payload, formats::STANDBY_STATUS_UPDATE.offset(field)));
                if let [Some(write), Some(flush), Some(apply)] = told {
                    record.detail = self.progress.status([write, flush, apply], at);
                }
            }
            return record;
        }
        match self.mode {
            Mode::Query => Record::default(),
            Mode::Replication(mut kind) => {
                let mut inferred = 0;
                if kind == Payload::Unknown && payload.first() == Some(&b'w') {
                    kind = probe::payload(payload, reported, self.xid_size);
                    if kind != Payload::Unknown {
                        self.mode = Mode::Replication(kind);
                        inferred = Record::GUESSED;
                    }
                }
                let mut record = self.copy_data_record(kind, inferred);
                match payload.first() {
                    Some(b'w') => {
                        const HEADER: usize = formats::XLOG_DATA.min_length();
                        self.progress.sent(long_at(payload, formats::XLOG_DATA.offset(Field::WalEnd)).unwrap_or(0));
                        if kind == Payload::Pgoutput {
                            let start = long_at(payload, formats::XLOG_DATA.offset(Field::WalStart)).unwrap_or(0);
                            let message = Whole { bytes: payload.get(HEADER..).unwrap_or(&[]), reported: reported.saturating_sub(HEADER) };
                            self.track_change(message, Some(start), &mut record, at);
                        } else if kind == Payload::OtherPlugin {
                            record.transaction = self.track_other(payload.get(HEADER..).unwrap_or(&[]), reported, at);
                        } else if kind == Payload::Physical {
                            record.detail = self.wal.track(payload, reported);
                        }
                    }
                    Some(b'k') => {
                        const KEEPALIVE: &formats::Message = &formats::PRIMARY_KEEPALIVE_MESSAGE;
                        self.progress.sent(long_at(payload, KEEPALIVE.offset(Field::WalEnd)).unwrap_or(0));
                        let asks = payload.get(KEEPALIVE.offset(Field::ReplyRequested)).is_some_and(|byte| *byte != 0);
                        if self.progress.keepalive(asks, at) {
                            record.flags |= Record::UNANSWERED;
                        }
                    }
                    _ => {}
                }
                record
            }
            Mode::Backup(known) => {
                let content = known.unwrap_or_else(|| {
                    let tagged = payload.first() == Some(&b'n') && walk::fits(Layer::BaseBackup, payload, reported, false, self.xid_size);
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
            ..Record::default()
        }
    }

    /// A pgoutput message without XLogData around it.
    pub fn track_pgoutput(&mut self, message: &[u8], reported: usize, at: At) -> Record {
        let mut record = Record {
            content: Content::Pgoutput as u8,
            payload: Payload::Pgoutput as u8,
            encoding: self.encoding as u8,
            ..Record::default()
        };
        self.track_change(Whole { bytes: message, reported }, None, &mut record, at);
        record
    }

    /// What another output plugin says of transactions.
    fn track_other(&mut self, payload: &[u8], reported: usize, at: At) -> u32 {
        let bytes = reported.saturating_sub(formats::XLOG_DATA.min_length());
        let shared = self.shared.clone();
        let transactions = &mut self.transactions;
        let mark = plugins::mark(payload);
        if mark == Mark::Inside {
            return transactions.message(&shared.archive, None, false, at, bytes);
        }
        let archive = &mut *shared.archive.borrow_mut();
        match mark {
            Mark::Begin(xid) => transactions.begin(archive, xid.unwrap_or(0), 0, at, bytes).0,
            Mark::Commit => transactions.commit(archive, 0, at, bytes),
            Mark::Whole(xid) => {
                transactions.begin(archive, xid, 0, at, 0);
                transactions.commit(archive, 0, at, bytes)
            }
            Mark::Inside | Mark::None => 0,
        }
    }

    /// Messages of this direction were not captured, or not taken for messages.
    pub fn lose(&mut self, direction: Direction) {
        self.is_torn[direction as usize] = true;
        match direction {
            Direction::Frontend => self.progress.lose_answers(),
            Direction::Backend => {
                // The start of a stream may be among them, unless a COPY goes on.
                self.is_certain = self.is_certain && self.is_in_copy_of_rows;
                // So may the answers to all commands but the last.
                self.commands.drain(..self.commands.len().saturating_sub(1));
                self.set_block(Block::Unknown);
                self.transactions.lose();
            }
        }
    }

    /// What a message changes in the memory: the open block, its transaction, the tables that it describes or names.
    /// `start` is the WAL start of its XLogData.
    #[inline]
    fn track_change(&mut self, message: Whole, start: Option<u64>, record: &mut Record, at: At) {
        let Whole { bytes, reported } = message;
        let Some(&tag) = bytes.first() else { return };
        let number = |at: usize| number_at(bytes, at);
        if self.xid_size != formats::XID_SIZES[0] {
            record.flags |= Record::WIDE_XID;
        }
        match tag {
            b'I' | b'U' | b'D' | b'R' | b'Y' | b'T' | b'M' => {
                let mut body = 1;
                let mut xid = None;
                if self.is_streamed(message, start) {
                    record.flags |= Record::STREAMED;
                    xid = xid_at(bytes, body, self.xid_size);
                    body += self.xid_size;
                }
                let is_change = matches!(tag, b'I' | b'U' | b'D');
                let is_outside = tag == b'M' && bytes.get(body).is_none_or(|flags| flags & 1 == 0);
                if !is_outside {
                    record.transaction = self.transactions.message(&self.shared.archive, xid, is_change, at, reported);
                    if self.block == Block::Inside(0) {
                        self.set_block(Block::Inside(self.transactions.open_xid()));
                    }
                }
                match tag {
                    b'I' | b'U' | b'D' => {
                        if let Some(oid) = number(body) {
                            record.detail = self.relation_in_force(oid);
                        }
                    }
                    b'R' => {
                        self.last_lookup = None;
                        let description = bytes.get(body..).unwrap_or(&[]);
                        record.detail = self.memory.add_relation(description, at.position, self.encoding, self.stream());
                    }
                    b'Y' => self.memory.add_type(bytes.get(body..).unwrap_or(&[])),
                    b'T' => {
                        record.flags |= Record::TRUNCATES;
                        record.detail = self.track_truncate(bytes.get(body..).unwrap_or(&[]));
                    }
                    _ => {}
                }
            }
            _ => self.track_transaction(tag, message, record, at),
        }
    }

    /// Whether a message that has an xid only in a block has one.
    #[inline]
    fn is_streamed(&mut self, message: Whole, start: Option<u64>) -> bool {
        match self.block {
            Block::Outside => false,
            Block::Inside(_) => true,
            Block::Unknown => {
                let proved = probe::is_streamed(message.bytes, message.reported, start, self.xid_size);
                match proved {
                    Some(true) => self.set_block(Block::Inside(0)),
                    Some(false) => self.set_block(Block::Outside),
                    None => {}
                }
                proved == Some(true)
            }
        }
    }

    /// A message about transactions. Each of them stands outside of blocks but for Stream Start, which begins one, and
    /// Origin, which follows another.
    fn track_transaction(&mut self, tag: u8, message: Whole, record: &mut Record, at: At) {
        let Whole { bytes, reported } = message;
        let Some(format) = formats::find(Layer::Pgoutput, tag) else { return };
        let xid_size = self.xid_size;
        let number = |field: Field| xid_at(bytes, format.offset_with(field, xid_size), xid_size).unwrap_or(0);
        let long = |field: Field| long_at(bytes, format.offset_with(field, xid_size)).unwrap_or(0);
        let gid = || {
            let left = bytes.get(format.offset_with(Field::Gid, xid_size)..).unwrap_or(&[]);
            &left[..memchr::memchr(0, left).unwrap_or(left.len())]
        };
        let shared = self.shared.clone();
        let archive = &mut *shared.archive.borrow_mut();
        let transactions = &mut self.transactions;
        let mut block = Block::Outside;
        let mut unfinished = false;
        let mut end_lsn = None;
        // Rows that a streamed transaction has described stay described when it is kept.
        let mut ended_stream = None;
        record.transaction = match tag {
            b'B' | b'b' => {
                let record_start = if tag == b'B' { Field::FinalLsn } else { Field::PrepareLsn };
                let (index, before) = transactions.begin(archive, number(Field::Xid), long(record_start), at, reported);
                unfinished = before;
                index
            }
            b'O' => {
                record.transaction = transactions.origin(archive, reported);
                return;
            }
            b'S' => {
                let first = bytes.get(format.offset_with(Field::FirstSegment, xid_size)).is_some_and(|byte| *byte != 0);
                let (index, before) = transactions.start_block(archive, number(Field::Xid), first, at, reported);
                unfinished = before;
                block = Block::Inside(number(Field::Xid));
                index
            }
            b'E' => transactions.stop_block(reported),
            b'C' => {
                end_lsn = Some(long(Field::EndLsn));
                transactions.commit(archive, long(Field::CommitLsn), at, reported)
            }
            b'P' => {
                end_lsn = Some(long(Field::EndLsn));
                transactions.prepare(archive, number(Field::Xid), gid(), at, reported)
            }
            b'K' => {
                end_lsn = Some(long(Field::EndLsn));
                transactions.finish_prepared(archive, number(Field::Xid), gid(), End::Commit, at)
            }
            b'r' => {
                end_lsn = Some(long(Field::RollbackEndLsn));
                transactions.finish_prepared(archive, number(Field::Xid), gid(), End::Rollback, at)
            }
            b'c' => {
                end_lsn = Some(long(Field::EndLsn));
                ended_stream = Some((number(Field::Xid), true));
                transactions.end_stream(archive, number(Field::Xid), End::Commit, at, reported)
            }
            b'p' => {
                end_lsn = Some(long(Field::EndLsn));
                ended_stream = Some((number(Field::Xid), true));
                transactions.prepare_stream(archive, number(Field::Xid), gid(), at, reported)
            }
            b'A' if number(Field::Xid) == number(Field::Subxid) => {
                ended_stream = Some((number(Field::Xid), false));
                transactions.end_stream(archive, number(Field::Xid), End::Rollback, at, reported)
            }
            b'A' => transactions.abort_part(archive, number(Field::Xid), number(Field::Subxid), at, reported),
            _ => return,
        };
        if unfinished {
            record.flags |= Record::UNFINISHED;
        }
        if let Some(end_lsn) = end_lsn {
            record.flags |= Record::COMMITS;
            record.detail = self.progress.commit(end_lsn, at);
        }
        if let Some((xid, keep)) = ended_stream {
            self.last_lookup = None;
            self.memory.end_stream(xid, keep);
        }
        self.set_block(block);
    }

    /// The transaction of the block that is open.
    fn stream(&self) -> Option<u64> {
        match self.block {
            Block::Inside(xid) => Some(xid),
            _ => None,
        }
    }

    #[inline]
    fn set_block(&mut self, block: Block) {
        if self.block != block {
            self.block = block;
            self.last_lookup = None;
        }
    }

    #[inline]
    fn relation_in_force(&mut self, oid: u32) -> u32 {
        match self.last_lookup {
            Some((last, index)) if last == oid => index,
            _ => {
                let index = self.memory.index_in_force(oid, self.stream());
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
            let index = self.memory.index_in_force(u32::from_be_bytes([oid[0], oid[1], oid[2], oid[3]]), self.stream());
            self.memory.version(index).map(|version| version.relation.clone())
        });
        let relations: Box<[_]> = relations.collect();
        if relations.iter().all(Option::is_none) {
            return 0;
        }
        self.truncations.push(relations);
        self.truncations.len() as u32
    }

    /// What the session knows of the record's message beyond its bytes. Later tracking adds what was still to come, such
    /// as the end of a transaction, and changes nothing else.
    pub fn known(&self, record: &Record) -> Known<'_> {
        let mut known = Known { transaction: self.shared.archive.borrow().facts(record.transaction), ..Known::default() };
        match record.flags & (Record::TRUNCATES | Record::COMMITS | Record::FROM_CLIENT) {
            Record::TRUNCATES => {
                let list = (record.detail as usize).checked_sub(1).and_then(|i| self.truncations.get(i));
                known.truncated = list.map_or(&[], |list| list);
            }
            Record::COMMITS => known.acknowledgement = self.progress.acknowledgement(record.detail),
            Record::FROM_CLIENT => known.status = self.progress.status_at(record.detail),
            _ if record.payload() == Payload::Pgoutput => {
                if let Some(version) = self.memory.version(record.detail) {
                    (known.relation, known.position) = (Some(&*version.relation), version.position);
                }
            }
            _ if record.payload() == Payload::Physical => known.wal = self.wal.chunk(record.detail),
            _ => {}
        }
        known
    }

    /// The WAL records that begin or end in the record's message, an XLogData of a physical stream.
    pub fn wal_records<'c>(&self, record: &Record, message: &'c [u8]) -> impl Iterator<Item = wal::WalRecord> + use<'c> {
        self.known(record).wal.map(|chunk| chunk.records(message)).into_iter().flatten()
    }

    /// How many commits a status update acknowledges.
    pub fn acknowledgements(&self, record: &Record) -> u32 {
        self.status(record).map_or(0, |status| status.count)
    }

    /// One of them.
    pub fn acknowledged(&self, record: &Record, number: u32) -> Option<Acknowledgement> {
        self.progress.acknowledged(self.status(record)?, number)
    }

    fn status(&self, record: &Record) -> Option<Status> {
        if record.from_client() {
            self.progress.status_at(record.detail)
        } else {
            None
        }
    }
}

/// A message, as far as it was captured, and its length on the wire.
#[derive(Clone, Copy)]
struct Whole<'m> {
    bytes: &'m [u8],
    reported: usize,
}

/// What the memory of a session has on one message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// The Relation of a row message, or that which a Relation message describes.
    pub relation: Option<&'a Relation>,
    /// Where it was described.
    pub position: u32,
    /// The Relations of a Truncate's tables, as far as they are known.
    pub truncated: &'a [Option<Rc<Relation>>],
    /// How the WAL in the message begins.
    pub wal: Option<wal::Chunk<'a>>,
    pub transaction: Option<Facts>,
    /// Of a commit or its kin.
    pub acknowledgement: Option<Acknowledgement>,
    /// Of a status update.
    pub status: Option<Status>,
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
        session.track(direction, &bytes, bytes.len(), At::default())
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
        let shared: Rc<Shared> = Rc::default();
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

    /// Commands that are sent at once are answered in turn; an answer that was not seen does not matter.
    #[test]
    fn commands_wait_for_their_turn() {
        let start = "START_REPLICATION SLOT a LOGICAL 0/0 (proto_version '1', publication_names 'p')";
        for seen in [true, false] {
            let mut s = session();
            query(&mut s, "IDENTIFY_SYSTEM");
            query(&mut s, start);
            query(&mut s, "COPY t TO STDOUT");
            if seen {
                track(&mut s, Direction::Backend, b'C', b"IDENTIFY_SYSTEM\0");
                track(&mut s, Direction::Backend, b'Z', b"I");
            }
            track(&mut s, Direction::Backend, b'W', &[0, 0, 0]);
            assert_eq!(track(&mut s, Direction::Backend, b'd', b"w").payload(), Payload::Pgoutput, "{seen}");
            track(&mut s, Direction::Backend, b'C', b"COPY 0\0");
            track(&mut s, Direction::Backend, b'Z', b"I");
            track(&mut s, Direction::Backend, b'H', &[0, 0, 0]);
            assert_eq!(keepalive(&mut s), Content::Other);
        }
    }

    /// Half a command is no command.
    #[test]
    fn a_cut_command_is_not_known() {
        let mut s = session();
        let text = b"START_REPLICATION SLOT a LOGICAL 0/0 (proto_version '1', publication_names 'p')\0";
        let whole = message(b'Q', text);
        s.track(Direction::Frontend, &whole[..50], whole.len(), At::default());
        track(&mut s, Direction::Backend, b'W', &[0, 0, 0]);
        assert_eq!(track(&mut s, Direction::Backend, b'd', b"w").payload(), Payload::Unknown);
    }

    #[test]
    fn a_told_command_begins_a_new_stream() {
        let mut s = session();
        s.command(b"START_REPLICATION 0/0");
        assert_eq!(s.track_replication(Direction::Backend, b"w", 1, At::default()).payload(), Payload::Physical);
        s.command(b"START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '2', publication_names 'p')");
        let data = |change: &[u8]| [b"w".as_slice(), &[0; 24], change].concat();
        let start = data(b"S\0\0\x03\x20\x01");
        assert_eq!(s.track_replication(Direction::Backend, &start, start.len(), At::default()).payload(), Payload::Pgoutput);
        s.command(b"START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '2', publication_names 'p')");
        let insert = data(b"I");
        assert!(!s.track_replication(Direction::Backend, &insert, insert.len(), At::default()).has_xid());
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
