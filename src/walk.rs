//! Walking: the bytes of one message and its record become fields, in documented order.

use std::fmt::{self, Write};
use std::mem::MaybeUninit;

use crate::command;
use crate::decode;
use crate::encoding::Encoding;
use crate::fields::{Field, Kind};
use crate::formats::{find, Format, Item, Layer, Message, Presence, TUPLE_COLUMN, TUPLE_DATA, XLOG_DATA};
use crate::relation::{Column, RowContext};
use crate::session::{Content, Known, Payload, Record};
use crate::transaction::Outcome;
use crate::value;
use crate::wal_walk::WalWalk;

/// One field of a message: where it is and what it says.
///
/// Spans come in documented order. A group comes before its members, which have a greater depth; its `length` is 0,
/// because it reaches to the end of its last member. Notes speak of the bytes that follow. All other fields of
/// the wire, but for the bits of flags before them, lie one after another without gap or overlap. Only the data of
/// physical WAL is followed by fields of a greater depth that divide it once more, in the same way.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Index in the list of fields.
    pub field: u16,
    /// 0 for the outermost fields, one more inside each group and for the bits of a byte.
    pub depth: u8,
    /// Kind of the value, the same as in the list of fields.
    pub kind: u8,
    /// Bytes before the field, counted from the first byte of the walked message.
    pub offset: u32,
    /// Bytes of the field.
    pub length: u32,
    /// Bytes of `text`.
    pub text_length: u32,
    /// The number, in host byte order: sign-extended when signed, microseconds since 2000-01-01 00:00:00 UTC for a
    /// time, the ordinal of a group among its like (from 1; 0 when it is the only one).
    pub number: u64,
    /// Text (UTF-8), bytes, the words of a note, the label of a group, else NULL. Not zero-terminated. It points into
    /// the walked message where it stands there as it is, else into the text buffer of the call that gave the span or
    /// into memory of the session, which both live as long as they do.
    pub text: *const u8,
}

/// Most spans that one step gives.
pub(crate) const STEP: usize = 12;

/// Bytes of the label of a row, and of a value in its column's label, which is twice as much as in that of the row.
const ROW_LABEL: usize = 160;
pub(crate) const VALUE_LABEL: u16 = 80;

/// Where a walk puts its spans.
pub struct Out<'o> {
    pub spans: &'o mut [MaybeUninit<Span>],
    pub len: usize,
    /// Holds the words of notes; what does not fit is cut.
    pub text: &'o mut [MaybeUninit<u8>],
    pub text_len: usize,
    /// Where text ends now, at most at the end of `text`, and whether something did not fit.
    text_end: usize,
    cut: bool,
    /// Control characters are written as escapes, so that the text stays in one line.
    pub one_line: bool,
}

impl<'o> Out<'o> {
    pub fn new(spans: &'o mut [MaybeUninit<Span>], text: &'o mut [MaybeUninit<u8>]) -> Self {
        let text_end = text.len();
        Out { spans, len: 0, text, text_len: 0, text_end, cut: false, one_line: false }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, span: Span) {
        self.spans[self.len].write(span);
        self.len += 1;
    }

    /// A span whose text is written for it.
    pub(crate) fn push_written(&mut self, span: Span, words: impl FnOnce(&mut Self) -> fmt::Result) {
        let from = self.text_len;
        let _ = words(self);
        self.push(Span { text_length: (self.text_len - from) as u32, text: self.text[from..].as_ptr().cast(), ..span });
    }
}

impl Out<'_> {
    /// Room for one more step, in spans and in text.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.spans.len() - self.len >= STEP && (self.text_len == 0 || self.text_len <= self.text.len() / 2)
    }

    /// Bytes that one text may take, so that those of a step fit.
    fn text_limit(&self) -> usize {
        self.text.len() / 8
    }

    /// Lets `write` write at most `limit` bytes; what is more is cut, and marked so.
    fn limited<R>(&mut self, limit: usize, write: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.text_end;
        self.text_end = (self.text_len + limit).min(outer);
        let was_cut = std::mem::replace(&mut self.cut, false);
        let result = write(self);
        self.text_end = outer;
        if std::mem::replace(&mut self.cut, was_cut) {
            let _ = self.write_str("…");
        }
        result
    }
}

impl Write for Out<'_> {
    fn write_str(&mut self, words: &str) -> fmt::Result {
        if !self.one_line {
            return self.write_text(words);
        }
        words.split_inclusive(breaks_line).try_for_each(|piece| match piece.chars().next_back() {
            Some(last) if breaks_line(last) => {
                self.write_text(&piece[..piece.len() - last.len_utf8()])?;
                last.escape_default().try_for_each(|c| self.write_text(c.encode_utf8(&mut [0; 4])))
            }
            _ => self.write_text(piece),
        })
    }
}

impl Out<'_> {
    fn write_text(&mut self, words: &str) -> fmt::Result {
        let room = self.text_end - self.text_len;
        let mut fits = words.len().min(room);
        while !words.is_char_boundary(fits) {
            fits -= 1;
        }
        for (to, from) in self.text[self.text_len..].iter_mut().zip(&words.as_bytes()[..fits]) {
            to.write(*from);
        }
        self.text_len += fits;
        if fits < words.len() {
            // Whoever writes need not go on.
            self.cut = true;
            return Err(fmt::Error);
        }
        Ok(())
    }
}

/// Characters that end a line, or turn the direction of what follows.
fn breaks_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One value of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'v> {
    Null,
    Unchanged,
    Text(&'v [u8]),
    Binary(&'v [u8]),
}

/// The value that begins with its kind at `at`, and where the next one does; None when it is not all there.
fn value_at(bytes: &[u8], at: usize) -> Option<(Value<'_>, usize)> {
    let kind = *bytes.get(at)?;
    match kind {
        b'n' => Some((Value::Null, at + 1)),
        b'u' => Some((Value::Unchanged, at + 1)),
        b't' | b'b' => {
            let from = at + 1 + Format::Length32.min_length();
            let length = i32::from_be_bytes(bytes.get(at + 1..from)?.try_into().ok()?);
            let value = bytes.get(from..from + usize::try_from(length).ok()?)?;
            Some((if kind == b't' { Value::Text(value) } else { Value::Binary(value) }, from + value.len()))
        }
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    /// Of a logical message, before its fields.
    Transaction,
    Items,
    Columns,
    Wal,
    Command,
    Done,
}

/// A walk over one message; plain memory, no allocation.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    /// What was captured of the message.
    bytes: &'a [u8],
    /// Length of the message on the wire, at least that of `bytes`.
    reported: usize,
    record: Record,
    known: Option<Known<'a>>,
    /// Groups get labels that name and show what is in them.
    labels: bool,
    /// Bytes of a value in a column's label.
    pub value_label_length: u16,
    encoding: Encoding,
    stage: Stage,
    pos: usize,
    message: &'static Message,
    /// The items in work, of the message or of its part, and the next of them.
    items: &'static [Item],
    row: usize,
    depth: u8,
    /// A marker letter was there, or the message went on.
    marked: bool,
    /// Last count read, and the ordinal of the one in work, from 1.
    count: u32,
    done: u32,
    /// Last length read.
    length: i32,
    /// Letter of the tuple in work.
    tuple: u8,
    /// Where the next column of the old tuple is while the new one is walked, and how many are left of it.
    old: usize,
    old_left: u32,
    /// The old tuple is a whole row, not only a key.
    old_is_row: bool,
    /// The pages and records of physical WAL.
    wal: Option<WalWalk<'a>>,
    reader: command::Reader,
}

impl<'a> Walk<'a> {
    /// `reported` is the length on the wire; `bytes` what the capture kept of it. Without `known` only what is on the
    /// wire is shown.
    pub fn new(record: Record, bytes: &'a [u8], reported: usize, known: Option<Known<'a>>, labels: bool) -> Walk<'a> {
        Walk {
            bytes: &bytes[..bytes.len().min(reported)],
            reported,
            record,
            known,
            labels,
            value_label_length: VALUE_LABEL,
            encoding: Encoding::from_number(record.encoding),
            stage: if record.content() == Content::Other { Stage::Done } else { Stage::Start },
            pos: 0,
            message: &TUPLE_DATA,
            items: &[],
            row: 0,
            depth: 0,
            marked: false,
            count: 0,
            done: 0,
            length: 0,
            tuple: 0,
            old: 0,
            old_left: 0,
            old_is_row: false,
            wal: None,
            reader: command::Reader::default(),
        }
    }

    /// The message in work: the outermost at first, the logical one inside it later.
    pub fn message(&self) -> &'static Message {
        self.message
    }

    /// Gives the next spans; none when the message is done. `out` must have room for `STEP` of them at least.
    pub fn next(&mut self, out: &mut Out) {
        while self.stage != Stage::Done {
            if !out.has_room() && out.len > 0 {
                return;
            }
            self.step(out);
        }
    }

    /// One field with what belongs to it, at most `STEP` spans.
    #[inline(always)]
    fn step(&mut self, out: &mut Out) {
        match self.stage {
            Stage::Items => self.item(out),
            Stage::Columns => self.columns(out),
            Stage::Wal => self.wal(out),
            Stage::Start => self.start(out),
            Stage::Transaction => self.transaction(out),
            Stage::Command => self.command(out),
            Stage::Done => {}
        }
    }

    fn start(&mut self, out: &mut Out) {
        if self.record.flags & Record::GUESSED != 0 {
            self.record.flags &= !Record::GUESSED;
            let told = crate::probe::payload(self.bytes, self.reported, self.record.xid_size());
            let from = match (self.bytes.first(), self.record.payload()) {
                (Some(b'w'), payload) if payload != Payload::Unknown && payload != told => "its payload is read as it was asked for",
                (Some(b'w'), Payload::Pgoutput) => {
                    "its payload is read as pgoutput, as its two positions are equal and it fits to the last byte"
                }
                (Some(b'w'), Payload::Physical) => "its payload is read as WAL, as its two positions differ",
                (Some(b'w'), Payload::OtherPlugin) => "its payload is text of another plugin, as its two positions are equal",
                _ => "the stream was found by the length and the clock of this message",
            };
            return self.note(out, Field::NoteGuessed, format_args!("no START_REPLICATION was seen; {from}"));
        }
        let layer = match self.record.content() {
            Content::Other => return self.stage = Stage::Done,
            Content::Command => return self.stage = Stage::Command,
            Content::UntaggedBackup => {
                return self.rest(out, Field::BackupData);
            }
            Content::Unaligned => {
                match crate::probe::wrong_length(self.bytes) {
                    Some(length) => self.note(
                        out,
                        Field::NoteMalformed,
                        format_args!("CopyData: the length {length} is not between 4 and {}", crate::probe::MAX_MESSAGE),
                    ),
                    None => self.note(
                        out,
                        Field::NoteNotCaptured,
                        format_args!("not the beginning of a message: what came before was not captured"),
                    ),
                }
                return self.undecoded(out);
            }
            Content::CopyData if self.record.from_client() => Layer::WalsenderFrontend,
            Content::CopyData => Layer::WalsenderBackend,
            Content::Backup => Layer::BaseBackup,
            Content::Pgoutput => Layer::Pgoutput,
        };
        if self.record.flags & Record::UNANSWERED != 0 {
            const WORDS: &str = "an earlier keepalive has asked for a reply; none was seen before this one";
            self.note_words(out, Field::NoteNoReply, WORDS);
        }
        self.enter(out, layer);
    }

    /// The next part of a replication command.
    fn command(&mut self, out: &mut Out) {
        let bytes = self.bytes;
        let Some(part) = self.reader.next(command::without_zero(bytes)) else { return self.stage = Stage::Done };
        self.pos = part.range.start;
        let length = part.range.len();
        match part.value {
            command::Value::Number(number) => self.push_number(out, part.field, length, number),
            command::Value::Text(_) => self.push_text(out, part.field, length, length),
            value => {
                let (from, limit, encoding) = (out.text_len, out.text_limit(), self.encoding);
                let _ = out.limited(limit, |out| value.write(out, |bytes, out| encoding.write(bytes, out)));
                self.push_generated(out, part.field, length, from);
            }
        }
    }

    /// Begins the message of `layer` at the present position.
    fn enter(&mut self, out: &mut Out, layer: Layer) {
        let type_field = match layer {
            Layer::Pgoutput => Field::MessageType,
            Layer::BaseBackup => Field::BackupType,
            _ => Field::WalsenderType,
        };
        let Some(&tag) = self.bytes.get(self.pos) else {
            if self.reported > self.pos {
                return self.short(out, type_field, 1);
            }
            self.note(out, Field::NoteMalformed, format_args!("empty message: {} needs 1 byte, 0 are there", type_field.label()));
            return self.stage = Stage::Done;
        };
        let Some(message) = find(layer, tag) else {
            self.push_number(out, type_field, 1, tag as u64);
            self.pos += 1;
            self.note(
                out,
                Field::NoteUnknownMessage,
                format_args!(
                    "no message {} begins with {}",
                    match layer {
                        Layer::WalsenderBackend => "from the server",
                        Layer::WalsenderFrontend => "from the client",
                        Layer::BaseBackup => "of a base backup",
                        _ => "of pgoutput",
                    },
                    Letter(tag)
                ),
            );
            return self.undecoded(out);
        };
        if layer == Layer::Pgoutput {
            let relation = self.known.and_then(|known| known.relation);
            match relation {
                Some(relation) if self.labels => {
                    self.group_with(out, Field::MessageGroup, 0, |out| write!(out, "{} {}", message.short, relation.table))
                }
                _ => self.group(out, Field::MessageGroup, 0, message.short),
            }
            self.depth += 1;
        }
        self.message = message;
        self.items = message.items;
        self.row = 0;
        self.marked = false;
        self.done = 0;
        self.stage = Stage::Items;
        if layer == Layer::Pgoutput && self.known.is_some() {
            self.transaction_notes(out);
            self.stage = Stage::Transaction;
        }
    }

    /// What is worth a remark about the message's place in its transaction.
    #[inline]
    fn transaction_notes(&mut self, out: &mut Out) {
        if self.record.flags & Record::UNFINISHED != 0 {
            const WORDS: &str = "the transaction before this one has not come to its end in this capture";
            self.note_words(out, Field::NoteUnfinished, WORDS);
        }
        let ends = matches!(self.message.tag, b'C' | b'c' | b'P' | b'p');
        if ends && self.known.and_then(|known| known.transaction).is_some_and(|transaction| transaction.begin == 0) {
            self.note_words(out, Field::NoteBeginNotSeen, "the beginning of this transaction was not captured");
        }
        match self.message.tag {
            b'A' => self.note_words(out, Field::NoteRollback, "the publisher has rolled this back"),
            b'r' => self.note_words(out, Field::NoteRollback, "the prepared transaction was rolled back"),
            _ => {}
        }
    }

    /// The message's transaction: which, from where to where, and at its end what it was.
    fn transaction(&mut self, out: &mut Out) {
        self.stage = Stage::Items;
        let Some(known) = self.known else { return };
        if let Some(transaction) = known.transaction {
            if transaction.xid != 0 {
                self.push_number(out, Field::TxnXid, 0, transaction.xid);
            }
            for (field, number) in
                [(Field::TxnBegin, transaction.begin), (Field::TxnPrepare, transaction.prepare), (Field::TxnEnd, transaction.end)]
            {
                if number != 0 {
                    self.push_number(out, field, 0, number.into());
                }
            }
            if transaction.outcome != Outcome::Unknown {
                self.push_static(out, Field::TxnOutcome, transaction.outcome.words());
            }
            if matches!(self.message.tag, b'C' | b'c' | b'P' | b'p') {
                if let Some((changes, bytes)) = transaction.counts {
                    self.push_number(out, Field::TxnChanges, 0, changes.into());
                    self.push_number(out, Field::TxnBytes, 0, bytes);
                }
                if let Some(duration) = transaction.duration {
                    self.push_number(out, Field::TxnDuration, 0, duration as u64);
                }
            }
        }
        if let Some(delay) = self.delay().filter(|_| known.transaction.is_none_or(|transaction| !transaction.has_origin)) {
            self.push_number(out, Field::DelaySend, 0, delay as u64);
        }
        if let Some(acknowledgement) = known.acknowledgement.filter(|acknowledgement| acknowledgement.position != 0) {
            self.push_number(out, Field::AckFrame, 0, acknowledgement.position.into());
            if let Some(elapsed) = acknowledgement.elapsed {
                self.push_number(out, Field::AckTime, 0, elapsed as u64);
            }
        }
    }

    /// Nanoseconds from the commit or prepare to its sending, by the server's clock.
    fn delay(&self) -> Option<i64> {
        let field = match self.message.tag {
            b'C' | b'c' | b'K' => Field::CommitTime,
            b'P' | b'p' => Field::PrepareTime,
            b'r' => Field::RollbackTime,
            _ => return None,
        };
        if self.record.content() != Content::CopyData {
            return None;
        }
        let time = |at: usize| Some(i64::from_be_bytes(self.bytes.get(at..at + 8)?.try_into().ok()?));
        let sent = time(XLOG_DATA.offset(Field::SendTime))?;
        let done = time(self.pos + self.message.offset_with(field, self.record.xid_size()))?;
        // 0 is no clock: some servers that are not PostgreSQL send it.
        let finite = [sent, done].iter().all(|time| *time != 0 && matches!(value::Time::from_wire(*time), value::Time::At(..)));
        sent.checked_sub(done).filter(|_| finite)?.checked_mul(1000)
    }

    /// How far behind the sender a position of the receiver is.
    fn lag(&mut self, out: &mut Out, bit: u8, field: Field, position: u64) {
        let Some(status) = self.known.and_then(|known| known.status) else { return };
        if position == 0 {
            return;
        }
        if status.sent != 0 {
            self.push_number(out, field, 0, status.sent.saturating_sub(position));
        }
        if status.backwards & bit != 0 {
            self.note_words(out, Field::NoteBackwards, "this position is below the one that the receiver told before");
        }
    }

    fn item(&mut self, out: &mut Out) {
        let Some(item) = self.items.get(self.row) else { return self.end_of_items(out) };
        self.row += 1;
        match item.presence {
            Presence::Always => {}
            Presence::Streamed if self.record.has_xid() => {}
            Presence::AfterMarker if self.marked => {}
            Presence::IfMore if self.marked || self.pos < self.reported => self.marked = true,
            Presence::OneOf | Presence::Optional if !self.marked => {
                let Format::Tag(letter) = item.format else { return };
                match self.bytes.get(self.pos) {
                    Some(&byte) if byte == letter => self.marked = true,
                    // None of the letters: the next item that must be there says so.
                    _ => return,
                }
            }
            Presence::Repeated => {
                if self.done == self.count {
                    return;
                }
                self.done += 1;
                self.row -= 1;
            }
            _ => return,
        }
        match item.format {
            Format::Tag(letter) => self.tag(out, item, letter),
            Format::Byte1 | Format::Int8 | Format::Int8Zero => _ = self.fixed::<1>(out, item),
            Format::Int16 => _ = self.fixed::<2>(out, item),
            Format::Xid if self.record.xid_size() == 8 => {
                let field = if item.field == Field::Xid { Field::Xid64 } else { Field::Subxid64 };
                self.fixed_as::<8>(out, field);
            }
            Format::Int32 | Format::Xid => _ = self.fixed::<4>(out, item),
            Format::Oid => {
                self.fixed::<4>(out, item);
                // A Relation message is named where its name is.
                if item.field == Field::RelationOid && self.message.tag != b'R' && self.stage != Stage::Done {
                    self.table(out);
                }
            }
            Format::Int64 | Format::Lsn | Format::Time => {
                let number = self.fixed::<8>(out, item);
                match item.field {
                    Field::StandbyWriteLsn => self.lag(out, 1, Field::LagWrite, number),
                    Field::StandbyFlushLsn => self.lag(out, 2, Field::LagFlush, number),
                    Field::StandbyApplyLsn => self.lag(out, 4, Field::LagApply, number),
                    _ => {}
                }
            }
            Format::Count16 => self.count = self.fixed::<2>(out, item) as u32,
            Format::Count32 => self.count = self.fixed::<4>(out, item) as u32,
            Format::Length32 => {
                let length = self.fixed::<4>(out, item) as i32;
                self.length = length;
                if length < 0 {
                    self.fault(out, format_args!("{}: {length} is negative", item.field.label()));
                }
            }
            Format::String => {
                self.string(out, item.field);
                if item.field == Field::RelationName && self.stage != Stage::Done {
                    self.table(out);
                }
            }
            Format::Counted => {
                let end = self.pos + self.length as usize;
                if end > self.reported {
                    self.short(out, item.field, self.length as usize);
                } else {
                    let from = self.pos;
                    self.bytes_to(out, item.field, end);
                    self.done_if_cut(out, item.field);
                    if item.field == Field::DecodingMessageContent && self.known.is_some() {
                        self.text_of(out, Field::DecodingMessageText, from);
                    }
                }
            }
            Format::Rest => self.rest(out, item.field),
            Format::TupleData => self.tuple(out),
        }
    }

    fn tag(&mut self, out: &mut Out, item: &'static Item, letter: u8) {
        let Some(&byte) = self.bytes.get(self.pos) else { return self.short(out, item.field, 1) };
        if byte != letter {
            return self.wrong_letter(out, byte);
        }
        if item.field == Field::TupleKind {
            let label = match letter {
                b'N' => "New row",
                b'K' => "Key",
                _ => "Old row",
            };
            self.tuple = letter;
            match self.known.and_then(|known| known.relation) {
                Some(relation) if self.labels => {
                    let from = self.pos + 1;
                    self.group_with(out, Field::TupleGroup, 0, |out| self.row_label(out, label, &relation.columns, from))
                }
                _ => self.group(out, Field::TupleGroup, 0, label),
            }
            self.depth += 1;
        }
        self.push_number(out, item.field, 1, byte as u64);
        self.pos += 1;
    }

    /// Says which letters could stand here: those of the last item and of the marker letters before it.
    fn wrong_letter(&mut self, out: &mut Out, byte: u8) {
        let items = self.items;
        let markers = |item: &&Item| matches!(item.presence, Presence::OneOf | Presence::Optional);
        let last = self.row.min(items.len());
        let from = items[..last].iter().rposition(|item| matches!(item.presence, Presence::Always) && item.letter().is_none());
        let mut letters = [0u8; 4];
        let mut n = 0;
        for item in items[from.map_or(0, |i| i + 1)..last].iter() {
            if let Some(letter) = item.letter() {
                if n < letters.len() && (!self.marked || !markers(&item)) {
                    letters[n] = letter;
                    n += 1;
                }
            }
        }
        self.fault(out, format_args!("{}: needs {}, {} is there", Field::TupleKind.label(), Letters(&letters[..n]), Letter(byte)));
    }

    /// A fixed-width number; 0 when it is not there and the walk has stopped.
    #[inline(always)]
    fn fixed<const N: usize>(&mut self, out: &mut Out, item: &'static Item) -> u64 {
        self.fixed_as::<N>(out, item.field)
    }

    #[inline(always)]
    fn fixed_as<const N: usize>(&mut self, out: &mut Out, field: Field) -> u64 {
        let Some(bytes) = self.bytes.get(self.pos..self.pos + N) else {
            self.short(out, field, N);
            return 0;
        };
        let mut wide = [0u8; 8];
        wide[8 - N..].copy_from_slice(bytes);
        let mut number = u64::from_be_bytes(wide);
        if N == 4 && field.info().kind == Kind::Int {
            number = number as u32 as i32 as i64 as u64;
        }
        self.push_number(out, field, N, number);
        if N == 1 {
            for bit in field.bits() {
                self.depth += 1;
                self.push_number(out, *bit, 1, (number & bit.info().mask as u64 != 0) as u64);
                self.depth -= 1;
            }
        }
        self.pos += N;
        number
    }

    fn string(&mut self, out: &mut Out, field: Field) {
        let left = &self.bytes[self.pos..];
        match memchr::memchr(0, left) {
            Some(end) => {
                self.push_text(out, field, end + 1, end);
                self.pos += end + 1;
            }
            None if self.bytes.len() < self.reported => {
                self.bytes_to(out, field, self.reported);
                self.done_if_cut(out, field);
            }
            None => self.fault(out, format_args!("{}: needs a terminating zero, none in {} bytes", field.label(), left.len())),
        }
    }

    fn rest(&mut self, out: &mut Out, field: Field) {
        if field == Field::Data && self.record.payload() == Payload::Pgoutput {
            return self.enter(out, Layer::Pgoutput);
        }
        if field == Field::Data && self.record.payload() == Payload::Physical && self.pos < self.bytes.len() {
            return self.begin_wal(out);
        }
        let from = self.pos;
        self.bytes_to(out, field, self.reported);
        self.done_if_cut(out, field);
        if field == Field::Data && self.record.payload() == Payload::OtherPlugin && self.known.is_some() {
            self.text_of(out, Field::DataText, from);
            if self.stage != Stage::Done {
                self.transaction(out);
            }
        }
        if self.stage == Stage::Start {
            self.finish(out);
        }
    }

    /// WAL is one field of bytes; what is known of its pages and records divides it further.
    #[cold]
    fn begin_wal(&mut self, out: &mut Out) {
        let length = self.bytes.len() - self.pos;
        self.push_bytes(out, Field::Data, length, length);
        if let Some(known) = self.known {
            match known.wal {
                Some(chunk) => self.wal = Some(WalWalk::new(chunk, self.bytes, self.labels)),
                None => self.note_words(out, Field::NoteWalNotLocated, "too much WAL came before to remember where this begins"),
            }
        }
        self.stage = Stage::Wal;
    }

    #[inline(never)]
    fn wal(&mut self, out: &mut Out) {
        if self.wal.as_mut().is_some_and(|wal| wal.step(out)) {
            return;
        }
        self.pos = self.reported;
        self.stage = Stage::Items;
        self.done_if_cut(out, Field::Data);
    }

    fn tuple(&mut self, out: &mut Out) {
        if !self.marked && self.items[..self.row].iter().any(|item| item.presence == Presence::OneOf) {
            // None of the marker letters was there.
            self.row -= 1;
            return match self.bytes.get(self.pos) {
                Some(&byte) => self.wrong_letter(out, byte),
                None => self.short(out, Field::TupleKind, 1),
            };
        }
        self.count = self.fixed::<2>(out, &TUPLE_DATA.items[0]) as u32;
        self.done = 0;
        if self.stage == Stage::Done {
            return;
        }
        self.stage = Stage::Columns;
        if self.tuple != b'N' {
            (self.old, self.old_left, self.old_is_row) = (self.pos, self.count, self.tuple == b'O');
        }
        if let Some(relation) = self.known.and_then(|known| known.relation) {
            let (count, known) = (self.count, relation.columns.len());
            if known != count as usize {
                self.note(out, Field::NoteColumnCount, format_args!("{count} values, {} has {known} columns", relation.table));
            }
        }
    }

    /// The columns of a tuple: the table `TUPLE_COLUMN`, written out because most of all bytes go through here.
    fn columns(&mut self, out: &mut Out) {
        let relation = self.known.and_then(|known| known.relation);
        while out.has_room() {
            if self.done == self.count {
                self.depth -= 1;
                self.stage = Stage::Items;
                return;
            }
            self.done += 1;
            let Some(&kind) = self.bytes.get(self.pos) else { return self.short(out, Field::ValueKind, 1) };
            let column = relation.and_then(|relation| relation.columns.get(self.done as usize - 1));
            let start = self.pos;
            let changed_from = self.old_value(start);
            match column {
                Some(column) if self.labels => {
                    let value = value_at(self.bytes, start);
                    self.group_with(out, Field::ValueGroup, self.done as u64, |out| self.value_label(out, column, value, changed_from))
                }
                _ => self.numbered_group(out, Field::ValueGroup),
            }
            self.depth += 1;
            self.push_number(out, Field::ValueKind, 1, kind as u64);
            self.pos += 1;
            let field = match kind {
                b't' => Field::ValueText,
                b'b' => Field::ValueBinary,
                b'n' | b'u' => {
                    if let Some(column) = column {
                        self.name_value(out, column, start, changed_from.is_some());
                    }
                    self.depth -= 1;
                    continue;
                }
                _ => {
                    let mut letters = [0u8; 4];
                    for (to, item) in letters.iter_mut().zip(TUPLE_COLUMN.items) {
                        *to = item.letter().unwrap_or(0);
                    }
                    return self
                        .fault(out, format_args!("{}: needs {}, {} is there", Field::ValueKind.label(), Letters(&letters), Letter(kind)));
                }
            };
            let Some(bytes) = self.bytes.get(self.pos..self.pos + 4) else { return self.short(out, Field::ValueLength, 4) };
            let length = i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            self.push_number(out, Field::ValueLength, 4, length as i64 as u64);
            self.pos += 4;
            if length < 0 {
                return self.fault(out, format_args!("{}: {length} is negative", Field::ValueLength.label()));
            }
            let end = self.pos + length as usize;
            if end > self.bytes.len() {
                if end > self.reported {
                    return self.short(out, field, length as usize);
                }
                self.bytes_to(out, field, end);
                return self.done_if_cut(out, field);
            }
            if length > 0 {
                match kind {
                    b't' => self.push_text(out, field, length as usize, length as usize),
                    _ => self.push_bytes(out, field, length as usize, length as usize),
                }
                self.pos = end;
            }
            if let Some(column) = column {
                self.name_value(out, column, start, changed_from.is_some());
            }
            self.depth -= 1;
        }
    }

    /// The old value of the column that begins at `start`, where the message has one and it differs.
    #[inline]
    fn old_value(&mut self, start: usize) -> Option<Value<'a>> {
        if self.tuple != b'N' || self.old_left == 0 {
            return None;
        }
        let (old, next) = value_at(self.bytes, self.old)?;
        (self.old, self.old_left) = (next, self.old_left - 1);
        let (new, _) = value_at(self.bytes, start)?;
        let comparable = match (old, new) {
            (Value::Unchanged, _) | (_, Value::Unchanged) => false,
            // The forms of one value differ.
            (Value::Text(_), Value::Binary(_)) | (Value::Binary(_), Value::Text(_)) => false,
            // Columns outside the key have no old value in a key.
            (Value::Null, _) => self.old_is_row,
            _ => true,
        };
        (comparable && new != old).then_some(old)
    }

    /// What the Relation adds to the value that began at `start` and has just been walked.
    fn name_value(&mut self, out: &mut Out, column: &'a Column, start: usize, changed: bool) {
        self.push_static(out, Field::ValueColumn, &column.name);
        self.push_static(out, Field::ValueType, &column.type_name);
        if column.key {
            self.push_flag(out, Field::ValueKey);
        }
        let Some((value, _)) = value_at(self.bytes, start) else { return };
        if changed {
            self.push_flag(out, Field::ValueChanged);
        }
        let limit = out.text_limit();
        if let Value::Binary(bytes) = value {
            let from = out.text_len;
            let result = out.limited(limit, |out| self.decode(column, bytes, out));
            match result {
                Ok(()) => self.push_generated(out, Field::ValueDecoded, 0, from),
                Err(reason) => {
                    out.text_len = from;
                    self.note(out, Field::NoteValue, format_args!("{} {}: {reason}", column.name, column.type_name));
                    return;
                }
            }
        }
        if value == Value::Null && self.is_not_sent(column) {
            return;
        }
        let from = out.text_len;
        let _ = out.limited(limit, |out| {
            out.write_str(&column.name)?;
            out.write_char('=')?;
            self.write_value(out, column, value)
        });
        self.push_generated(out, Field::Cell, 0, from);
    }

    /// In a key tuple the columns outside the key are not sent, which is not NULL.
    fn is_not_sent(&self, column: &Column) -> bool {
        self.tuple == b'K' && !column.key
    }

    fn decode(&self, column: &Column, bytes: &[u8], out: &mut Out) -> Result<(), decode::Error> {
        match self.known.and_then(|known| known.relation) {
            Some(relation) => decode::decode(column.type_oid, bytes, &RowContext { relation, encoding: self.encoding }, out),
            None => Ok(()),
        }
    }

    /// A value as a person reads it.
    fn write_value(&self, out: &mut Out, column: &Column, value: Value) -> fmt::Result {
        match value {
            Value::Null => out.write_str("NULL"),
            Value::Unchanged => out.write_str("(unchanged TOAST)"),
            Value::Text(bytes) => self.encoding.write(bytes, out),
            Value::Binary(bytes) => {
                let from = out.text_len;
                self.decode(column, bytes, out).or_else(|_| {
                    out.text_len = from;
                    write!(out, "({} bytes)", bytes.len())
                })
            }
        }
    }

    fn value_room(&self) -> usize {
        self.value_label_length.into()
    }

    /// `total numeric(10,2): 20.90 (was 19.90)`
    fn value_label(&self, out: &mut Out, column: &Column, value: Option<(Value, usize)>, changed_from: Option<Value>) -> fmt::Result {
        let key = if column.key { " (key)" } else { "" };
        write!(out, "{} {}{key}: ", column.name, column.type_name)?;
        match value {
            None => {}
            Some((Value::Null, _)) if self.is_not_sent(column) => out.write_str("not sent")?,
            Some((value, _)) => _ = out.limited(self.value_room(), |out| self.write_value(out, column, value)),
        }
        let Some(old) = changed_from else { return Ok(()) };
        out.write_str(" (was ")?;
        let _ = out.limited(self.value_room(), |out| self.write_value(out, column, old));
        out.write_char(')')
    }

    /// `New row: id=42, total=19.90, note=NULL`, from the tuple's count on.
    fn row_label(&self, out: &mut Out, label: &str, columns: &[Column], at: usize) -> fmt::Result {
        let from = out.text_len;
        let from_count = at;
        let mut at = at + TUPLE_DATA.items[0].format.min_length();
        let count = self.bytes.get(from_count..at).map_or(0, |n| u16::from_be_bytes([n[0], n[1]]));
        let mut between = ": ";
        out.write_str(label)?;
        for column in columns.iter().take(count.into()) {
            let Some((value, next)) = value_at(self.bytes, at) else { break };
            at = next;
            if value == Value::Null && self.is_not_sent(column) {
                continue;
            }
            if out.text_len - from > ROW_LABEL.max(2 * self.value_room()) {
                return out.write_str(", …");
            }
            write!(out, "{between}{}=", column.name)?;
            let _ = out.limited(self.value_room() / 2, |out| self.write_value(out, column, value));
            between = ", ";
        }
        Ok(())
    }

    /// The table of the message, and where it was described.
    fn table(&mut self, out: &mut Out) {
        let Some(known) = self.known else { return };
        let relation = match self.message.tag {
            b'T' => known.truncated.get(self.done as usize - 1).and_then(|relation| relation.as_deref()),
            _ => known.relation,
        };
        let Some(relation) = relation else {
            const WORDS: &str = "no Relation message for this OID was seen: names and types are not known";
            if self.message.tag != b'R' {
                self.note_words(out, Field::NoteUnknownRelation, WORDS);
            }
            return;
        };
        self.push_static(out, Field::Table, &relation.table);
        if !matches!(self.message.tag, b'R' | b'T') {
            self.push_number(out, Field::RelationFrame, 0, known.position.into());
        }
    }

    /// The bytes from `from` on as text, where they are UTF-8 without control characters.
    fn text_of(&mut self, out: &mut Out, field: Field, from: usize) {
        let bytes = &self.bytes[from..self.pos.min(self.bytes.len())];
        let is_text = |text: &str| !text.is_empty() && !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r'));
        if self.stage != Stage::Done && std::str::from_utf8(bytes).is_ok_and(is_text) {
            out.push(Span { text_length: bytes.len() as u32, text: bytes.as_ptr(), ..self.generated(field) });
        }
    }

    fn end_of_items(&mut self, out: &mut Out) {
        if let Some(part) = self.message.part {
            let first = !std::ptr::eq(self.items, part.items);
            if !first {
                self.depth -= 1;
            }
            if self.done < self.count {
                self.done += 1;
                if self.pos == self.reported {
                    return self.short(out, part.items[0].field, part.items[0].format.min_length());
                }
                let column = self.known.and_then(|known| known.relation?.columns.get(self.done as usize - 1));
                match column {
                    Some(column) if self.labels => {
                        let key = if column.key { " (key)" } else { "" };
                        self.group_with(out, Field::ColumnGroup, self.done as u64, |out| {
                            write!(out, "{} {}{key}", column.name, column.type_name)
                        })
                    }
                    _ => self.numbered_group(out, Field::ColumnGroup),
                }
                self.depth += 1;
                self.items = part.items;
                self.row = 0;
                return;
            }
        }
        self.finish(out);
    }

    /// The layout has come to its end; so should the message.
    fn finish(&mut self, out: &mut Out) {
        self.stage = Stage::Done;
        let left = self.reported - self.pos;
        if left > 0 {
            self.note(out, Field::NoteTrailing, format_args!("{left} bytes follow the end of the message"));
            self.bytes_to(out, Field::Trailing, self.reported);
            self.done_if_cut(out, Field::Trailing);
        }
    }

    /// `need` bytes are needed for `field` and are not there: cut off by the capture, or never sent.
    #[cold]
    fn short(&mut self, out: &mut Out, field: Field, need: usize) {
        let have = self.bytes.len() - self.pos;
        let which = Which(self.done, self.count);
        if need <= self.reported - self.pos {
            self.note(out, Field::NoteNotCaptured, format_args!("{}: {} of {need} bytes were not captured", field.label(), need - have));
        } else {
            let left = self.reported - self.pos;
            self.note(out, Field::NoteMalformed, format_args!("{}{which}: needs {need} bytes, {left} are there", field.label()));
        }
        self.undecoded(out);
    }

    /// After a field that the capture cut off the walk cannot go on.
    #[inline]
    fn done_if_cut(&mut self, out: &mut Out, field: Field) {
        if self.pos > self.bytes.len() {
            let missing = self.pos - self.bytes.len();
            self.pos = self.bytes.len();
            self.note(out, Field::NoteNotCaptured, format_args!("{}: {missing} bytes were not captured", field.label()));
            self.stage = Stage::Done;
        }
    }

    #[cold]
    fn fault(&mut self, out: &mut Out, words: fmt::Arguments) {
        self.note(out, Field::NoteMalformed, words);
        self.undecoded(out);
    }

    /// The rest of the message as bytes; the end of the walk.
    fn undecoded(&mut self, out: &mut Out) {
        self.bytes_to(out, Field::Undecoded, self.bytes.len());
        self.stage = Stage::Done;
    }

    /// A note about what is left.
    fn note(&mut self, out: &mut Out, field: Field, words: fmt::Arguments) {
        let from = out.text_len;
        let _ = out.write_fmt(words);
        out.push(Span {
            field: field as u16,
            depth: self.depth,
            kind: Kind::Note as u8,
            offset: self.pos as u32,
            length: (self.bytes.len() - self.pos) as u32,
            text_length: (out.text_len - from) as u32,
            number: 0,
            text: out.text[from..].as_ptr().cast(),
        });
    }

    /// A note in words that never change.
    fn note_words(&mut self, out: &mut Out, field: Field, words: &'static str) {
        out.push(Span { text_length: words.len() as u32, text: words.as_ptr(), ..self.generated(field) });
    }

    /// A span at the present position without bytes of its own.
    #[inline(always)]
    fn generated(&self, field: Field) -> Span {
        Span {
            field: field as u16,
            depth: self.depth,
            kind: field.info().kind as u8,
            offset: self.pos.min(self.bytes.len()) as u32,
            length: 0,
            text_length: 0,
            number: 0,
            text: std::ptr::null(),
        }
    }

    /// Text that the session keeps.
    #[inline(always)]
    fn push_static(&mut self, out: &mut Out, field: Field, text: &'a str) {
        out.push(Span { text_length: text.len() as u32, text: text.as_ptr(), ..self.generated(field) });
    }

    /// Text that was written into the text buffer from `from` on.
    fn push_generated(&mut self, out: &mut Out, field: Field, length: usize, from: usize) {
        let text = out.text[from..].as_ptr().cast();
        out.push(Span { length: length as u32, text_length: (out.text_len - from) as u32, text, ..self.generated(field) });
    }

    fn push_flag(&mut self, out: &mut Out, field: Field) {
        out.push(Span { number: 1, ..self.generated(field) });
    }

    /// A group with a label that is written for it.
    fn group_with(&self, out: &mut Out, field: Field, number: u64, label: impl FnOnce(&mut Out) -> fmt::Result) {
        let from = out.text_len;
        out.one_line = true;
        // Longer ones that the caller asks for must leave room for others.
        let longest = (4 * self.value_room()).min(out.text_limit()).max(2 * ROW_LABEL);
        let _ = out.limited(longest, label);
        out.one_line = false;
        let text = out.text[from..].as_ptr().cast();
        out.push(Span { number, text_length: (out.text_len - from) as u32, text, ..self.generated(field) });
    }

    /// `Column 3`
    #[inline(always)]
    fn numbered_group(&mut self, out: &mut Out, field: Field) {
        let number = self.done as u64;
        match self.labels {
            true => self.group_with(out, field, number, |out| write!(out, "Column {number}")),
            false => self.group(out, field, number, "Column"),
        }
    }

    #[inline(always)]
    fn group(&mut self, out: &mut Out, field: Field, number: u64, label: &'static str) {
        out.push(Span {
            field: field as u16,
            depth: self.depth,
            kind: Kind::Group as u8,
            offset: self.pos as u32,
            length: 0,
            text_length: label.len() as u32,
            number,
            text: label.as_ptr(),
        });
    }

    #[inline(always)]
    fn push_number(&mut self, out: &mut Out, field: Field, length: usize, number: u64) {
        out.push(Span {
            field: field as u16,
            depth: self.depth,
            kind: field.info().kind as u8,
            offset: self.pos as u32,
            length: length as u32,
            text_length: 0,
            number,
            text: std::ptr::null(),
        });
    }

    #[inline(always)]
    fn push_bytes(&mut self, out: &mut Out, field: Field, length: usize, shown: usize) {
        out.push(Span {
            field: field as u16,
            depth: self.depth,
            kind: field.info().kind as u8,
            offset: self.pos as u32,
            length: length as u32,
            text_length: shown as u32,
            number: 0,
            text: self.bytes[self.pos..].as_ptr(),
        });
    }

    /// Text of the wire: as it is when that is UTF-8, else converted.
    #[inline(always)]
    fn push_text(&mut self, out: &mut Out, field: Field, length: usize, shown: usize) {
        let bytes = &self.bytes[self.pos..self.pos + shown];
        if self.encoding.is_utf8(bytes) {
            return self.push_bytes(out, field, length, shown);
        }
        let limit = out.text_limit();
        let from = out.text_len;
        let encoding = self.encoding;
        let _ = out.limited(limit, |out| encoding.write(bytes, out));
        self.push_generated(out, field, length, from);
    }

    /// Bytes from here to `end`, as far as they were captured; none give no span.
    fn bytes_to(&mut self, out: &mut Out, field: Field, end: usize) {
        let there = end.min(self.bytes.len()) - self.pos;
        if there > 0 {
            self.push_bytes(out, field, there, there);
        }
        self.pos = end;
    }
}

impl Item {
    fn letter(&self) -> Option<u8> {
        match self.format {
            Format::Tag(letter) => Some(letter),
            _ => None,
        }
    }
}

/// A byte as a letter where it is one.
struct Letter(u8);

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b' '..=b'~' => write!(f, "'{}' (0x{:02x})", self.0 as char, self.0),
            byte => write!(f, "0x{byte:02x}"),
        }
    }
}

/// Some letters as a choice.
struct Letters<'l>(&'l [u8]);

impl fmt::Display for Letters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, letter) in self.0.iter().enumerate() {
            let between = match i {
                0 => "",
                i if i + 1 == self.0.len() => " or ",
                _ => ", ",
            };
            write!(f, "{between}'{}'", *letter as char)?;
        }
        Ok(())
    }
}

/// Which of several equal things of a message is meant.
struct Which(u32, u32);

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            0 => Ok(()),
            count => write!(f, " (number {} of {count})", self.0),
        }
    }
}

/// Whether the bytes are exactly one message of the layer, nothing missing and nothing left; `streamed` when it is one
/// of a stream block.
pub fn fits(layer: Layer, bytes: &[u8], reported: usize, streamed: bool, xid_size: usize) -> bool {
    let content = match layer {
        Layer::BaseBackup => Content::Backup,
        Layer::Pgoutput => Content::Pgoutput,
        _ => Content::CopyData,
    };
    let from_client = if layer == Layer::WalsenderFrontend { Record::FROM_CLIENT } else { 0 };
    let has_xid = if streamed { Record::STREAMED } else { 0 };
    let wide = if xid_size == 8 { Record::WIDE_XID } else { 0 };
    let record = Record { content: content as u8, flags: from_client | has_xid | wide, ..Record::default() };
    let mut walk = Walk::new(record, bytes, reported, None, false);
    let mut spans = [MaybeUninit::uninit(); 4 * STEP];
    loop {
        let mut out = Out::new(&mut spans, &mut []);
        walk.next(&mut out);
        match out.written().iter().any(|span| span.kind == Kind::Note as u8) {
            true => return false,
            false if out.len == 0 => return true,
            false => {}
        }
    }
}
