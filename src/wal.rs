//! Physical replication: pages and records of WAL, located in the chunks that XLogData carries.
//!
//! A chunk is a stretch of WAL files as they are. Files are made of pages (8 kB unless the server was built otherwise),
//! each with a header that tells its own WAL position; records lie one after another across pages, each from a multiple of
//! 8 bytes on. All integers are in the byte order of the server, unlike those of the protocol around them. Lengths are in
//! bytes. Layouts: src/include/access/xlog_internal.h (pages), xlogrecord.h (records) of PostgreSQL's source tree; they
//! are those of servers with 8-byte alignment, 9.5 and later.
//!
//! A chunk may end anywhere in a record. So tracking keeps the [`State`] in which each chunk begins, and a [`Reader`] that
//! sets out from it cuts the chunk into [`Piece`]s: the same for tracking, for walking and for counting.

use crate::fields::Field;
use crate::formats::XLOG_DATA;
use crate::rmgr::{OperationName, RmgrName};

/// Page headers' magic number of each major version.
const MAGICS: &[(u16, u8)] = &[
    (0xd087, 9),
    (0xd093, 9),
    (0xd097, 10),
    (0xd098, 11),
    (0xd101, 12),
    (0xd106, 13),
    (0xd10d, 14),
    (0xd110, 15),
    (0xd113, 16),
    (0xd116, 17),
    (0xd118, 18),
];

/// The lowest and the highest magic number that is taken for one; before them records had another layout.
const MAGIC_RANGE: std::ops::RangeInclusive<u16> = 0xd087..=0xd1ff;

/// Bits of xlp_info.
const CONTINUED: u16 = 0x0001;
const LONG_HEADER: u16 = 0x0002;
/// The record of the page before was given up; another bit since 19.
const OVERWRITES: u16 = 0x0008;
const OVERWRITES_19: u16 = 0x0004;
const ALL_INFO: u16 = 0x000f;

const SHORT_PAGE_HEADER: usize = 24;
/// The part of a page header that proves it: up to and with its own position.
const PAGE_PROOF: usize = 16;
const DEFAULT_PAGE_BITS: u8 = 13;
/// 1 kB to 64 kB.
const PAGE_BITS: std::ops::RangeInclusive<u8> = 10..=16;

const RECORD_HEADER: u32 = 24;
/// Bytes of the header that the checksum covers, after all the rest of the record.
const CHECKED_HEADER: usize = 20;
/// XLogRecordMaxSize
const MAX_RECORD: u32 = 1020 << 20;
const ALIGNMENT: u64 = 8;

/// Bits of a block reference's flags, and of those of its image.
const HAS_IMAGE: u8 = 0x10;
const SAME_RELATION: u8 = 0x80;
const HAS_HOLE: u8 = 0x01;

/// Bytes that the states of one connection's chunks may take; chunks after that stay bytes.
const MAX_BYTES: usize = 256 << 20;

/// Fields of a page header, in order; those after `Padding` are in long headers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageField {
    Magic,
    Info,
    Timeline,
    Address,
    Remaining,
    Padding,
    SystemId,
    SegmentSize,
    BlockSize,
}

const PAGE_FIELDS: [(PageField, u8); 9] = [
    (PageField::Magic, 2),
    (PageField::Info, 2),
    (PageField::Timeline, 4),
    (PageField::Address, 8),
    (PageField::Remaining, 4),
    (PageField::Padding, 4),
    (PageField::SystemId, 8),
    (PageField::SegmentSize, 4),
    (PageField::BlockSize, 4),
];

/// What comes next in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Step {
    #[default]
    Length,
    Xid,
    Prev,
    Info,
    Rmid,
    Padding,
    Crc,
    /// Says what the next fields are about.
    Id,
    BlockFlags,
    DataLength,
    ImageLength,
    HoleOffset,
    ImageInfo,
    HoleLength,
    Tablespace,
    Database,
    Relation,
    Block,
    Origin,
    TopXid,
    MainLength8,
    MainLength32,
    /// All that is left.
    Data,
}

/// Ids of what is no block reference.
const ID_TOP_XID: u8 = 252;
const ID_ORIGIN: u8 = 253;
const ID_MAIN_LONG: u8 = 254;
const ID_MAIN_SHORT: u8 = 255;
pub(crate) const MAX_BLOCK_ID: u8 = 32;

impl Step {
    pub fn width(self) -> usize {
        match self {
            Step::Info | Step::Rmid | Step::Id | Step::BlockFlags | Step::ImageInfo | Step::MainLength8 => 1,
            Step::Padding | Step::DataLength | Step::ImageLength | Step::HoleOffset | Step::HoleLength | Step::Origin => 2,
            Step::Prev => 8,
            Step::Data => 0,
            _ => 4,
        }
    }
}

/// The first bytes of a field that the page or the chunk cut in two.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    bytes: [u8; 8],
    length: u8,
}

/// A record in work.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pending {
    pub start: u64,
    /// The header, as far as it was read.
    header: [u8; RECORD_HEADER as usize],
    /// Length of the record; 0 until it is known.
    pub total: u32,
    /// Bytes read.
    done: u32,
    /// CRC-32C of what was read after the header.
    crc: u32,
    /// Bytes of images and data that block references and the main data's length have announced.
    announced: u64,
    pub step: Step,
    part: Part,
    pub id: u8,
    flags: u8,
    /// Tablespace, database and relation file of the last block reference that had them.
    pub relation: [u32; 3],
}

impl Pending {
    /// Info byte and resource manager, when the header is there so far.
    pub fn kind(&self) -> Option<(u8, u8)> {
        (self.done >= 18).then(|| (self.header[16], self.header[17]))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Where records are is not known.
    #[default]
    Lost,
    PageHeader,
    /// A record may begin, after bytes up to the next multiple of 8.
    Between,
    /// In a record.
    Record,
    /// In the rest of a record whose beginning is not known.
    Skip,
    /// In the zeros up to the end of the page.
    Tail,
}

/// All that is known at some point of the stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    mode: Mode,
    /// 0: not known.
    magic: u16,
    pub big_endian: bool,
    /// Logarithm of the page size, 0: not known.
    page_bits: u8,
    timeline: u32,
    /// Start of the record before; 0: not known.
    pub prev: u64,
    /// Bytes left of a record whose beginning is not known.
    skip: u32,
    /// The page header in work: where it begins, the next field, and what was read.
    pub page: u64,
    page_field: u8,
    page_info: u16,
    page_remaining: u32,
    page_part: Part,
    /// `record` is in work.
    pub pending: bool,
    pub record: Pending,
}

impl State {
    pub fn page_size(&self) -> u64 {
        1 << if self.page_bits == 0 { DEFAULT_PAGE_BITS } else { self.page_bits }
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        number(self.big_endian, bytes)
    }

    /// Major version of the server, 0 when it is not known.
    pub fn version(&self) -> u8 {
        MAGICS.iter().rev().find(|(magic, _)| *magic <= self.magic).map_or(0, |(_, version)| *version)
    }

    /// Bytes are missing: what was begun cannot be finished.
    fn lose(&mut self) {
        *self = State {
            magic: self.magic,
            big_endian: self.big_endian,
            page_bits: self.page_bits,
            timeline: self.timeline,
            ..State::default()
        };
    }

    /// Gives up the record in work, if there is one.
    fn drop_record(&mut self) -> Option<u64> {
        self.skip = 0;
        std::mem::take(&mut self.pending).then_some(self.record.start)
    }

    /// The byte order in which `header`, as much of it as there is, is that of the page at `position`.
    fn fits_page(&self, header: &[u8], position: u64) -> Option<bool> {
        let fits = |big_endian: &bool| {
            let number = |from: usize, to: usize| header.get(from..to).map(|bytes| number(*big_endian, bytes));
            let magic = match (number(0, 2), header.first()) {
                (Some(magic), _) => MAGIC_RANGE.contains(&(magic as u16)),
                // Half a magic number; no version's low half looks like its high half.
                (None, Some(first)) => matches!(first, 0xd0 | 0xd1) == *big_endian,
                (None, None) => false,
            };
            magic
                && number(2, 4).is_none_or(|info| info & !(ALL_INFO as u64) == 0)
                && number(8, 16).is_none_or(|address| address == position)
        };
        match self.magic {
            0 => [false, true].into_iter().find(fits),
            _ => Some(self.big_endian).filter(fits),
        }
    }

    /// The byte order in which a record, and not only chance, begins here.
    fn fits_record(&self, bytes: &[u8], position: u64) -> Option<bool> {
        let header = bytes.get(..RECORD_HEADER as usize)?;
        let fits = |big_endian: &bool| {
            let number = |from: usize, to: usize| number(*big_endian, &header[from..to]);
            let (total, prev) = (number(0, 4) as u32, number(8, 16));
            let there = bytes.get(..total as usize).filter(|_| u64::from(total) <= self.page_size() - position % self.page_size());
            (RECORD_HEADER..=MAX_RECORD).contains(&total)
                && (1..position).contains(&prev)
                && prev % ALIGNMENT == 0
                && header[16] & 0x0c == 0
                && RmgrName(header[17]).is_legal()
                && header[18..20] == [0, 0]
                && there.is_none_or(|record| record_crc(record) == number(20, 24) as u32)
        };
        match self.magic {
            0 => [false, true].into_iter().find(fits),
            _ => Some(self.big_endian).filter(fits),
        }
    }

    /// Images may be compressed; what says so differs.
    fn image_is_compressed(&self, image_info: u8) -> bool {
        image_info & if self.has_old_images() { 0x02 } else { 0x1c } != 0
    }

    /// Up to 14 one bit stood for compression, and another than later for applying the image.
    pub fn has_old_images(&self) -> bool {
        (1..15).contains(&self.version())
    }

    /// The bit of xlp_info that gives up the record before was another one up to 18.
    pub fn has_old_page_bits(&self) -> bool {
        self.magic <= 0xd118
    }
}

/// At most 8 bytes as a number.
fn number(big_endian: bool, bytes: &[u8]) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    match big_endian {
        true => bytes.iter().fold(0, add),
        false => bytes.iter().rev().fold(0, add),
    }
}

/// CRC-32C of a whole record.
fn record_crc(record: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&record[RECORD_HEADER as usize..]), &record[..CHECKED_HEADER])
}

/// Why pages or records cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// No page header stands where one should.
    NoPage,
    /// A record has an impossible length.
    Length(u32),
    /// The next page does not go on with the record that begins there.
    NotContinued(u64),
    /// The next page says that the record that begins there was given up.
    Overwritten(u64),
    /// Block references contradict the length of the record.
    Headers(u64),
    /// Where zeros should reach to the end of the page, something else stands.
    NotZero,
}

/// What some bytes of a chunk are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Page(PageField, u64),
    Record(Step, u64),
    /// The first bytes of a field, of a page header or of a record.
    PagePart,
    RecordPart,
    Data,
    /// Data of a record whose beginning is not known.
    Rest,
    /// Between records, after the last of a page, in a header.
    Padding,
    PagePadding,
    /// What could not be read.
    Unlocated,
    /// No bytes: a record ends here, its checksum is right or wrong.
    End(bool),
    /// No bytes: what follows or came before is not as it should be.
    Note(Reason),
}

/// A piece of a chunk and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub piece: Piece,
    pub offset: usize,
    pub length: usize,
}

/// Cuts a chunk into pieces that lie one after another from its first byte to its last.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'c> {
    pub bytes: &'c [u8],
    /// WAL position of the first byte.
    pub start: u64,
    pub at: usize,
    /// Where bytes of the record in work are that its checksum has not seen yet.
    unchecked: usize,
    pub state: State,
    note: Option<Reason>,
}

impl<'c> Reader<'c> {
    fn new(mut state: State, bytes: &'c [u8], start: u64) -> Reader<'c> {
        // A server begins chunks inside a page at the beginning of a record only.
        if state.mode == Mode::Lost && start % ALIGNMENT == 0 && start % state.page_size() != 0 {
            if let Some(big_endian) = state.fits_record(bytes, start) {
                (state.mode, state.big_endian) = (Mode::Between, big_endian);
            }
        }
        Reader { bytes, start, at: 0, unchecked: 0, state, note: None }
    }

    fn position(&self) -> u64 {
        self.start.wrapping_add(self.at as u64)
    }

    fn page_left(&self) -> usize {
        let size = self.state.page_size();
        (size - self.position() % size) as usize
    }

    fn left(&self) -> &'c [u8] {
        &self.bytes[self.at..]
    }

    fn take(&mut self, piece: Piece, length: usize) -> Option<Seen> {
        let offset = self.at;
        self.at += length;
        Some(Seen { piece, offset, length })
    }

    /// The next piece; none at the end of the chunk.
    pub fn next(&mut self) -> Option<Seen> {
        loop {
            if let Some(reason) = self.note.take() {
                return self.take(Piece::Note(reason), 0);
            }
            if self.state.pending && self.state.record.step == Step::Data && self.state.record.done == self.state.record.total {
                return self.end_record();
            }
            if self.at == self.bytes.len() {
                self.check_so_far();
                return None;
            }
            let at_page = self.position() % self.state.page_size() == 0;
            let seen = match self.state.mode {
                Mode::PageHeader => self.page_field(),
                Mode::Lost => self.lost(),
                _ if at_page => self.page(),
                Mode::Between => self.between(),
                Mode::Record => self.record(),
                Mode::Skip => self.skip(),
                Mode::Tail => self.tail(),
            };
            if seen.is_some() {
                return seen;
            }
        }
    }

    /// Goes to the end of the chunk.
    fn run(&mut self) {
        loop {
            self.pass_records();
            if self.next().is_none() {
                return;
            }
        }
    }

    /// Passes records that lie in this page and this chunk, for which nothing need be kept.
    fn pass_records(&mut self) {
        while self.state.mode == Mode::Between && self.note.is_none() && self.position() % self.state.page_size() != 0 {
            let room = self.page_left().min(self.left().len());
            let Some(total) = self.left().get(..4).map(|bytes| self.state.number(bytes) as usize) else { return };
            let padded = total.next_multiple_of(ALIGNMENT as usize);
            if self.position() % ALIGNMENT != 0 || total < RECORD_HEADER as usize || padded > room {
                return;
            }
            self.state.prev = self.position();
            self.at += padded;
        }
    }

    /// The beginning of a page.
    fn page(&mut self) -> Option<Seen> {
        self.check_so_far();
        let header = &self.left()[..self.left().len().min(SHORT_PAGE_HEADER)];
        if header.iter().all(|byte| *byte == 0) {
            // The rest of a segment that was switched.
            self.note = self.state.drop_record().map(Reason::NotContinued);
            self.state.mode = Mode::Tail;
            return self.tail();
        }
        match self.state.fits_page(header, self.position()) {
            Some(big_endian) => self.begin_page(big_endian),
            None => self.lose(Reason::NoPage),
        }
        None
    }

    fn begin_page(&mut self, big_endian: bool) {
        self.state.big_endian = big_endian;
        self.state.mode = Mode::PageHeader;
        self.state.page = self.position();
        self.state.page_field = 0;
        self.state.page_part.length = 0;
    }

    fn lose(&mut self, reason: Reason) {
        self.state.lose();
        self.note = Some(reason);
    }

    /// A number of `width` bytes from here, or its first part.
    fn collect(&mut self, page: bool, width: usize, room: usize) -> Result<(u64, usize), usize> {
        let part = if page { &mut self.state.page_part } else { &mut self.state.record.part };
        let have = part.length as usize;
        let taken = (width - have).min(room);
        part.bytes[have..have + taken].copy_from_slice(&self.bytes[self.at..self.at + taken]);
        part.length += taken as u8;
        if have + taken < width {
            return Err(taken);
        }
        part.length = 0;
        let bytes = part.bytes;
        Ok((self.state.number(&bytes[..width]), taken))
    }

    fn page_field(&mut self) -> Option<Seen> {
        let (field, width) = PAGE_FIELDS[self.state.page_field as usize];
        let (value, length) = match self.collect(true, width.into(), self.left().len()) {
            Ok(there) => there,
            Err(length) => return self.take(Piece::PagePart, length),
        };
        let seen = self.take(if field == PageField::Padding { Piece::PagePadding } else { Piece::Page(field, value) }, length);
        self.state.page_field += 1;
        match field {
            PageField::Magic if !MAGIC_RANGE.contains(&(value as u16)) => self.lose(Reason::NoPage),
            PageField::Magic => self.state.magic = value as u16,
            PageField::Info if value as u16 & !ALL_INFO != 0 => self.lose(Reason::NoPage),
            PageField::Info => self.state.page_info = value as u16,
            PageField::Timeline => {
                // Across a switch the chain of records may be another one.
                if self.state.timeline != value as u32 {
                    self.state.prev = 0;
                }
                self.state.timeline = value as u32;
            }
            PageField::Address if value != self.state.page => self.lose(Reason::NoPage),
            PageField::Remaining => self.state.page_remaining = value as u32,
            PageField::Padding if self.state.page_info & LONG_HEADER == 0 => self.end_page_header(),
            PageField::BlockSize => {
                let bits = value.trailing_zeros() as u8;
                if value.is_power_of_two() && PAGE_BITS.contains(&bits) {
                    self.state.page_bits = bits;
                }
                self.end_page_header();
            }
            _ => {}
        }
        seen
    }

    /// Decides what the page begins with.
    fn end_page_header(&mut self) {
        if self.state.page_bits == 0 {
            self.measure_page();
        }
        self.unchecked = self.at;
        let (info, remaining) = (self.state.page_info, self.state.page_remaining);
        let overwrites = info & if self.state.has_old_page_bits() { OVERWRITES } else { OVERWRITES_19 } != 0;
        if overwrites {
            self.note = self.state.drop_record().map(Reason::Overwritten);
            self.state.mode = Mode::Between;
        } else if info & CONTINUED != 0 && remaining > 0 {
            let record = &self.state.record;
            if self.state.pending && record.total > 0 && record.total - record.done == remaining {
                self.state.mode = Mode::Record;
                return;
            }
            self.note = self.state.drop_record().map(Reason::NotContinued);
            self.state.prev = 0;
            self.state.skip = remaining;
            self.state.mode = Mode::Skip;
        } else {
            let was_in_record = self.state.skip > 0 || self.state.pending;
            self.note = self.state.drop_record().map(Reason::NotContinued);
            if was_in_record {
                self.state.prev = 0;
            }
            self.state.mode = Mode::Between;
        }
    }

    /// Finds the size of pages by the next page header, where it is in this chunk.
    fn measure_page(&mut self) {
        let page = self.state.page;
        let Some(offset) = page.checked_sub(self.start) else { return };
        self.state.page_bits = PAGE_BITS
            .into_iter()
            .find(|bits| {
                let size = 1_usize << bits;
                let header = self.bytes.get(offset as usize + size..).and_then(|bytes| bytes.get(..PAGE_PROOF));
                header.is_some_and(|header| self.state.fits_page(header, page.wrapping_add(size as u64)).is_some())
            })
            .unwrap_or(0);
    }

    /// Looks for a page header that is one.
    fn lost(&mut self) -> Option<Seen> {
        let zeros = zeros(self.left());
        if zeros >= SHORT_PAGE_HEADER || zeros == self.left().len() {
            return self.take(Piece::Padding, zeros);
        }
        let size = self.state.page_size();
        let grid = if self.state.page_bits == 0 { 1 << PAGE_BITS.start() } else { size };
        let mut at = self.at;
        loop {
            let position = self.start.wrapping_add(at as u64);
            at += (position.wrapping_neg() % grid) as usize;
            let Some(header) = self.bytes.get(at..).filter(|header| !header.is_empty()) else {
                return self.take(Piece::Unlocated, self.left().len());
            };
            let position = self.start.wrapping_add(at as u64);
            let header = &header[..header.len().min(SHORT_PAGE_HEADER)];
            // Half a header does for a proof where one must be.
            let enough = header.len() >= PAGE_PROOF || position % size == 0;
            match self.state.fits_page(header, position).filter(|_| enough) {
                Some(big_endian) if at == self.at => {
                    self.begin_page(big_endian);
                    return None;
                }
                Some(_) => return self.take(Piece::Unlocated, at - self.at),
                None => at += 1,
            }
        }
    }

    fn tail(&mut self) -> Option<Seen> {
        let room = self.page_left().min(self.left().len());
        match zeros(&self.left()[..room]) {
            0 => {
                self.lose(Reason::NotZero);
                None
            }
            zeros => self.take(Piece::Padding, zeros),
        }
    }

    fn between(&mut self) -> Option<Seen> {
        let position = self.position();
        if position % ALIGNMENT != 0 {
            let length = (ALIGNMENT - position % ALIGNMENT) as usize;
            return self.take(Piece::Padding, length.min(self.left().len()));
        }
        let total = self.left().get(..4).map(|bytes| self.state.number(bytes) as u32);
        match total {
            Some(0) => self.state.mode = Mode::Tail,
            Some(total) if !(RECORD_HEADER..=MAX_RECORD).contains(&total) => self.lose(Reason::Length(total)),
            _ => {
                self.state.record = Pending { start: position, ..Pending::default() };
                self.state.pending = true;
                self.state.mode = Mode::Record;
            }
        }
        None
    }

    fn skip(&mut self) -> Option<Seen> {
        let length = self.page_left().min(self.left().len()).min(self.state.skip as usize);
        self.state.skip -= length as u32;
        if self.state.skip == 0 {
            self.state.mode = Mode::Between;
        }
        self.take(Piece::Rest, length)
    }

    fn record(&mut self) -> Option<Seen> {
        let room = self.page_left().min(self.left().len());
        let record = &mut self.state.record;
        let step = record.step;
        let left = record.total.saturating_sub(record.done) as usize;
        if step == Step::Data {
            let length = room.min(left);
            record.done += length as u32;
            return self.take(Piece::Data, length);
        }
        let width = step.width();
        if record.total > 0 && left < width - record.part.length as usize {
            record.step = Step::Data;
            self.note = Some(Reason::Headers(record.start));
            return None;
        }
        let read = self.collect(false, width, room);
        let (Ok((_, length)) | Err(length)) = read;
        let record = &mut self.state.record;
        let done = record.done as usize;
        if done < RECORD_HEADER as usize {
            record.header[done..done + length].copy_from_slice(&self.bytes[self.at..self.at + length]);
        }
        record.done += length as u32;
        match read {
            Err(length) => self.take(Piece::RecordPart, length),
            Ok((value, length)) => {
                let piece = match step {
                    Step::Padding => Piece::Padding,
                    Step::Length if value == 0 => Piece::Padding,
                    _ => Piece::Record(step, value),
                };
                let seen = self.take(piece, length);
                self.after(step, value);
                seen
            }
        }
    }

    /// What a field of a record says about the next.
    fn after(&mut self, step: Step, value: u64) {
        let compressed = self.state.image_is_compressed(value as u8);
        let record = &mut self.state.record;
        record.step = match step {
            Step::Length => return self.after_length(value as u32),
            Step::Xid => Step::Prev,
            Step::Prev => Step::Info,
            Step::Info => Step::Rmid,
            Step::Rmid => Step::Padding,
            Step::Padding => Step::Crc,
            Step::Crc => {
                self.unchecked = self.at;
                return self.next_id();
            }
            Step::Id => {
                record.id = value as u8;
                match record.id {
                    0..=MAX_BLOCK_ID => Step::BlockFlags,
                    ID_MAIN_SHORT => Step::MainLength8,
                    ID_MAIN_LONG => Step::MainLength32,
                    ID_ORIGIN => Step::Origin,
                    ID_TOP_XID => Step::TopXid,
                    _ => {
                        self.note = Some(Reason::Headers(record.start));
                        Step::Data
                    }
                }
            }
            Step::BlockFlags => {
                record.flags = value as u8;
                Step::DataLength
            }
            Step::DataLength => {
                record.announced += value;
                if record.flags & HAS_IMAGE != 0 {
                    Step::ImageLength
                } else {
                    record.relation_or_block()
                }
            }
            Step::ImageLength => {
                record.announced += value;
                Step::HoleOffset
            }
            Step::HoleOffset => Step::ImageInfo,
            Step::ImageInfo if compressed && value as u8 & HAS_HOLE != 0 => Step::HoleLength,
            Step::ImageInfo | Step::HoleLength => record.relation_or_block(),
            Step::Tablespace => {
                record.relation[0] = value as u32;
                Step::Database
            }
            Step::Database => {
                record.relation[1] = value as u32;
                Step::Relation
            }
            Step::Relation => {
                record.relation[2] = value as u32;
                Step::Block
            }
            Step::Block | Step::Origin | Step::TopXid => return self.next_id(),
            Step::MainLength8 | Step::MainLength32 => {
                record.announced += value;
                if record.announced != u64::from(record.total - record.done) {
                    self.note = Some(Reason::Headers(record.start));
                }
                Step::Data
            }
            Step::Data => Step::Data,
        };
    }

    /// Judges a length that the end of a chunk had cut in two; others were judged before their record began.
    fn after_length(&mut self, total: u32) {
        match total {
            0 => {
                self.state.pending = false;
                self.state.mode = Mode::Tail;
            }
            RECORD_HEADER..=MAX_RECORD => {
                self.state.record.total = total;
                self.state.record.step = Step::Xid;
            }
            _ => self.lose(Reason::Length(total)),
        }
    }

    /// Headers go on until what they have announced fills the record.
    fn next_id(&mut self) {
        let record = &mut self.state.record;
        let left = u64::from(record.total - record.done);
        record.step = if left > record.announced { Step::Id } else { Step::Data };
        if left < record.announced {
            self.note = Some(Reason::Headers(record.start));
        }
    }

    /// The checksum of what was read of the record in work.
    fn check_so_far(&mut self) {
        let record = &mut self.state.record;
        if self.state.mode == Mode::Record && record.done > RECORD_HEADER {
            record.crc = crc32c::crc32c_append(record.crc, &self.bytes[self.unchecked..self.at]);
        }
        self.unchecked = self.at;
    }

    fn end_record(&mut self) -> Option<Seen> {
        self.check_so_far();
        let record = &self.state.record;
        let crc = crc32c::crc32c_append(record.crc, &record.header[..CHECKED_HEADER]);
        let right = self.state.number(&record.header[CHECKED_HEADER..]) == u64::from(crc);
        self.state.prev = record.start;
        self.state.pending = false;
        self.state.mode = Mode::Between;
        self.take(Piece::End(right), 0)
    }
}

impl Pending {
    fn relation_or_block(&self) -> Step {
        match self.flags & SAME_RELATION {
            0 => Step::Tablespace,
            _ => Step::Block,
        }
    }
}

/// A block reference, in short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockAhead {
    pub relation: [u32; 3],
    pub fork: u8,
    pub block: u32,
    pub has_image: bool,
}

impl Reader<'_> {
    /// The block reference that begins with its id at `offset`, where neither page nor chunk ends within it.
    pub fn block_ahead(&self, offset: usize) -> Option<BlockAhead> {
        let size = self.state.page_size();
        let room = size - self.start.wrapping_add(offset as u64) % size;
        let bytes = self.bytes.get(offset..)?;
        let bytes = &bytes[..bytes.len().min(room as usize)];
        let number = |at: usize| Some(self.state.number(bytes.get(at..at + 4)?) as u32);
        let flags = *bytes.get(1)?;
        let mut at = 4;
        if flags & HAS_IMAGE != 0 {
            let info = *bytes.get(at + 4)?;
            at += 5 + if self.state.image_is_compressed(info) && info & HAS_HOLE != 0 { 2 } else { 0 };
        }
        let mut relation = self.state.record.relation;
        if flags & SAME_RELATION == 0 {
            relation = [number(at)?, number(at + 4)?, number(at + 8)?];
            at += 12;
        }
        Some(BlockAhead { relation, fork: flags & 0x0f, block: number(at)?, has_image: flags & HAS_IMAGE != 0 })
    }
}

/// Zeros that `bytes` begin with.
fn zeros(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len())
}

/// How a chunk begins, as it is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'m>(Begin<'m>);

#[derive(Clone, Copy, Debug)]
enum Begin<'m> {
    Plain(&'m Plain),
    InData(&'m InData),
    Full(&'m State),
}

/// A state without anything in work: where most chunks begin.
#[derive(Clone, Copy, Debug)]
struct Plain {
    prev: u64,
    timeline: u32,
    magic: u16,
    page_bits: u8,
    /// Byte order and mode.
    mode: u8,
}

const BIG_ENDIAN: u8 = 0x80;
const PLAIN: [Mode; 3] = [Mode::Lost, Mode::Between, Mode::Tail];

impl Plain {
    fn new(state: &State) -> Plain {
        let mode = PLAIN.iter().position(|mode| *mode == state.mode).unwrap_or(0) as u8;
        Plain {
            prev: state.prev,
            timeline: state.timeline,
            magic: state.magic,
            page_bits: state.page_bits,
            mode: mode | if state.big_endian { BIG_ENDIAN } else { 0 },
        }
    }

    fn state(&self) -> State {
        State {
            mode: PLAIN[(self.mode & !BIG_ENDIAN) as usize],
            magic: self.magic,
            big_endian: self.mode & BIG_ENDIAN != 0,
            page_bits: self.page_bits,
            timeline: self.timeline,
            prev: self.prev,
            ..State::default()
        }
    }
}

/// A state in the data of a record: where most of the other chunks begin.
#[derive(Clone, Copy, Debug)]
struct InData {
    plain: Plain,
    start: u64,
    header: [u8; RECORD_HEADER as usize],
    done: u32,
    crc: u32,
}

impl InData {
    fn new(state: &State) -> InData {
        let Pending { start, header, done, crc, .. } = state.record;
        InData { plain: Plain::new(state), start, header, done, crc }
    }

    fn state(&self) -> State {
        let plain = self.plain.state();
        let InData { start, header, done, crc, .. } = *self;
        let total = plain.number(&header[..4]) as u32;
        let record = Pending { start, header, total, done, crc, step: Step::Data, ..Pending::default() };
        State { mode: Mode::Record, pending: true, record, ..plain }
    }
}

impl Chunk<'_> {
    fn state(&self) -> State {
        match self.0 {
            Begin::Plain(plain) => plain.state(),
            Begin::InData(record) => record.state(),
            Begin::Full(state) => *state,
        }
    }

    /// A reader for the payload of the XLogData that this belongs to.
    pub(crate) fn reader<'c>(&self, message: &'c [u8]) -> Reader<'c> {
        let (start, bytes) = split(message).unwrap_or_default();
        Reader::new(self.state(), bytes, start)
    }

    /// The records that begin or end in the message, in order.
    pub fn records<'c>(&self, message: &'c [u8]) -> Records<'c> {
        let reader = self.reader(message);
        let state = &reader.state;
        let begun = (state.pending && state.record.total > 0).then_some(state.record.start);
        Records { reader, begun, done: false }
    }
}

/// WAL position and WAL of an XLogData message; None when nothing of the WAL is there.
fn split(message: &[u8]) -> Option<(u64, &[u8])> {
    const START: usize = XLOG_DATA.offset(Field::WalStart);
    let start = message.get(START..START + 8)?;
    let bytes = message.get(XLOG_DATA.min_length()..).filter(|bytes| !bytes.is_empty())?;
    Some((number(true, start), bytes))
}

/// A list whose members never move.
#[derive(Debug)]
struct List<T> {
    blocks: Vec<Vec<T>>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { blocks: Vec::new() }
    }
}

impl<T> List<T> {
    const BLOCK: usize = 256;

    /// Adds a member; its index.
    fn push(&mut self, member: T) -> usize {
        if self.blocks.last().is_none_or(|block| block.len() == Self::BLOCK) {
            self.blocks.push(Vec::with_capacity(Self::BLOCK));
        }
        let before = (self.blocks.len() - 1) * Self::BLOCK;
        let block = self.blocks.last_mut().expect("one was pushed");
        block.push(member);
        before + block.len() - 1
    }

    fn get(&self, index: usize) -> Option<&T> {
        self.blocks.get(index / Self::BLOCK)?.get(index % Self::BLOCK)
    }
}

/// What a session remembers of its physical stream: 16 bytes for a chunk that begins between records, 56 within the data
/// of one, about three times as many within its headers.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// State at the end of the last chunk, and its position.
    state: State,
    end: Option<u64>,
    plain: List<Plain>,
    in_data: List<InData>,
    full: List<State>,
    bytes: usize,
}

const _: () = assert!(size_of::<Plain>() == 16 && size_of::<InData>() == 56 && size_of::<State>() <= 168);

impl Memory {
    /// A new stream begins.
    pub fn restart(&mut self) {
        self.state = State::default();
        self.end = None;
    }

    /// Follows the WAL of an XLogData message and remembers how it began: the number for `chunk()`, 0 when it has none.
    pub fn track(&mut self, message: &[u8], reported: usize) -> u32 {
        let left = reported.saturating_sub(XLOG_DATA.min_length());
        if left == 0 {
            return 0;
        }
        let Some((start, bytes)) = split(message) else {
            self.end = None;
            return 0;
        };
        if self.end != Some(start) {
            self.state.lose();
        }
        let number = self.remember();
        let mut reader = Reader::new(self.state, bytes, start);
        reader.run();
        self.state = reader.state;
        self.end = Some(start.wrapping_add(bytes.len() as u64)).filter(|_| bytes.len() == left);
        number
    }

    fn remember(&mut self) -> u32 {
        if self.bytes >= MAX_BYTES {
            return 0;
        }
        let state = &self.state;
        let (index, kind, size) = match state.mode {
            Mode::Lost | Mode::Between | Mode::Tail => (self.plain.push(Plain::new(state)), 0, size_of::<Plain>()),
            Mode::Record if state.record.step == Step::Data => (self.in_data.push(InData::new(state)), 1, size_of::<InData>()),
            _ => (self.full.push(*state), 2, size_of::<State>()),
        };
        self.bytes += size;
        (index * 3 + kind + 1) as u32
    }

    /// The chunk with the number that `track()` gave.
    pub fn chunk(&self, number: u32) -> Option<Chunk<'_>> {
        let number = (number as usize).checked_sub(1)?;
        let index = number / 3;
        Some(Chunk(match number % 3 {
            0 => Begin::Plain(self.plain.get(index)?),
            1 => Begin::InData(self.in_data.get(index)?),
            _ => Begin::Full(self.full.get(index)?),
        }))
    }
}

/// A record of WAL, as one chunk shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalRecord {
    /// WAL position of its first byte.
    pub lsn: u64,
    /// Length in bytes, without page headers and padding.
    pub length: u32,
    /// Info byte and resource manager, when they are known: not where the chunk ends within the header.
    pub kind: Option<(u8, u8)>,
    /// It begins in this chunk, that is: its length becomes known.
    pub begins: bool,
    /// It ends in this chunk; whether its checksum is right.
    pub ends: Option<bool>,
    /// Transaction and position of the record before, when the header is there.
    pub header: Option<(u32, u64)>,
    /// Major version of the server, 0 when it is not known.
    pub version: u8,
}

impl WalRecord {
    pub fn rmgr(&self) -> Option<RmgrName> {
        self.kind.map(|(_, rmid)| RmgrName(rmid))
    }

    pub fn operation(&self) -> Option<OperationName> {
        self.kind.map(|(info, rmid)| OperationName(rmid, info, self.version))
    }
}

/// The records of one chunk.
#[derive(Clone, Debug)]
pub struct Records<'c> {
    reader: Reader<'c>,
    /// Where the record begins that was in work before the chunk.
    begun: Option<u64>,
    done: bool,
}

impl Iterator for Records<'_> {
    type Item = WalRecord;

    fn next(&mut self) -> Option<WalRecord> {
        while !self.done {
            let seen = self.reader.next();
            self.done = seen.is_none();
            let state = &self.reader.state;
            let record = &state.record;
            let begins = self.begun != Some(record.start) && record.total > 0;
            let ends = match seen.map(|seen| seen.piece) {
                Some(Piece::End(right)) => Some(right),
                Some(Piece::Note(Reason::NotContinued(_) | Reason::Overwritten(_))) if begins => None,
                None if begins && state.pending => None,
                _ => continue,
            };
            let header =
                (record.done >= RECORD_HEADER).then(|| (state.number(&record.header[4..8]) as u32, state.number(&record.header[8..16])));
            return Some(WalRecord {
                lsn: record.start,
                length: record.total,
                kind: record.kind(),
                begins,
                ends,
                header,
                version: state.version(),
            });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magic_numbers_have_names() {
        let named: Vec<u32> = Field::WalPageMagic.info().values.iter().map(|(value, _)| *value).collect();
        let known: Vec<u32> = MAGICS.iter().map(|(magic, _)| u32::from(*magic)).collect();
        assert_eq!(named, known);
        let version = |magic| State { magic, ..State::default() }.version();
        assert_eq!([0, 0xd097, 0xd10f, 0xd118, 0xd11f].map(version), [0, 10, 14, 18, 18]);
    }
}
