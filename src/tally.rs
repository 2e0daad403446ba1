//! What one message adds to statistics, without a walk over it.

use std::fmt::Write;

use crate::fields::Field;
use crate::formats::{self, find, Format, Layer, Message};
use crate::session::{Content, Known, Payload, Record};
use crate::transaction::Outcome;
use crate::value::{number_at, xid_at};

/// What one message adds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// The CopyData message.
    pub message: Option<&'static Message>,
    /// The logical message in it.
    pub logical: Option<&'static Message>,
    /// Bytes of the payload on the wire: of the logical message, else of the CopyData message.
    pub bytes: usize,
    /// Tables that it names.
    pub tables: usize,
    /// What it says of its transaction's end.
    pub outcome: Outcome,
}

impl Tally {
    pub fn new(record: &Record, bytes: &[u8], reported: usize, known: &Known) -> Tally {
        let layer = match record.content() {
            Content::CopyData if record.from_client() => Layer::WalsenderFrontend,
            Content::CopyData => Layer::WalsenderBackend,
            Content::Backup => Layer::BaseBackup,
            Content::Pgoutput => Layer::Pgoutput,
            _ => return Tally { bytes: reported, ..Tally::default() },
        };
        let found = bytes.first().and_then(|tag| find(layer, *tag));
        let mut tally = Tally { bytes: reported, ..Tally::default() };
        match layer {
            Layer::Pgoutput => tally.logical = found,
            _ => tally.message = found,
        }
        if let Some(message) = logical(record, bytes).filter(|_| layer == Layer::WalsenderBackend) {
            tally.logical = message.first().and_then(|tag| find(Layer::Pgoutput, *tag));
            tally.bytes = reported - (bytes.len() - message.len());
        }
        let Some(message) = tally.logical else { return tally };
        tally.tables = match message.tag {
            b'I' | b'U' | b'D' => 1,
            b'T' => known.truncated.len(),
            _ => 0,
        };
        tally.outcome = match message.tag {
            b'C' | b'c' | b'K' => Outcome::Committed,
            b'P' | b'p' => Outcome::Prepared,
            b'r' => Outcome::RolledBack,
            b'A' if logical(record, bytes).is_some_and(|abort| is_whole(abort, record.xid_size())) => Outcome::RolledBack,
            b'A' => Outcome::SubtransactionRolledBack,
            _ => Outcome::Unknown,
        };
        tally
    }
}

/// Whether a Stream Abort is of the transaction itself.
fn is_whole(abort: &[u8], xid_size: usize) -> bool {
    let xid = |field| xid_at(abort, formats::STREAM_ABORT.offset_with(field, xid_size), xid_size);
    xid(Field::Xid) == xid(Field::Subxid)
}

/// The bytes of the logical message.
fn logical<'b>(record: &Record, bytes: &'b [u8]) -> Option<&'b [u8]> {
    match record.content() {
        Content::Pgoutput => Some(bytes),
        Content::CopyData if record.payload() == Payload::Pgoutput && bytes.first() == Some(&formats::XLOG_DATA.tag) => {
            bytes.get(formats::XLOG_DATA.min_length()..)
        }
        _ => None,
    }
}

/// Writes the name of the message's table with this index; where no Relation message has named it, its OID.
pub fn write_table(record: &Record, bytes: &[u8], known: &Known, index: usize, to: &mut dyn Write) -> std::fmt::Result {
    let body = 1 + if record.has_xid() { record.xid_size() } else { 0 };
    let (relation, at) = match known.truncated.get(index) {
        Some(relation) => {
            (relation.as_deref(), body + Format::Count32.min_length() + Format::Int8.min_length() + index * Format::Oid.min_length())
        }
        None => (known.relation, body),
    };
    if let Some(relation) = relation {
        return to.write_str(&relation.table);
    }
    match logical(record, bytes).and_then(|message| number_at(message, at)) {
        Some(oid) => write!(to, "OID {oid}"),
        None => to.write_str("unknown table"),
    }
}
