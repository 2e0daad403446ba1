//! Walking physical WAL: the pieces of a chunk become fields.

use std::fmt::Write;

use crate::fields::Field;
use crate::rmgr::{OperationName, RmgrName};
use crate::value::Lsn;
use crate::wal::{Chunk, PageField, Piece, Reader, Reason, Seen, Step, MAX_BLOCK_ID};
use crate::walk::{Out, Span};

/// What the fields in work belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    None,
    Page,
    /// The record in work; in a block reference.
    Record(bool),
    Rest,
}

/// Turns the pieces of a chunk into spans; plain memory, no allocation.
#[derive(Clone, Debug)]
pub(crate) struct WalWalk<'c> {
    reader: Reader<'c>,
    /// Bytes of the message before the chunk.
    base: usize,
    group: Group,
    labels: bool,
}

/// Depth of pages and records; that of the chunk is one less.
const OUTER: u8 = 1;

impl<'c> WalWalk<'c> {
    /// `message` is an XLogData message.
    pub fn new(chunk: Chunk, message: &'c [u8], labels: bool) -> WalWalk<'c> {
        let reader = chunk.reader(message);
        WalWalk { base: message.len() - reader.bytes.len(), reader, group: Group::None, labels }
    }

    /// Gives the spans of one piece, at most `STEP`; false when there are no more.
    pub fn step(&mut self, out: &mut Out) -> bool {
        // The labels of a record say what lies ahead of it.
        let at = self.reader.at;
        let Some(Seen { piece, offset, length }) = self.reader.next() else { return false };
        match piece {
            Piece::Page(field, value) => self.page_field(out, field, value, offset, length),
            Piece::PagePart => {
                self.open_page(out, offset);
                self.bytes(out, Field::WalPart, OUTER + 1, offset, length);
            }
            Piece::PagePadding => {
                self.open_page(out, offset);
                self.bytes(out, Field::WalPadding, OUTER + 1, offset, length);
            }
            Piece::Record(step, value) => self.record_field(out, step, value, offset, length),
            Piece::RecordPart => {
                self.open_record(out, at, false);
                let depth = self.depth();
                self.bytes(out, Field::WalPart, depth, offset, length);
            }
            Piece::Data => {
                self.open_record(out, at, false);
                self.group = Group::Record(false);
                self.bytes(out, Field::WalData, OUTER + 1, offset, length);
            }
            Piece::Rest => {
                if self.group != Group::Rest {
                    self.group = Group::Rest;
                    self.group(out, Field::WalRecordGroup, OUTER, offset, "Record that began before");
                }
                self.bytes(out, Field::WalData, OUTER + 1, offset, length);
            }
            Piece::Padding if self.reader.state.pending => {
                self.open_record(out, at, false);
                self.bytes(out, Field::WalPadding, OUTER + 1, offset, length);
            }
            Piece::Padding => {
                self.group = Group::None;
                self.bytes(out, Field::WalPadding, OUTER, offset, length);
            }
            Piece::Unlocated => {
                self.group = Group::None;
                let words = "pages and records cannot be told here: neither follows from what came before, nor does a page begin";
                self.note(out, Field::NoteWalNotLocated, offset, length, words);
                self.bytes(out, Field::WalUnlocated, OUTER, offset, length);
            }
            Piece::End(right) => {
                self.open_record(out, at, false);
                self.push(out, Field::WalCrcOk, OUTER + 1, offset, 0, right.into());
                if !right {
                    let start = self.reader.state.record.start;
                    self.note_with(out, Field::NoteWalCrc, offset, |out| {
                        write!(out, "the checksum of the record at {} is not that of its bytes", Lsn(start))
                    });
                }
                self.group = Group::None;
            }
            Piece::Note(reason) => self.reason(out, reason, offset),
        }
        true
    }

    fn reason(&mut self, out: &mut Out, reason: Reason, offset: usize) {
        let field = match reason {
            Reason::Headers(_) => Field::NoteWalRecord,
            Reason::Overwritten(_) => Field::NoteWalOverwritten,
            _ => Field::NoteWalNotLocated,
        };
        if !matches!(reason, Reason::Headers(_)) {
            self.group = Group::None;
        }
        self.note_with(out, field, offset, |out| match reason {
            Reason::NoPage => write!(out, "a page should begin here, but its header is none"),
            Reason::Length(length) => write!(out, "a record should begin here, but {length} bytes is no length of one"),
            Reason::NotContinued(start) => write!(out, "the page does not go on with the record at {}", Lsn(start)),
            Reason::Overwritten(start) => write!(out, "the record at {} was given up by the server before its end", Lsn(start)),
            Reason::Headers(start) => write!(out, "the headers of the record at {} contradict its length", Lsn(start)),
            Reason::NotZero => write!(out, "zeros should reach to the end of the page"),
        });
    }

    fn open_page(&mut self, out: &mut Out, offset: usize) {
        if self.group == Group::Page {
            return;
        }
        self.group = Group::Page;
        let page = self.reader.state.page;
        match self.labels {
            true => self.group_with(out, Field::WalPageGroup, OUTER, offset, |out, _| write!(out, "Page {}", Lsn(page))),
            false => self.group(out, Field::WalPageGroup, OUTER, offset, "Page"),
        }
    }

    fn page_field(&mut self, out: &mut Out, field: PageField, value: u64, offset: usize, length: usize) {
        self.open_page(out, offset);
        let depth = OUTER + 1;
        let id = match field {
            PageField::Magic => Field::WalPageMagic,
            PageField::Info => Field::WalPageInfo,
            PageField::Timeline => Field::WalPageTimeline,
            PageField::Address => Field::WalPageAddress,
            PageField::Remaining => Field::WalPageRemaining,
            PageField::SystemId => Field::WalPageSystemId,
            PageField::SegmentSize => Field::WalPageSegmentSize,
            PageField::BlockSize | PageField::Padding => Field::WalPageBlockSize,
        };
        self.push(out, id, depth, offset, length, value);
        if field == PageField::Info {
            let bits: &[Field] = match self.reader.state.has_old_page_bits() {
                true => &[Field::WalPageContinued, Field::WalPageLong, Field::WalPageRemovable, Field::WalPageOverwrites],
                false => &[Field::WalPageContinued, Field::WalPageLong, Field::WalPageOverwrites19],
            };
            self.bits(out, bits, depth + 1, offset, length, value);
        }
    }

    /// Begins the subtree of the record in work, where it is not open.
    fn open_record(&mut self, out: &mut Out, offset: usize, begins: bool) {
        if matches!(self.group, Group::Record(_)) && !begins {
            return;
        }
        self.group = Group::Record(false);
        if !self.labels {
            return self.group(out, Field::WalRecordGroup, OUTER, offset, "Record");
        }
        self.group_with(out, Field::WalRecordGroup, OUTER, offset, |out, walk| {
            let state = &walk.reader.state;
            let record = &state.record;
            write!(out, "Record {}", Lsn(record.start))?;
            let page = walk.reader.start.wrapping_add(offset as u64) % state.page_size();
            let ahead = walk.reader.bytes.get(offset..offset + 18).filter(|_| begins && page + 18 <= state.page_size());
            if let Some((info, rmid)) = ahead.map(|header| (header[16], header[17])).or(record.kind()) {
                write!(out, ": {} {}", RmgrName(rmid), OperationName(rmid, info, state.version()))?;
            }
            match begins {
                true => write!(out, ", {} bytes", record.total),
                false if record.start < walk.reader.start.wrapping_add(offset as u64) => out.write_str(", continued"),
                false => Ok(()),
            }
        });
    }

    fn record_field(&mut self, out: &mut Out, step: Step, value: u64, offset: usize, length: usize) {
        self.open_record(out, offset, step == Step::Length && length == step.width());
        if step == Step::Id && value <= u64::from(MAX_BLOCK_ID) {
            match self.reader.block_ahead(offset).filter(|_| self.labels) {
                Some(ahead) => self.group_with(out, Field::WalBlockGroup, OUTER + 1, offset, |out, _| {
                    let [tablespace, database, relation] = ahead.relation;
                    write!(out, "Block reference {value}: {tablespace}/{database}/{relation}")?;
                    let forks = Field::WalBlockFork.info().values;
                    let fork = forks.iter().find(|(fork, _)| *fork > 0 && *fork == u32::from(ahead.fork));
                    if let Some((_, name)) = fork {
                        write!(out, " {}", name.trim_end_matches('\0'))?;
                    }
                    write!(out, " block {}{}", ahead.block, if ahead.has_image { ", page image" } else { "" })
                }),
                None => self.group(out, Field::WalBlockGroup, OUTER + 1, offset, "Block reference"),
            }
            self.group = Group::Record(true);
        }
        let depth = self.depth();
        let id = match step {
            Step::Length => Field::WalLength,
            Step::Xid => Field::WalXid,
            Step::Prev => Field::WalPrev,
            Step::Info => Field::WalInfo,
            Step::Rmid => Field::WalRmid,
            Step::Crc => Field::WalCrc,
            Step::Id if self.group == Group::Record(true) => Field::WalBlockId,
            Step::Id | Step::Padding | Step::Data => Field::WalItem,
            Step::BlockFlags => Field::WalBlockFlags,
            Step::DataLength => Field::WalBlockDataLength,
            Step::ImageLength => Field::WalBlockImageLength,
            Step::HoleOffset => Field::WalBlockHoleOffset,
            Step::ImageInfo => Field::WalBlockImageInfo,
            Step::HoleLength => Field::WalBlockHoleLength,
            Step::Tablespace => Field::WalBlockTablespace,
            Step::Database => Field::WalBlockDatabase,
            Step::Relation => Field::WalBlockRelation,
            Step::Block => Field::WalBlockNumber,
            Step::Origin => Field::WalOrigin,
            Step::TopXid => Field::WalTopXid,
            Step::MainLength8 | Step::MainLength32 => Field::WalMainLength,
        };
        let state = &self.reader.state;
        let (record, prev) = (state.record, state.prev);
        let (version, old_images) = (state.version(), state.has_old_images());
        if step == Step::Length {
            self.push(out, Field::WalRecordLsn, depth, offset, 0, record.start);
        }
        self.push(out, id, depth, offset, length, value);
        match step {
            Step::Info => self.bits(out, &[Field::WalInfoSpecial, Field::WalInfoCheck], depth + 1, offset, length, value),
            Step::Rmid => {
                let end = offset + length;
                let rmgr = RmgrName(value as u8);
                self.text(out, Field::WalRmgr, depth, end, rmgr.known(), rmgr);
                if let Some((info, rmid)) = record.kind() {
                    let operation = OperationName(rmid, info, version);
                    self.text(out, Field::WalOperation, depth, end, operation.known(), operation);
                }
            }
            Step::Prev if prev != 0 && prev != value => self.note_with(out, Field::NoteWalPrev, offset, |out| {
                write!(out, "the record before begins at {}, not at {}", Lsn(prev), Lsn(value))
            }),
            Step::BlockFlags => {
                let bits = &[Field::WalBlockHasImage, Field::WalBlockHasData, Field::WalBlockWillInit, Field::WalBlockSameRelation];
                self.bits(out, bits, depth + 1, offset, length, value);
                self.push(out, Field::WalBlockFork, depth, offset + length, 0, value & 0x0f);
            }
            Step::ImageInfo => {
                let bits: &[Field] = match old_images {
                    true => &[Field::WalImageHole, Field::WalImageCompressed, Field::WalImageApplyOld],
                    false => &[Field::WalImageHole, Field::WalImageApply, Field::WalImagePglz, Field::WalImageLz4, Field::WalImageZstd],
                };
                self.bits(out, bits, depth + 1, offset, length, value);
            }
            Step::Block => {
                let [tablespace, database, relation] = record.relation;
                let path = format_args!("{tablespace}/{database}/{relation}");
                self.text(out, Field::WalBlockFile, depth, offset + length, None, path);
                self.group = Group::Record(false);
            }
            _ => {}
        }
    }

    /// Depth of the fields of a record.
    fn depth(&self) -> u8 {
        OUTER + 1 + u8::from(self.group == Group::Record(true))
    }

    fn span(&self, field: Field, depth: u8, offset: usize, length: usize) -> Span {
        Span {
            field: field as u16,
            depth,
            kind: field.info().kind as u8,
            offset: (self.base + offset) as u32,
            length: length as u32,
            text_length: 0,
            number: 0,
            text: std::ptr::null(),
        }
    }

    fn push(&self, out: &mut Out, field: Field, depth: u8, offset: usize, length: usize, number: u64) {
        out.push(Span { number, ..self.span(field, depth, offset, length) });
    }

    /// The bits of flags, in their low byte when it is there.
    fn bits(&self, out: &mut Out, bits: &[Field], depth: u8, offset: usize, length: usize, flags: u64) {
        let low = if self.reader.state.big_endian { offset + length - 1 } else { offset };
        for bit in bits {
            let set = flags & u64::from(bit.info().mask) != 0;
            self.push(out, *bit, depth, low, 1, set.into());
        }
    }

    fn bytes(&self, out: &mut Out, field: Field, depth: u8, offset: usize, length: usize) {
        let text = self.reader.bytes[offset..].as_ptr();
        out.push(Span { text, text_length: length as u32, ..self.span(field, depth, offset, length) });
    }

    /// A name that is not on the wire.
    fn text(&self, out: &mut Out, field: Field, depth: u8, offset: usize, known: Option<&'static str>, name: impl std::fmt::Display) {
        let span = self.span(field, depth, offset, 0);
        match known {
            Some(name) => out.push(Span { text: name.as_ptr(), text_length: name.len() as u32, ..span }),
            None => out.push_written(span, |out| write!(out, "{name}")),
        }
    }

    fn note(&self, out: &mut Out, field: Field, offset: usize, length: usize, words: &'static str) {
        let span = self.span(field, OUTER, offset, length);
        out.push(Span { text: words.as_ptr(), text_length: words.len() as u32, ..span });
    }

    fn note_with(&self, out: &mut Out, field: Field, offset: usize, words: impl FnOnce(&mut Out) -> std::fmt::Result) {
        let depth = if self.group == Group::None { OUTER } else { OUTER + 1 };
        out.push_written(self.span(field, depth, offset, 0), words);
    }

    fn group(&self, out: &mut Out, field: Field, depth: u8, offset: usize, label: &'static str) {
        let span = self.span(field, depth, offset, 0);
        out.push(Span { text: label.as_ptr(), text_length: label.len() as u32, ..span });
    }

    fn group_with(&self, out: &mut Out, field: Field, depth: u8, offset: usize, label: impl FnOnce(&mut Out, &Self) -> std::fmt::Result) {
        out.push_written(self.span(field, depth, offset, 0), |out| label(out, self));
    }
}
