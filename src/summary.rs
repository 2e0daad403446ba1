//! One message in a few words, for a line that holds many.

use std::ffi::CStr;
use std::fmt::Write;
use std::mem::MaybeUninit;

use crate::command::without_zero;
use crate::encoding::Encoding;
use crate::fields::{Field, Kind, FIELDS};
use crate::session::{Content, Direction, Known, Payload, Record};
use crate::value::Lsn;
use crate::walk::{Out, Span, Walk, STEP};

/// Characters of another plugin's text that are shown.
const MAX_TEXT: usize = 80;

/// Writes for example `Begin 761`, `Relation public.t`, `Keepalive 0/1661E08`.
pub fn write(record: Record, bytes: &[u8], reported: usize, known: Option<Known>, to: &mut dyn Write) -> std::fmt::Result {
    match record.content() {
        Content::Other => return Ok(()),
        Content::UntaggedBackup => return write!(to, "Backup data, {reported} bytes"),
        Content::Unaligned => return write!(to, "Part of a message"),
        Content::Command => return Encoding::from_number(record.encoding).write(without_zero(bytes), to),
        _ => {}
    }
    if bytes.is_empty() {
        return write!(to, "CopyData, {reported} bytes");
    }
    let mut walk = Walk::new(record, bytes, reported, known, false);
    let mut spans = [MaybeUninit::uninit(); 4 * STEP];
    // What tells a message apart stands within its first fields.
    let mut text = [MaybeUninit::uninit(); 512];
    let mut out = Out::new(&mut spans, &mut text);
    walk.next(&mut out);
    let message = walk.message();
    if out.written().iter().any(|span| span.field == Field::NoteUnknownMessage as u16) {
        return write!(to, "Unknown message");
    }
    let payload = record.payload();
    match (message.tag, payload) {
        (b'w', Payload::Physical) => write!(to, "WAL")?,
        _ => write!(to, "{}", message.short)?,
    }
    if message.tag == b'w' {
        let length = reported.saturating_sub(message.min_length());
        let start = out.written().iter().find(|span| span.field == Field::WalStart as u16).map_or(0, |span| span.number);
        if let Some(text) = out.written().iter().find(|span| span.field == Field::DataText as u16) {
            // What another plugin wrote says more than its length.
            let mut length = 0;
            for word in text.as_str().split_ascii_whitespace() {
                length += word.chars().count() + 1;
                if length > MAX_TEXT {
                    let end = word.char_indices().nth(MAX_TEXT).map_or(word.len(), |(at, _)| at);
                    return write!(to, " {}…", if length > word.chars().count() + 1 { "" } else { &word[..end] });
                }
                write!(to, " {word}")?;
            }
            return Ok(());
        }
        return write!(to, " {}, {length} bytes", Lsn(start));
    }
    // The table of a change; a Relation message names it itself.
    if message.headline.is_empty() {
        let named = |span: &&Span| span.field == Field::Table as u16;
        for span in out.written().iter().filter(named) {
            write!(to, " {}", span.as_str())?;
        }
        if let Some(oid) = out.written().iter().find(|span| span.field == Field::RelationOid as u16) {
            if !out.written().iter().any(|span| named(&span)) {
                write!(to, " OID {}", oid.number)?;
            }
        }
    }
    let mut before = if message.headline == [Field::StandbyFlushLsn] { ", flushed " } else { " " };
    for field in message.headline {
        let wide = match field {
            Field::Xid => Field::Xid64,
            Field::Subxid => Field::Subxid64,
            field => *field,
        };
        let is_it = |span: &&Span| span.field == *field as u16 || span.field == wide as u16;
        let Some(span) = out.written().iter().find(is_it) else { continue };
        if span.kind == Kind::String as u8 && span.text_length == 0 {
            continue;
        }
        to.write_str(before)?;
        before = if matches!(field, Field::RelationNamespace | Field::TypeNamespace) { "." } else { "/" };
        value(span, to)?;
    }
    if let Some(asked) = out.written().iter().find(|span| span.field == Field::ReplyRequested as u16) {
        if asked.number != 0 {
            write!(to, ", reply requested")?;
        }
    }
    Ok(())
}

fn value(span: &Span, to: &mut dyn Write) -> std::fmt::Result {
    match FIELDS[span.field as usize].kind {
        Kind::Lsn => write!(to, "{}", Lsn(span.number)),
        Kind::String => to.write_str(span.as_str()),
        _ => write!(to, "{}", span.number),
    }
}

/// Name of any message of the connection by its type byte, for what stands between CopyData messages.
pub fn message_name(direction: Direction, letter: u8) -> &'static CStr {
    use Direction::{Backend, Frontend};
    match (direction, letter) {
        (_, b'd') => c"CopyData",
        (_, b'c') => c"CopyDone",
        (Backend, b'W') => c"CopyBothResponse",
        (Backend, b'C') => c"CommandComplete",
        (Backend, b'D') => c"DataRow",
        (Backend, b'E') => c"ErrorResponse",
        (Backend, b'G') => c"CopyInResponse",
        (Backend, b'H') => c"CopyOutResponse",
        (Backend, b'K') => c"BackendKeyData",
        (Backend, b'N') => c"NoticeResponse",
        (Backend, b'R') => c"Authentication",
        (Backend, b'S') => c"ParameterStatus",
        (Backend, b'T') => c"RowDescription",
        (Backend, b'Z') => c"ReadyForQuery",
        (Frontend, b'Q') => c"Query",
        (Frontend, b'X') => c"Terminate",
        (Frontend, b'f') => c"CopyFail",
        (Frontend, b'p') => c"Password",
        (Frontend, b'H') => c"Flush",
        (Frontend, b'S') => c"Sync",
        (Frontend, b'P') => c"Parse",
        (Frontend, b'B') => c"Bind",
        (Frontend, b'D') => c"Describe",
        (Frontend, b'E') => c"Execute",
        _ => c"Message",
    }
}
