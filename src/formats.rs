//! The message formats as tables, in the order of the PostgreSQL manual (chapter "Frontend/Backend Protocol",
//! sections "Streaming Replication Protocol" and "Logical Replication Message Formats").
//!
//! Everything else reads these tables: the walker, the field list, the documentation, the tests. A message that a
//! new PostgreSQL adds is a new table here and nothing else.

use crate::fields::Field::{self, *};
use Format::{
    Byte1, Count16, Count32, Counted, Int16, Int32, Int64, Int8, Int8Zero, Length32, Lsn, Oid, Rest, String, Tag, Time, TupleData,
};
use Presence::{AfterMarker, Always, IfMore, OneOf, Optional, Repeated, Streamed};

/// Where a message lives; tags are unique inside one layer only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// From the server, inside CopyData of a CopyBoth stream.
    WalsenderBackend,
    /// From the client, inside CopyData of a CopyBoth stream.
    WalsenderFrontend,
    /// From the server, inside CopyData of a BASE_BACKUP (PostgreSQL 15 and later).
    BaseBackup,
    /// Payload of XLogData when the output plugin is pgoutput.
    Pgoutput,
    /// A part of a pgoutput message.
    Part,
}

/// Format of one field, in the manual's notation; all integers are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Byte1 with a fixed letter.
    Tag(u8),
    Byte1,
    Int8,
    /// Int8 that is always 0.
    Int8Zero,
    Int16,
    Int32,
    Int64,
    /// Int16 that says how many times what follows repeats; unsigned.
    Count16,
    /// Int32 that says how many times what follows repeats; unsigned.
    Count32,
    /// Int32 that says how many bytes the `Counted` field after it has; signed.
    Length32,
    /// Int32 (TransactionId)
    Xid,
    /// Int32 (Oid)
    Oid,
    /// Int64 (XLogRecPtr)
    Lsn,
    /// Int64 (TimestampTz)
    Time,
    /// Characters with a terminating zero.
    String,
    /// Byte n, n from the `Length32` before.
    Counted,
    /// Byte n, all that is left.
    Rest,
    /// The part of that name.
    TupleData,
}

impl Format {
    /// Bytes of the shortest legal value.
    pub const fn min_length(self) -> usize {
        match self {
            Tag(_) | Byte1 | Int8 | Int8Zero | String => 1,
            Int16 | Count16 => 2,
            Int32 | Count32 | Length32 | Format::Xid | Oid => 4,
            Int64 | Lsn | Time => 8,
            Counted | Rest => 0,
            TupleData => TUPLE_DATA.items[0].format.min_length(),
        }
    }

    /// The manual's notation.
    pub fn notation(self) -> std::string::String {
        match self {
            Tag(letter) => format!("Byte1('{}')", letter as char),
            Byte1 => "Byte1".into(),
            Int8 => "Int8".into(),
            Int8Zero => "Int8(0)".into(),
            Int16 | Count16 => "Int16".into(),
            Int32 | Count32 | Length32 => "Int32".into(),
            Int64 => "Int64".into(),
            Format::Xid => "Int32 (TransactionId)".into(),
            Oid => "Int32 (Oid)".into(),
            Lsn => "Int64 (XLogRecPtr)".into(),
            Time => "Int64 (TimestampTz)".into(),
            String => "String".into(),
            Counted | Rest => "Byte n".into(),
            TupleData => "TupleData".into(),
        }
    }
}

/// Bytes of an xid: 4, but 8 from Postgres Pro Enterprise.
pub const XID_SIZES: [usize; 2] = [4, 8];

/// When a field is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Always,
    /// Only between Stream Start and Stream Stop.
    Streamed,
    /// A marker letter that may be missing.
    Optional,
    /// A marker letter; exactly one of those in a row is there.
    OneOf,
    /// Only when one of the marker letters before was there.
    AfterMarker,
    /// Only when the message goes on here; then all fields marked so are there.
    IfMore,
    /// As many times as the count before says.
    Repeated,
}

/// One field of a message.
#[derive(Debug)]
pub struct Item {
    pub name: &'static str,
    pub format: Format,
    /// The field that shows it; for a TupleData its subtree.
    pub field: Field,
    pub presence: Presence,
    pub meaning: &'static str,
}

const fn item(name: &'static str, format: Format, field: Field, presence: Presence, meaning: &'static str) -> Item {
    Item { name, format, field, presence, meaning }
}

/// One message, or a part of one.
#[derive(Debug)]
pub struct Message {
    /// The manual's name.
    pub name: &'static str,
    /// The name in a line of many, such as Wireshark's Info column.
    pub short: &'static str,
    pub layer: Layer,
    /// First byte; 0 for parts.
    pub tag: u8,
    /// pgoutput option proto_version that first had it; 0 where that option plays no role.
    pub since_protocol: u8,
    /// Major version of the server that first sent or took it; 10 stands for "10 or earlier".
    pub since_server: u8,
    pub items: &'static [Item],
    /// What follows the items, as many times as the count in the last item says.
    pub part: Option<&'static Message>,
    /// The fields that tell it from others of its kind, for such a line.
    pub headline: &'static [Field],
}

impl Message {
    /// Bytes before a field of a message whose fields before it are there always and of fixed width.
    pub const fn offset(&self, field: Field) -> usize {
        let (mut offset, mut i) = (0, 0);
        while self.items[i].field as u16 != field as u16 {
            offset += self.items[i].format.min_length();
            i += 1;
        }
        offset
    }

    /// The same where xids are of this size, see `XID_SIZES`.
    pub fn offset_with(&self, field: Field, xid_size: usize) -> usize {
        let before = self.items.iter().take_while(|item| item.field != field);
        self.offset(field) + before.filter(|item| item.format == Format::Xid).count() * (xid_size - Format::Xid.min_length())
    }

    /// Bytes of the shortest legal message.
    pub const fn min_length(&self) -> usize {
        let (mut length, mut i) = (0, 0);
        while i < self.items.len() {
            let item = &self.items[i];
            let last_of_row = i + 1 == self.items.len() || !matches!(self.items[i + 1].presence, OneOf);
            if matches!(item.presence, Always) || matches!(item.presence, OneOf) && last_of_row {
                length += item.format.min_length();
            }
            i += 1;
        }
        length
    }
}

/// All messages and parts, in the manual's order within a layer.
pub static MESSAGES: &[&Message] = &[
    &XLOG_DATA,
    &PRIMARY_KEEPALIVE_MESSAGE,
    &PRIMARY_STATUS_UPDATE,
    &STANDBY_STATUS_UPDATE,
    &HOT_STANDBY_FEEDBACK_MESSAGE,
    &REQUEST_PRIMARY_STATUS_UPDATE,
    &NEW_ARCHIVE,
    &MANIFEST,
    &ARCHIVE_OR_MANIFEST_DATA,
    &PROGRESS_REPORT,
    &BEGIN,
    &MESSAGE,
    &COMMIT,
    &ORIGIN,
    &RELATION,
    &TYPE,
    &INSERT,
    &UPDATE,
    &DELETE,
    &TRUNCATE,
    &STREAM_START,
    &STREAM_STOP,
    &STREAM_COMMIT,
    &STREAM_ABORT,
    &BEGIN_PREPARE,
    &PREPARE,
    &COMMIT_PREPARED,
    &ROLLBACK_PREPARED,
    &STREAM_PREPARE,
    &RELATION_COLUMN,
    &TUPLE_DATA,
    &TUPLE_COLUMN,
];

/// The message of a layer that begins with `tag`.
pub fn find(layer: Layer, tag: u8) -> Option<&'static Message> {
    let row = BY_TAG[layer as usize].get(tag as usize)?;
    MESSAGES.get(*row as usize).copied()
}

/// For each layer and tag the index in `MESSAGES`, or one past its end.
static BY_TAG: [[u8; 128]; 4] = {
    let mut rows = [[MESSAGES.len() as u8; 128]; 4];
    let mut i = 0;
    while i < MESSAGES.len() {
        if MESSAGES[i].tag != 0 {
            rows[MESSAGES[i].layer as usize][MESSAGES[i].tag as usize] = i as u8;
        }
        i += 1;
    }
    rows
};

pub static XLOG_DATA: Message = Message {
    name: "XLogData",
    short: "XLogData",
    layer: Layer::WalsenderBackend,
    tag: b'w',
    since_protocol: 0,
    since_server: 10,
    items: &[
        item("type", Tag(b'w'), WalsenderType, Always, "Marks a chunk of WAL (physical) or one output-plugin message (logical)."),
        item(
            "data_start",
            Int64,
            WalStart,
            Always,
            "WAL address tied to the payload: exact byte position for physical; an approximate position or 0 for logical.",
        ),
        item(
            "wal_end",
            Int64,
            WalEnd,
            Always,
            "Sender's end of sendable WAL for physical; for logical simply a second copy of data_start.",
        ),
        item("send_time", Int64, SendTime, Always, "Sender clock when the message left, in microseconds after 2000-01-01 00:00 UTC."),
        item(
            "data",
            Rest,
            Data,
            Always,
            "Raw WAL bytes, or one complete plugin message; n is the CopyData length minus 4 (length word) minus 25.",
        ),
    ],
    part: None,
    headline: &[],
};

pub static PRIMARY_KEEPALIVE_MESSAGE: Message = Message {
    name: "Primary keepalive message",
    short: "Keepalive",
    layer: Layer::WalsenderBackend,
    tag: b'k',
    since_protocol: 0,
    since_server: 10,
    items: &[
        item("type", Tag(b'k'), WalsenderType, Always, "Marks a sender heartbeat."),
        item(
            "wal_end",
            Int64,
            WalEnd,
            Always,
            "Position up to which this sender has sent or decoded WAL (not necessarily the server's end of WAL).",
        ),
        item("send_time", Int64, SendTime, Always, "Sender clock in microseconds after 2000-01-01 00:00 UTC."),
        item("reply_requested", Byte1, ReplyRequested, Always, "1 asks the receiver to answer at once with a status update; 0 does not."),
    ],
    part: None,
    headline: &[WalEnd],
};

pub static PRIMARY_STATUS_UPDATE: Message = Message {
    name: "Primary status update",
    short: "Primary status update",
    layer: Layer::WalsenderBackend,
    tag: b's',
    since_protocol: 0,
    since_server: 19,
    items: &[
        item("type", Tag(b's'), WalsenderType, Always, "Marks an answer to a primary status request."),
        item("wal_write_position", Int64, PrimaryWriteLsn, Always, "How far the publisher has written WAL at this moment."),
        item("oldest_commit_full_xid", Int64, PrimaryOldestCommitXid, Always, "Oldest transaction still in its commit step, as epoch in the high 32 bits and xid in the low 32 bits; equals the next id when none is committing."),
        item("next_full_xid", Int64, PrimaryNextXid, Always, "Next transaction id to be handed out, epoch high and xid low."),
        item("send_time", Int64, SendTime, Always, "Sender clock in microseconds after 2000-01-01 00:00 UTC."),
    ],
    part: None,
    headline: &[PrimaryWriteLsn],
};

pub static STANDBY_STATUS_UPDATE: Message = Message {
    name: "Standby status update",
    short: "Status update",
    layer: Layer::WalsenderFrontend,
    tag: b'r',
    since_protocol: 0,
    since_server: 10,
    items: &[
        item("type", Tag(b'r'), WalsenderType, Always, "Marks a progress report from the receiver."),
        item("write_lsn", Int64, StandbyWriteLsn, Always, "First WAL byte not yet received/written by the client (last byte + 1)."),
        item(
            "flush_lsn",
            Int64,
            StandbyFlushLsn,
            Always,
            "First WAL byte not yet durable at the client; this is what moves the slot. 0 means 'not reported'.",
        ),
        item(
            "apply_lsn",
            Int64,
            StandbyApplyLsn,
            Always,
            "First WAL byte not yet applied at the client; always 0 from pg_receivewal and pg_recvlogical.",
        ),
        item("send_time", Int64, SendTime, Always, "Client clock in microseconds after 2000-01-01 00:00 UTC."),
        item("reply_requested", Byte1, ReplyRequested, Always, "Non-zero asks the server for an immediate keepalive."),
    ],
    part: None,
    headline: &[StandbyFlushLsn],
};

pub static HOT_STANDBY_FEEDBACK_MESSAGE: Message = Message {
    name: "Hot standby feedback message",
    short: "Hot standby feedback",
    layer: Layer::WalsenderFrontend,
    tag: b'h',
    since_protocol: 0,
    since_server: 10,
    items: &[
        item("type", Tag(b'h'), WalsenderType, Always, "Marks feedback about the oldest transactions the standby still needs."),
        item("send_time", Int64, SendTime, Always, "Client clock in microseconds after 2000-01-01 00:00 UTC."),
        item("xmin", Int32, StandbyXmin, Always, "Oldest transaction id needed by queries on the standby, slots' catalog needs excluded; 0 together with catalog_xmin 0 switches feedback off."),
        item("xmin_epoch", Int32, StandbyXminEpoch, Always, "Wraparound epoch that belongs to xmin."),
        item("catalog_xmin", Int32, StandbyCatalogXmin, Always, "Oldest transaction id any slot on the standby needs for catalog rows; 0 when there is none."),
        item("catalog_xmin_epoch", Int32, StandbyCatalogXminEpoch, Always, "Wraparound epoch that belongs to catalog_xmin."),
    ],
    part: None,
    headline: &[StandbyXmin],
};

pub static REQUEST_PRIMARY_STATUS_UPDATE: Message = Message {
    name: "Request primary status update",
    short: "Request primary status update",
    layer: Layer::WalsenderFrontend,
    tag: b'p',
    since_protocol: 0,
    since_server: 19,
    items: &[
        item("type", Tag(b'p'), WalsenderType, Always, "Marks a request for a primary status update."),
        item("send_time", Int64, SendTime, Always, "Client clock in microseconds after 2000-01-01 00:00 UTC."),
    ],
    part: None,
    headline: &[],
};

pub static NEW_ARCHIVE: Message = Message {
    name: "new archive",
    short: "new archive",
    layer: Layer::BaseBackup,
    tag: b'n',
    since_protocol: 0,
    since_server: 15,
    items: &[
        item("type", Tag(b'n'), BackupType, Always, "Marks the start of another tar archive."),
        item("archive_name", String, BackupArchiveName, Always, "File name for the archive: base.tar for the data directory, <tablespace oid>.tar otherwise, plus .gz/.lz4/.zst when the server compresses."),
        item("tablespace_path", String, BackupTablespace, Always, "Empty for the data directory; otherwise the directory the archive was made from."),
    ],
    part: None,
    headline: &[BackupArchiveName],
};

pub static MANIFEST: Message = Message {
    name: "manifest",
    short: "manifest",
    layer: Layer::BaseBackup,
    tag: b'm',
    since_protocol: 0,
    since_server: 15,
    items: &[item("type", Tag(b'm'), BackupType, Always, "Marks that the following 'd' messages carry the backup manifest (JSON text).")],
    part: None,
    headline: &[],
};

pub static ARCHIVE_OR_MANIFEST_DATA: Message = Message {
    name: "archive or manifest data",
    short: "archive or manifest data",
    layer: Layer::BaseBackup,
    tag: b'd',
    since_protocol: 0,
    since_server: 15,
    items: &[
        item("type", Tag(b'd'), BackupType, Always, "Marks a slice of the current archive or of the manifest."),
        item("data", Rest, BackupData, Always, "The slice itself; n is whatever is left in the CopyData message (up to 32768 plain or gzip; about 180 kB seen with lz4, 40960 bytes with zstd)."),
    ],
    part: None,
    headline: &[],
};

pub static PROGRESS_REPORT: Message = Message {
    name: "progress report",
    short: "progress report",
    layer: Layer::BaseBackup,
    tag: b'p',
    since_protocol: 0,
    since_server: 15,
    items: &[
        item("type", Tag(b'p'), BackupType, Always, "Marks a progress counter."),
        item("bytes_done", Int64, BackupBytesDone, Always, "Bytes read so far, before compression. Documented as per tablespace, but real servers send a running total over all tablespaces."),
    ],
    part: None,
    headline: &[BackupBytesDone],
};

pub static BEGIN: Message = Message {
    name: "Begin",
    short: "Begin",
    layer: Layer::Pgoutput,
    tag: b'B',
    since_protocol: 1,
    since_server: 10,
    items: &[
        item("type", Tag(b'B'), MessageType, Always, "Marks the start of an ordinary (non-streamed) transaction."),
        item("final_lsn", Lsn, FinalLsn, Always, "Address of the commit record, i.e. the value that Commit repeats as commit_lsn."),
        item(
            "commit_time",
            Time,
            CommitTime,
            Always,
            "When the transaction committed (at the origin node, if it was itself replicated), microseconds after 2000-01-01 UTC.",
        ),
        item("xid", Format::Xid, Field::Xid, Always, "Top-level transaction id."),
    ],
    part: None,
    headline: &[Field::Xid],
};

pub static MESSAGE: Message = Message {
    name: "Message",
    short: "Message",
    layer: Layer::Pgoutput,
    tag: b'M',
    since_protocol: 1,
    since_server: 14,
    items: &[
        item("type", Tag(b'M'), MessageType, Always, "Marks a message written with pg_logical_emit_message."),
        item("xid", Format::Xid, Field::Xid, Streamed, "Top-level transaction id, even when the message was emitted in a subtransaction."),
        item("flags", Int8, DecodingMessageFlags, Always, "Bit 0 set for a transactional message, clear for a non-transactional one."),
        item(
            "lsn",
            Lsn,
            DecodingMessageLsn,
            Always,
            "Address just after the message's WAL record (the value pg_logical_emit_message returned).",
        ),
        item("prefix", String, DecodingMessagePrefix, Always, "Caller-chosen label, converted to the client encoding."),
        item("content_length", Length32, DecodingMessageLength, Always, "Byte length of the content."),
        item("content", Counted, DecodingMessageContent, Always, "Raw content bytes, never encoding-converted; may hold zero bytes."),
    ],
    part: None,
    headline: &[DecodingMessagePrefix],
};

pub static COMMIT: Message = Message {
    name: "Commit",
    short: "Commit",
    layer: Layer::Pgoutput,
    tag: b'C',
    since_protocol: 1,
    since_server: 10,
    items: &[
        item("type", Tag(b'C'), MessageType, Always, "Marks the end of an ordinary transaction."),
        item("flags", Int8Zero, Flags, Always, "Reserved, zero."),
        item("commit_lsn", Lsn, CommitLsn, Always, "Start address of the commit record."),
        item("end_lsn", Lsn, EndLsn, Always, "Address just after the commit record; what a client should confirm."),
        item("commit_time", Time, CommitTime, Always, "Same instant as in Begin."),
    ],
    part: None,
    headline: &[CommitLsn],
};

pub static ORIGIN: Message = Message {
    name: "Origin",
    short: "Origin",
    layer: Layer::Pgoutput,
    tag: b'O',
    since_protocol: 1,
    since_server: 10,
    items: &[
        item("type", Tag(b'O'), MessageType, Always, "Marks that the surrounding transaction came from another node."),
        item("origin_lsn", Lsn, OriginLsn, Always, "Commit position on the originating node; 0 in a streamed transaction."),
        item("origin_name", String, OriginName, Always, "Name of the replication origin at the publisher."),
    ],
    part: None,
    headline: &[OriginName],
};

pub static RELATION: Message = Message {
    name: "Relation",
    short: "Relation",
    layer: Layer::Pgoutput,
    tag: b'R',
    since_protocol: 1,
    since_server: 10,
    items: &[
        item("type", Tag(b'R'), MessageType, Always, "Marks a table description."),
        item("xid", Format::Xid, Field::Xid, Streamed, "(Sub)transaction id of the change that caused the description to be sent."),
        item("relation_oid", Oid, RelationOid, Always, "Publisher's OID of the table; later row messages refer to it."),
        item("namespace", String, RelationNamespace, Always, "Schema name; an empty string stands for pg_catalog."),
        item("relation_name", String, RelationName, Always, "Table name."),
        item("replica_identity", Int8, RelationReplicaIdentity, Always, "pg_class.relreplident as a character code."),
        item("column_count", Count16, RelationColumnCount, Always, "How many column parts follow."),
    ],
    part: Some(&RELATION_COLUMN),
    headline: &[RelationNamespace, RelationName],
};

pub static TYPE: Message = Message {
    name: "Type",
    short: "Type",
    layer: Layer::Pgoutput,
    tag: b'Y',
    since_protocol: 1,
    since_server: 10,
    items: &[
        item("type", Tag(b'Y'), MessageType, Always, "Marks the naming of a data type."),
        item("xid", Format::Xid, Field::Xid, Streamed, "(Sub)transaction id of the change that caused the naming to be sent."),
        item("type_oid", Oid, TypeOid, Always, "OID of the column's type as it appears in Relation (for a domain: the domain's OID)."),
        item("namespace", String, TypeNamespace, Always, "Schema of the type named next; empty for pg_catalog."),
        item("type_name", String, TypeName, Always, "Type name; for a domain this is the base type's name, not the domain's."),
    ],
    part: None,
    headline: &[TypeNamespace, TypeName],
};

pub static INSERT: Message = Message {
    name: "Insert",
    short: "Insert",
    layer: Layer::Pgoutput,
    tag: b'I',
    since_protocol: 1,
    since_server: 10,
    items: &[
        item("type", Tag(b'I'), MessageType, Always, "Marks a row insertion."),
        item(
            "xid",
            Format::Xid,
            Field::Xid,
            Streamed,
            "Transaction id that made this change; for row changes this is the subtransaction's own id, not the top-level one.",
        ),
        item("relation_oid", Oid, RelationOid, Always, "Table the change belongs to; matches an earlier Relation message."),
        item("new_tuple_marker", Tag(b'N'), TupleKind, Always, "Says that the new row follows."),
        item("new_tuple", TupleData, TupleGroup, Always, "The inserted row."),
    ],
    part: None,
    headline: &[],
};

pub static UPDATE: Message = Message {
    name: "Update",
    short: "Update",
    layer: Layer::Pgoutput,
    tag: b'U',
    since_protocol: 1,
    since_server: 10,
    items: &[
        item("type", Tag(b'U'), MessageType, Always, "Marks a row update."),
        item(
            "xid",
            Format::Xid,
            Field::Xid,
            Streamed,
            "Transaction id that made this change; for row changes this is the subtransaction's own id, not the top-level one.",
        ),
        item("relation_oid", Oid, RelationOid, Always, "Table the change belongs to; matches an earlier Relation message."),
        item("key_marker", Tag(b'K'), TupleKind, Optional, "Says that the old key columns follow."),
        item("old_marker", Tag(b'O'), TupleKind, Optional, "Says that the whole old row follows."),
        item("old_tuple", TupleData, TupleGroup, AfterMarker, "Old key or old row."),
        item("new_tuple_marker", Tag(b'N'), TupleKind, Always, "Says that the new row follows."),
        item("new_tuple", TupleData, TupleGroup, Always, "The row after the update."),
    ],
    part: None,
    headline: &[],
};

pub static DELETE: Message = Message {
    name: "Delete",
    short: "Delete",
    layer: Layer::Pgoutput,
    tag: b'D',
    since_protocol: 1,
    since_server: 10,
    items: &[
        item("type", Tag(b'D'), MessageType, Always, "Marks a row deletion."),
        item(
            "xid",
            Format::Xid,
            Field::Xid,
            Streamed,
            "Transaction id that made this change; for row changes this is the subtransaction's own id, not the top-level one.",
        ),
        item("relation_oid", Oid, RelationOid, Always, "Table the change belongs to; matches an earlier Relation message."),
        item("key_marker", Tag(b'K'), TupleKind, OneOf, "Says that the old key columns follow."),
        item("old_marker", Tag(b'O'), TupleKind, OneOf, "Says that the whole old row follows."),
        item("old_tuple", TupleData, TupleGroup, Always, "Old key or old row."),
    ],
    part: None,
    headline: &[],
};

pub static TRUNCATE: Message = Message {
    name: "Truncate",
    short: "Truncate",
    layer: Layer::Pgoutput,
    tag: b'T',
    since_protocol: 1,
    since_server: 11,
    items: &[
        item("type", Tag(b'T'), MessageType, Always, "Marks a TRUNCATE."),
        item(
            "xid",
            Format::Xid,
            Field::Xid,
            Streamed,
            "Transaction id that made this change; for row changes this is the subtransaction's own id, not the top-level one.",
        ),
        item("relation_count", Count32, TruncateRelationCount, Always, "How many tables are listed."),
        item("options", Int8, TruncateFlags, Always, "Bit 0 CASCADE, bit 1 RESTART IDENTITY."),
        item("relation_oid", Oid, RelationOid, Repeated, "One truncated table."),
    ],
    part: None,
    headline: &[],
};

pub static STREAM_START: Message = Message {
    name: "Stream Start",
    short: "Stream Start",
    layer: Layer::Pgoutput,
    tag: b'S',
    since_protocol: 2,
    since_server: 14,
    items: &[
        item("type", Tag(b'S'), MessageType, Always, "Opens a block of changes of one still-running transaction."),
        item("xid", Format::Xid, Field::Xid, Always, "Top-level transaction id of the block."),
        item("first_segment", Int8, FirstSegment, Always, "1 for the first block of this transaction, 0 for later ones."),
    ],
    part: None,
    headline: &[Field::Xid],
};

pub static STREAM_STOP: Message = Message {
    name: "Stream Stop",
    short: "Stream Stop",
    layer: Layer::Pgoutput,
    tag: b'E',
    since_protocol: 2,
    since_server: 14,
    items: &[item("type", Tag(b'E'), MessageType, Always, "Closes the open block; nothing else is in the message.")],
    part: None,
    headline: &[],
};

pub static STREAM_COMMIT: Message = Message {
    name: "Stream Commit",
    short: "Stream Commit",
    layer: Layer::Pgoutput,
    tag: b'c',
    since_protocol: 2,
    since_server: 14,
    items: &[
        item("type", Tag(b'c'), MessageType, Always, "Commits a transaction that was streamed."),
        item("xid", Format::Xid, Field::Xid, Always, "Top-level transaction id."),
        item("flags", Int8Zero, Flags, Always, "Reserved, zero."),
        item("commit_lsn", Lsn, CommitLsn, Always, "Start address of the commit record."),
        item("end_lsn", Lsn, EndLsn, Always, "Address just after the commit record."),
        item("commit_time", Time, CommitTime, Always, "When the transaction committed."),
    ],
    part: None,
    headline: &[Field::Xid],
};

pub static STREAM_ABORT: Message = Message {
    name: "Stream Abort",
    short: "Stream Abort",
    layer: Layer::Pgoutput,
    tag: b'A',
    since_protocol: 2,
    since_server: 14,
    items: &[
        item("type", Tag(b'A'), MessageType, Always, "Discards a streamed transaction or one of its subtransactions."),
        item("xid", Format::Xid, Field::Xid, Always, "Top-level transaction id."),
        item("subxid", Format::Xid, Subxid, Always, "Id of what is rolled back; equal to xid when the whole transaction is."),
        item("abort_lsn", Lsn, AbortLsn, IfMore, "Address just after the abort record; 0 when the abort was inferred after a crash."),
        item("abort_time", Time, AbortTime, IfMore, "When the abort happened."),
    ],
    part: None,
    headline: &[Field::Xid, Subxid],
};

pub static BEGIN_PREPARE: Message = Message {
    name: "Begin Prepare",
    short: "Begin Prepare",
    layer: Layer::Pgoutput,
    tag: b'b',
    since_protocol: 3,
    since_server: 15,
    items: &[
        item("type", Tag(b'b'), MessageType, Always, "Opens a transaction that ends in PREPARE TRANSACTION."),
        item("prepare_lsn", Lsn, PrepareLsn, Always, "Start address of the prepare record."),
        item("end_lsn", Lsn, EndLsn, Always, "Address just after the prepare record."),
        item("prepare_time", Time, PrepareTime, Always, "When it was prepared."),
        item("xid", Format::Xid, Field::Xid, Always, "Top-level transaction id."),
        item(
            "gid",
            String,
            Gid,
            Always,
            "Global identifier given to PREPARE TRANSACTION (at most 199 bytes on the server), converted to the client encoding.",
        ),
    ],
    part: None,
    headline: &[Gid],
};

pub static PREPARE: Message = Message {
    name: "Prepare",
    short: "Prepare",
    layer: Layer::Pgoutput,
    tag: b'P',
    since_protocol: 3,
    since_server: 15,
    items: &[
        item("type", Tag(b'P'), MessageType, Always, "Closes the block opened by Begin Prepare."),
        item("flags", Int8Zero, Flags, Always, "Reserved, zero."),
        item("prepare_lsn", Lsn, PrepareLsn, Always, "Start address of the prepare record."),
        item("end_lsn", Lsn, EndLsn, Always, "Address just after the prepare record."),
        item("prepare_time", Time, PrepareTime, Always, "When it was prepared."),
        item("xid", Format::Xid, Field::Xid, Always, "Top-level transaction id."),
        item(
            "gid",
            String,
            Gid,
            Always,
            "Global identifier given to PREPARE TRANSACTION (at most 199 bytes on the server), converted to the client encoding.",
        ),
    ],
    part: None,
    headline: &[Gid],
};

pub static COMMIT_PREPARED: Message = Message {
    name: "Commit Prepared",
    short: "Commit Prepared",
    layer: Layer::Pgoutput,
    tag: b'K',
    since_protocol: 3,
    since_server: 15,
    items: &[
        item("type", Tag(b'K'), MessageType, Always, "Reports COMMIT PREPARED; stands alone, not inside any block."),
        item("flags", Int8Zero, Flags, Always, "Reserved, zero."),
        item("commit_lsn", Lsn, CommitLsn, Always, "Start address of the commit-prepared record."),
        item("end_lsn", Lsn, EndLsn, Always, "Address just after the commit-prepared record."),
        item("commit_time", Time, CommitTime, Always, "When it was committed."),
        item("xid", Format::Xid, Field::Xid, Always, "Id of the prepared transaction."),
        item(
            "gid",
            String,
            Gid,
            Always,
            "Global identifier given to PREPARE TRANSACTION (at most 199 bytes on the server), converted to the client encoding.",
        ),
    ],
    part: None,
    headline: &[Gid],
};

pub static ROLLBACK_PREPARED: Message = Message {
    name: "Rollback Prepared",
    short: "Rollback Prepared",
    layer: Layer::Pgoutput,
    tag: b'r',
    since_protocol: 3,
    since_server: 15,
    items: &[
        item("type", Tag(b'r'), MessageType, Always, "Reports ROLLBACK PREPARED; stands alone, not inside any block."),
        item("flags", Int8Zero, Flags, Always, "Reserved, zero."),
        item("prepare_end_lsn", Lsn, PrepareEndLsn, Always, "Address just after the earlier prepare record."),
        item("rollback_end_lsn", Lsn, RollbackEndLsn, Always, "Address just after the rollback-prepared record."),
        item("prepare_time", Time, PrepareTime, Always, "When it had been prepared."),
        item("rollback_time", Time, RollbackTime, Always, "When it was rolled back."),
        item("xid", Format::Xid, Field::Xid, Always, "Id of the prepared transaction."),
        item(
            "gid",
            String,
            Gid,
            Always,
            "Global identifier given to PREPARE TRANSACTION (at most 199 bytes on the server), converted to the client encoding.",
        ),
    ],
    part: None,
    headline: &[Gid],
};

pub static STREAM_PREPARE: Message = Message {
    name: "Stream Prepare",
    short: "Stream Prepare",
    layer: Layer::Pgoutput,
    tag: b'p',
    since_protocol: 3,
    since_server: 15,
    items: &[
        item("type", Tag(b'p'), MessageType, Always, "Prepares a transaction whose changes were streamed."),
        item("flags", Int8Zero, Flags, Always, "Reserved, zero."),
        item("prepare_lsn", Lsn, PrepareLsn, Always, "Start address of the prepare record."),
        item("end_lsn", Lsn, EndLsn, Always, "Address just after the prepare record."),
        item("prepare_time", Time, PrepareTime, Always, "When it was prepared."),
        item("xid", Format::Xid, Field::Xid, Always, "Top-level transaction id."),
        item(
            "gid",
            String,
            Gid,
            Always,
            "Global identifier given to PREPARE TRANSACTION (at most 199 bytes on the server), converted to the client encoding.",
        ),
    ],
    part: None,
    headline: &[Gid],
};

pub static RELATION_COLUMN: Message = Message {
    name: "Relation column",
    short: "Relation column",
    layer: Layer::Part,
    tag: 0,
    since_protocol: 1,
    since_server: 10,
    items: &[
        item(
            "flags",
            Int8,
            ColumnFlags,
            Always,
            "Bit 0 set when the column belongs to the replica identity (all columns under REPLICA IDENTITY FULL).",
        ),
        item("column_name", String, ColumnName, Always, "Column name."),
        item("type_oid", Oid, ColumnTypeOid, Always, "OID of the column's type at the publisher."),
        item("type_modifier", Int32, ColumnTypeModifier, Always, "atttypmod, signed; -1 when the type has no modifier."),
    ],
    part: None,
    headline: &[],
};

pub static TUPLE_DATA: Message = Message {
    name: "TupleData",
    short: "TupleData",
    layer: Layer::Part,
    tag: 0,
    since_protocol: 1,
    since_server: 10,
    items: &[item(
        "column_count",
        Count16,
        TupleColumnCount,
        Always,
        "How many column values follow; equals the Relation's column count, also for key tuples.",
    )],
    part: Some(&TUPLE_COLUMN),
    headline: &[],
};

/// The repeated part of TupleData.
pub static TUPLE_COLUMN: Message = Message {
    name: "TupleData column",
    short: "TupleData column",
    layer: Layer::Part,
    tag: 0,
    since_protocol: 1,
    since_server: 10,
    items: &[
        item("kind_null", Tag(b'n'), ValueKind, OneOf, "The value is NULL (or, in a 'K' tuple, simply not sent); no length follows."),
        item("kind_unchanged", Tag(b'u'), ValueKind, OneOf, "An out-of-line value that did not change; no length or value follows."),
        item("kind_text", Tag(b't'), ValueKind, OneOf, "A value in text form follows."),
        item("kind_binary", Tag(b'b'), ValueKind, OneOf, "A value in the type's send-function form follows."),
        item("value_length", Length32, ValueLength, AfterMarker, "Byte length of the value."),
        // Shown as `ValueText` after 't' and as `ValueBinary` after 'b'.
        item("value", Counted, ValueText, AfterMarker, "The value, without terminator."),
    ],
    part: None,
    headline: &[],
};
