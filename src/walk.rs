//! Walking: the bytes of one message and its record become fields, in documented order.

use std::fmt::{self, Write};
use std::mem::MaybeUninit;

use crate::fields::{Field, Kind};
use crate::formats::{find, Format, Item, Layer, Message, Presence, TUPLE_COLUMN, TUPLE_DATA};
use crate::session::{Content, Payload, Record};

/// One field of a message: where it is and what it says.
///
/// Spans come in documented order. A group comes before its members, which have a greater depth; its `length` is 0,
/// because it reaches to the end of its last member. All other fields of depth 0 and below that are not bits of a
/// byte before them lie one after another without gap or overlap.
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
    /// Text, bytes, the words of a note, the label of a group, else NULL. Not zero-terminated. Text and bytes point
    /// into the walked message, labels live for ever, notes are in the text buffer of the call that gave the span.
    pub text: *const u8,
}

/// Most spans that one step gives.
pub(crate) const STEP: usize = 8;

/// Where a walk puts its spans.
pub struct Out<'o> {
    pub spans: &'o mut [MaybeUninit<Span>],
    pub len: usize,
    /// Holds the words of notes; what does not fit is cut.
    pub text: &'o mut [MaybeUninit<u8>],
    pub text_len: usize,
}

impl<'o> Out<'o> {
    pub fn new(spans: &'o mut [MaybeUninit<Span>], text: &'o mut [MaybeUninit<u8>]) -> Self {
        Out { spans, len: 0, text, text_len: 0 }
    }

    #[inline(always)]
    fn push(&mut self, span: Span) {
        self.spans[self.len].write(span);
        self.len += 1;
    }
}

impl Write for Out<'_> {
    fn write_str(&mut self, words: &str) -> fmt::Result {
        let room = self.text.len() - self.text_len;
        let mut fits = words.len().min(room);
        while !words.is_char_boundary(fits) {
            fits -= 1;
        }
        for (to, from) in self.text[self.text_len..].iter_mut().zip(&words.as_bytes()[..fits]) {
            to.write(*from);
        }
        self.text_len += fits;
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    Items,
    Columns,
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
}

impl<'a> Walk<'a> {
    /// `reported` is the length on the wire; `bytes` what the capture kept of it.
    pub fn new(record: Record, bytes: &'a [u8], reported: usize) -> Walk<'a> {
        Walk {
            bytes: &bytes[..bytes.len().min(reported)],
            reported,
            record,
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
        }
    }

    /// The message in work: the outermost at first, the logical one inside it later.
    pub fn message(&self) -> &'static Message {
        self.message
    }

    /// Gives the next spans; none when the message is done. `out` must have room for `STEP` of them at least.
    pub fn next(&mut self, out: &mut Out) {
        while self.stage != Stage::Done {
            if out.spans.len() - out.len < STEP {
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
            Stage::Start => self.start(out),
            Stage::Done => {}
        }
    }

    fn start(&mut self, out: &mut Out) {
        if self.record.flags & Record::GUESSED != 0 {
            self.record.flags &= !Record::GUESSED;
            return self.note(
                out,
                Field::NoteGuessed,
                format_args!("no START_REPLICATION was seen; the stream was guessed from this message"),
            );
        }
        let layer = match self.record.content() {
            Content::Other => return self.stage = Stage::Done,
            Content::UntaggedBackup => {
                return self.rest(out, Field::BackupData);
            }
            Content::Unaligned => {
                self.note(out, Field::NoteNotCaptured, format_args!("not the beginning of a message: what came before was not captured"));
                return self.undecoded(out);
            }
            Content::CopyData if self.record.from_client() => Layer::WalsenderFrontend,
            Content::CopyData => Layer::WalsenderBackend,
            Content::Backup => Layer::BaseBackup,
            Content::Pgoutput => Layer::Pgoutput,
        };
        self.enter(out, layer);
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
            self.group(out, Field::MessageGroup, 0, message.short);
            self.depth += 1;
        }
        self.message = message;
        self.items = message.items;
        self.row = 0;
        self.marked = false;
        self.done = 0;
        self.stage = Stage::Items;
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
            Format::Int32 | Format::Xid | Format::Oid => _ = self.fixed::<4>(out, item),
            Format::Int64 | Format::Lsn | Format::Time => _ = self.fixed::<8>(out, item),
            Format::Count16 => self.count = self.fixed::<2>(out, item) as u32,
            Format::Count32 => self.count = self.fixed::<4>(out, item) as u32,
            Format::Length32 => {
                let length = self.fixed::<4>(out, item) as i32;
                self.length = length;
                if length < 0 {
                    self.fault(out, format_args!("{}: {length} is negative", item.field.label()));
                }
            }
            Format::String => self.string(out, item.field),
            Format::Counted => {
                let end = self.pos + self.length as usize;
                if end > self.reported {
                    self.short(out, item.field, self.length as usize);
                } else {
                    self.bytes_to(out, item.field, end);
                    self.done_if_cut(out, item.field);
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
            self.group(out, Field::TupleGroup, 0, label);
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
        let Some(bytes) = self.bytes.get(self.pos..self.pos + N) else {
            self.short(out, item.field, N);
            return 0;
        };
        let mut wide = [0u8; 8];
        wide[8 - N..].copy_from_slice(bytes);
        let mut number = u64::from_be_bytes(wide);
        if N == 4 && item.field.info().kind == Kind::Int {
            number = number as u32 as i32 as i64 as u64;
        }
        self.push_number(out, item.field, N, number);
        if N == 1 {
            for bit in item.field.bits() {
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
                self.push_bytes(out, field, end + 1, end);
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
        self.bytes_to(out, field, self.reported);
        self.done_if_cut(out, field);
        if self.stage == Stage::Start {
            self.finish(out);
        }
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
        if self.stage != Stage::Done {
            self.stage = Stage::Columns;
        }
    }

    /// The columns of a tuple: the table `TUPLE_COLUMN`, written out because most of all bytes go through here.
    fn columns(&mut self, out: &mut Out) {
        while out.spans.len() - out.len >= STEP {
            if self.done == self.count {
                self.depth -= 1;
                self.stage = Stage::Items;
                return;
            }
            self.done += 1;
            let Some(&kind) = self.bytes.get(self.pos) else { return self.short(out, Field::ValueKind, 1) };
            self.group(out, Field::ValueGroup, self.done as u64, "Column");
            self.depth += 1;
            self.push_number(out, Field::ValueKind, 1, kind as u64);
            self.pos += 1;
            let field = match kind {
                b't' => Field::ValueText,
                b'b' => Field::ValueBinary,
                b'n' | b'u' => {
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
                self.push_bytes(out, field, length as usize, length as usize);
                self.pos = end;
            }
            self.depth -= 1;
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
                self.group(out, Field::ColumnGroup, self.done as u64, "Column");
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

/// Whether the bytes are exactly one message of the layer, nothing missing and nothing left.
pub fn fits(layer: Layer, bytes: &[u8], reported: usize) -> bool {
    let content = match layer {
        Layer::BaseBackup => Content::Backup,
        Layer::Pgoutput => Content::Pgoutput,
        _ => Content::CopyData,
    };
    let from_client = if layer == Layer::WalsenderFrontend { Record::FROM_CLIENT } else { 0 };
    let record = Record { content: content as u8, flags: from_client, ..Record::default() };
    let mut walk = Walk::new(record, bytes, reported);
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
