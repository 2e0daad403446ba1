//! Every field that pgrepl can show: its display-filter name, its label and the kind of its value.
//!
//! The filter names are an interface that people write into filters and scripts; they never change.

/// What the value of a field is, and so how a span of it carries the value.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A subtree: its members follow with a greater depth. `number` is its ordinal (0: none), `text` its label.
    Group = 1,
    /// One byte that is a letter.
    Char = 2,
    /// False (0) or true (anything else); with a mask, one bit of the byte.
    Bool = 3,
    /// Unsigned integer of `width` bytes.
    Uint = 4,
    /// Signed integer of `width` bytes, in two's complement.
    Int = 5,
    /// WAL position (XLogRecPtr), 8 bytes.
    Lsn = 6,
    /// Microseconds since 2000-01-01 00:00:00 UTC (TimestampTz), signed, 8 bytes.
    Time = 7,
    /// Characters without terminator.
    Text = 8,
    /// Bytes.
    Bytes = 9,
    /// A remark about the bytes in range, in words; its field tells how serious it is.
    Note = 10,
    /// Characters with a terminating zero, which is part of the range but not of `text`.
    String = 11,
    /// The position that the caller gave to an earlier or later message, such as its frame number.
    Position = 12,
    /// Nanoseconds, signed, 8 bytes.
    Duration = 13,
}

/// How serious a note is, in Wireshark's steps.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    None = 0,
    Chat = 1,
    Note = 2,
    Warn = 3,
    Error = 4,
}

/// One field of the list, see [`Field::info`].
#[derive(Debug)]
pub struct Info {
    /// Display-filter name with a terminating zero; empty for groups.
    pub name: &'static str,
    /// Label with a terminating zero.
    pub label: &'static str,
    /// One sentence about it, with a terminating zero.
    pub blurb: &'static str,
    pub kind: Kind,
    /// Bytes of a fixed-width value, 0 for others.
    pub width: u8,
    pub severity: Severity,
    /// The bit of a `Bool` that is part of a byte, else 0.
    pub mask: u8,
    /// Not on the wire: derived from what earlier messages said. Its length is 0.
    pub generated: bool,
    /// Names of values, each with a terminating zero.
    pub values: &'static [(u32, &'static str)],
}

macro_rules! fields {
    ($($id:ident $name:literal $label:literal $kind:ident $width:literal
       $([$($value:literal = $meaning:literal),+ $(,)?])? $(mask $mask:literal)? $(severity $severity:ident)? $({$generated:ident})? : $blurb:literal;)+) => {
        /// A field, by its place in the list.
        #[repr(u16)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field { $($id),+ }

        /// All fields; [`Field`] is the index.
        pub static FIELDS: &[Info] = &[$(Info {
            name: concat!($name, "\0"),
            label: concat!($label, "\0"),
            blurb: concat!($blurb, "\0"),
            kind: Kind::$kind,
            width: $width,
            severity: fields!(@severity $($severity)?),
            mask: fields!(@mask $($mask)?),
            generated: fields!(@generated $($generated)?),
            values: &[$($(($value as u32, concat!($meaning, "\0"))),+)?],
        }),+];
    };
    (@severity) => { Severity::None };
    (@severity $s:ident) => { Severity::$s };
    (@generated) => { false };
    (@generated generated) => { true };
    (@mask) => { 0 };
    (@mask $m:literal) => { $m };
}

impl Field {
    pub fn info(self) -> &'static Info {
        &FIELDS[self as usize]
    }

    /// The bits of a flags byte.
    pub fn bits(self) -> &'static [Field] {
        match self {
            Field::DecodingMessageFlags => &[Field::DecodingMessageTransactional],
            Field::ColumnFlags => &[Field::ColumnKey],
            Field::TruncateFlags => &[Field::TruncateCascade, Field::TruncateRestartIdentity],
            _ => &[],
        }
    }

    /// Label without the terminating zero.
    pub fn label(self) -> &'static str {
        self.info().label.trim_end_matches('\0')
    }
}

fields! {
    // Groups
    MessageGroup "" "Message" Group 0: "A logical replication message";
    TupleGroup "" "Tuple" Group 0: "A row, a key or an old row";
    ValueGroup "" "Column" Group 0: "The value of one column";
    ColumnGroup "" "Column" Group 0: "The description of one column";

    // Messages inside CopyData
    WalsenderType "pgrepl.copydata.type" "Type" Char 1
        ['w' = "XLogData", 'k' = "Primary keepalive message", 's' = "Primary status update", 'r' = "Standby status update",
         'h' = "Hot standby feedback message", 'p' = "Request primary status update"]:
        "What the CopyData message holds";
    BackupType "pgrepl.copydata.type" "Type" Char 1
        ['n' = "new archive", 'm' = "manifest", 'd' = "archive or manifest data", 'p' = "progress report"]:
        "What the CopyData message of a base backup holds";
    WalStart "pgrepl.wal_start" "WAL start" Lsn 8: "WAL position of the payload; 0/0 in some logical messages";
    WalEnd "pgrepl.wal_end" "WAL end" Lsn 8: "WAL end of the sender, or its sent position in a keepalive";
    SendTime "pgrepl.send_time" "Send time" Time 8: "Clock of the sender when the message left, UTC";
    Data "pgrepl.data" "Data" Bytes 0: "Payload that is not a pgoutput message: physical WAL or another plugin's output";
    ReplyRequested "pgrepl.reply_requested" "Reply requested" Bool 1: "The other side is asked to answer at once";
    PrimaryWriteLsn "pgrepl.primary.write_lsn" "WAL write position" Lsn 8: "How far the primary has written WAL";
    PrimaryOldestCommitXid "pgrepl.primary.oldest_commit_xid" "Oldest committing xid" Uint 8:
        "Oldest transaction still committing: epoch in the high, xid in the low 32 bits";
    PrimaryNextXid "pgrepl.primary.next_xid" "Next xid" Uint 8: "Next transaction id: epoch in the high, xid in the low 32 bits";
    StandbyWriteLsn "pgrepl.standby.write_lsn" "Written up to" Lsn 8: "First WAL byte that the standby has not written yet";
    StandbyFlushLsn "pgrepl.standby.flush_lsn" "Flushed up to" Lsn 8: "First WAL byte that is not yet safe at the standby; 0/0: not told";
    StandbyApplyLsn "pgrepl.standby.apply_lsn" "Applied up to" Lsn 8: "First WAL byte that the standby has not applied yet; 0/0: not told";
    StandbyXmin "pgrepl.standby.xmin" "xmin" Uint 4: "Oldest transaction id that queries on the standby need";
    StandbyXminEpoch "pgrepl.standby.xmin_epoch" "xmin epoch" Uint 4: "Wraparound epoch of xmin";
    StandbyCatalogXmin "pgrepl.standby.catalog_xmin" "catalog_xmin" Uint 4: "Oldest transaction id that slots of the standby need for catalog rows";
    StandbyCatalogXminEpoch "pgrepl.standby.catalog_xmin_epoch" "catalog_xmin epoch" Uint 4: "Wraparound epoch of catalog_xmin";
    BackupArchiveName "pgrepl.backup.archive_name" "Archive name" String 0: "File name of the archive";
    BackupTablespace "pgrepl.backup.tablespace" "Tablespace path" String 0: "Directory that the archive was made from; empty for the data directory";
    BackupData "pgrepl.backup.data" "Backup data" Bytes 0: "A slice of an archive or of the manifest";
    BackupBytesDone "pgrepl.backup.bytes_done" "Bytes done" Uint 8: "Bytes backed up so far";

    // Replication commands
    Command "pgrepl.command" "Replication command" Text 0: "The command of the replication protocol";
    CommandSlot "pgrepl.command.slot" "Slot" Text 0: "Replication slot that the command is about";
    CommandMode "pgrepl.command.mode" "Mode" Text 0: "logical or physical";
    CommandPlugin "pgrepl.command.plugin" "Plugin" Text 0: "Output plugin of the new slot";
    CommandTimeline "pgrepl.command.timeline" "Timeline" Uint 4: "Timeline whose history is asked for";
    CommandOption "pgrepl.command.option" "Option" Text 0: "name, or name=value";
    StartSlot "pgrepl.start.slot" "Slot" Text 0: "Replication slot to stream from";
    StartMode "pgrepl.start.mode" "Mode" Text 0: "logical or physical";
    StartLsn "pgrepl.start.lsn" "Start LSN" Lsn 8: "WAL position to begin at; 0/0 of a logical slot: where it was left";
    StartTimeline "pgrepl.start.timeline" "Timeline" Uint 4: "Timeline to stream";
    StartPlugin "pgrepl.start.plugin" "Plugin" Text 0 {generated}: "Output plugin of the slot, as its creation or the options tell";
    StartProtoVersion "pgrepl.start.proto_version" "Protocol version" Uint 4: "Version of the logical replication protocol";
    StartPublicationNames "pgrepl.start.publication_names" "Publications" Text 0: "Publications to stream";
    StartBinary "pgrepl.start.binary" "Binary" Text 0: "Whether values may come in binary form";
    StartMessages "pgrepl.start.messages" "Messages" Text 0: "Whether logical decoding messages are wanted";
    StartStreaming "pgrepl.start.streaming" "Streaming" Text 0: "Whether transactions come before their end: on, off, parallel";
    StartTwoPhase "pgrepl.start.two_phase" "Two-phase" Text 0: "Whether prepared transactions come when they are prepared";
    StartOrigin "pgrepl.start.origin" "Origin" Text 0: "Changes of which origins are wanted: any, none";
    StartOption "pgrepl.start.option" "Option" Text 0: "Any other option of the output plugin: name, or name=value";
    StartFrame "pgrepl.start.frame" "Started in frame" Position 4 {generated}: "Where the START_REPLICATION in force is";

    // Logical replication messages
    MessageType "pgrepl.message.type" "Message type" Char 1
        ['B' = "Begin", 'M' = "Message", 'C' = "Commit", 'O' = "Origin", 'R' = "Relation", 'Y' = "Type", 'I' = "Insert",
         'U' = "Update", 'D' = "Delete", 'T' = "Truncate", 'S' = "Stream Start", 'E' = "Stream Stop", 'c' = "Stream Commit",
         'A' = "Stream Abort", 'b' = "Begin Prepare", 'P' = "Prepare", 'K' = "Commit Prepared", 'r' = "Rollback Prepared",
         'p' = "Stream Prepare"]:
        "Kind of the logical replication message";
    Xid "pgrepl.xid" "Transaction id" Uint 4: "Transaction id as sent; in row changes of a streamed block that of the subtransaction";
    Subxid "pgrepl.subxid" "Subtransaction id" Uint 4: "What is rolled back; equal to the transaction id when all of it is";
    Xid64 "pgrepl.xid" "Transaction id" Uint 8: "Transaction id as sent by servers that count in 64 bits";
    Subxid64 "pgrepl.subxid" "Subtransaction id" Uint 8: "What is rolled back, by servers that count in 64 bits";
    Flags "pgrepl.flags" "Flags" Uint 1: "Unused, zero";
    FinalLsn "pgrepl.final_lsn" "Final LSN" Lsn 8: "Start of the commit record";
    CommitLsn "pgrepl.commit_lsn" "Commit LSN" Lsn 8: "Start of the commit record";
    EndLsn "pgrepl.end_lsn" "End LSN" Lsn 8: "End of the commit or prepare record";
    CommitTime "pgrepl.commit_time" "Commit time" Time 8: "When the transaction committed, UTC";
    AbortLsn "pgrepl.abort_lsn" "Abort LSN" Lsn 8: "End of the abort record";
    AbortTime "pgrepl.abort_time" "Abort time" Time 8: "When the transaction aborted, UTC";
    PrepareLsn "pgrepl.prepare_lsn" "Prepare LSN" Lsn 8: "Start of the prepare record";
    PrepareEndLsn "pgrepl.prepare_end_lsn" "Prepare end LSN" Lsn 8: "End of the prepare record";
    RollbackEndLsn "pgrepl.rollback_end_lsn" "Rollback end LSN" Lsn 8: "End of the rollback-prepared record";
    PrepareTime "pgrepl.prepare_time" "Prepare time" Time 8: "When the transaction was prepared, UTC";
    RollbackTime "pgrepl.rollback_time" "Rollback time" Time 8: "When the prepared transaction was rolled back, UTC";
    Gid "pgrepl.gid" "Global identifier" String 0: "Identifier given to PREPARE TRANSACTION";
    FirstSegment "pgrepl.stream.first_segment" "First segment" Bool 1: "First block of this transaction";
    OriginLsn "pgrepl.origin.lsn" "Origin LSN" Lsn 8: "Commit position on the origin node; 0/0 in a streamed transaction";
    OriginName "pgrepl.origin.name" "Origin name" String 0: "Name of the replication origin";
    DecodingMessageFlags "pgrepl.decoding_message.flags" "Flags" Uint 1: "Flags of the logical decoding message";
    DecodingMessageTransactional "pgrepl.decoding_message.flags.transactional" "Transactional" Bool 1 mask 1:
        "The message belongs to a transaction";
    DecodingMessageLsn "pgrepl.decoding_message.lsn" "Message LSN" Lsn 8: "End of the message's WAL record";
    DecodingMessagePrefix "pgrepl.decoding_message.prefix" "Prefix" String 0: "Prefix given to pg_logical_emit_message";
    DecodingMessageLength "pgrepl.decoding_message.length" "Content length" Int 4: "Length of the content in bytes";
    DecodingMessageContent "pgrepl.decoding_message.content" "Content" Bytes 0: "Content given to pg_logical_emit_message, never converted";
    RelationOid "pgrepl.relation.oid" "Relation OID" Uint 4: "OID of the table at the publisher";
    RelationNamespace "pgrepl.relation.namespace" "Namespace" String 0: "Schema of the table; empty for pg_catalog";
    RelationName "pgrepl.relation.name" "Relation name" String 0: "Name of the table";
    RelationReplicaIdentity "pgrepl.relation.replica_identity" "Replica identity" Char 1
        ['d' = "default", 'n' = "nothing", 'f' = "full", 'i' = "index"]:
        "Which old values Update and Delete carry";
    RelationColumnCount "pgrepl.relation.column_count" "Number of columns" Uint 2: "How many columns are described";
    ColumnFlags "pgrepl.column.flags" "Flags" Uint 1: "Flags of the column";
    ColumnKey "pgrepl.column.flags.key" "Part of the key" Bool 1 mask 1: "The column belongs to the replica identity";
    ColumnName "pgrepl.column.name" "Column name" String 0: "Name of the column";
    ColumnTypeOid "pgrepl.column.type_oid" "Type OID" Uint 4: "OID of the column's data type";
    ColumnTypeModifier "pgrepl.column.type_modifier" "Type modifier" Int 4: "atttypmod of the column; -1: none";
    TypeOid "pgrepl.type.oid" "Type OID" Uint 4: "OID of the data type";
    TypeNamespace "pgrepl.type.namespace" "Namespace" String 0: "Schema of the type; empty for pg_catalog";
    TypeName "pgrepl.type.name" "Type name" String 0: "Name of the type; of a domain, that of its base type";
    TupleKind "pgrepl.tuple.kind" "Tuple kind" Char 1 ['N' = "new tuple", 'K' = "key", 'O' = "old tuple"]: "Which row follows";
    TupleColumnCount "pgrepl.tuple.column_count" "Number of columns" Uint 2: "How many column values follow";
    ValueKind "pgrepl.value.kind" "Kind" Char 1 ['n' = "null", 'u' = "unchanged TOAST", 't' = "text", 'b' = "binary"]: "Form of the column value";
    ValueLength "pgrepl.value.length" "Length" Int 4: "Length of the value in bytes";
    ValueText "pgrepl.value.text" "Text" Text 0: "Value in text form";
    ValueBinary "pgrepl.value.binary" "Binary" Bytes 0: "Value in the binary form of its type";
    TruncateRelationCount "pgrepl.truncate.relation_count" "Number of relations" Uint 4: "How many tables are truncated";
    TruncateFlags "pgrepl.truncate.flags" "Options" Uint 1: "Options of TRUNCATE";
    TruncateCascade "pgrepl.truncate.flags.cascade" "CASCADE" Bool 1 mask 1: "TRUNCATE ... CASCADE";
    TruncateRestartIdentity "pgrepl.truncate.flags.restart_identity" "RESTART IDENTITY" Bool 1 mask 2: "TRUNCATE ... RESTART IDENTITY";

    // What is not on the wire
    Table "pgrepl.table" "Table" Text 0 {generated}: "Table as the Relation message in force names it";
    RelationFrame "pgrepl.relation.frame" "Relation message in frame" Position 4 {generated}: "Where the Relation message in force was";
    ValueColumn "pgrepl.value.column" "Column name" Text 0 {generated}: "Name of the column, from the Relation message in force";
    ValueType "pgrepl.value.type" "Column type" Text 0 {generated}: "Type of the column as SQL writes it";
    ValueKey "pgrepl.value.key" "Part of the key" Bool 1 {generated}: "The column belongs to the replica identity";
    ValueDecoded "pgrepl.value.decoded" "Value" Text 0 {generated}: "Binary value as PostgreSQL's text output prints it";
    ValueChanged "pgrepl.value.changed" "Changed" Bool 1 {generated}: "The value differs from that of the old row";
    Cell "pgrepl.cell" "Cell" Text 0 {generated}: "column=value";
    DataText "pgrepl.data.text" "Text" Text 0 {generated}: "What another output plugin wrote, where it is text";
    DecodingMessageText "pgrepl.decoding_message.text" "Content as text" Text 0 {generated}: "The content, where it is UTF-8 text";

    TxnXid "pgrepl.txn.xid" "Transaction" Uint 8 {generated}: "Top-level transaction id of the transaction that the message belongs to";
    TxnBegin "pgrepl.txn.begin_frame" "Begins in frame" Position 4 {generated}: "Where the transaction begins";
    TxnPrepare "pgrepl.txn.prepare_frame" "Prepared in frame" Position 4 {generated}: "Where the transaction was prepared for its commit";
    TxnEnd "pgrepl.txn.end_frame" "Ends in frame" Position 4 {generated}: "Where the transaction is committed or rolled back";
    TxnOutcome "pgrepl.txn.outcome" "Outcome" Text 0 {generated}:
        "committed, rolled back, subtransaction rolled back, or prepared while its end was not seen";
    TxnChanges "pgrepl.txn.changes" "Changes" Uint 4 {generated}: "Inserts, Updates and Deletes, without those of rolled-back subtransactions";
    TxnBytes "pgrepl.txn.bytes" "Bytes" Uint 8 {generated}: "XLogData payload of all messages of the transaction, up to and with this one";
    TxnDuration "pgrepl.txn.duration" "Duration" Duration 8 {generated}: "Time on the wire from the transaction's first message to this one";
    DelaySend "pgrepl.delay.send" "Send delay" Duration 8 {generated}: "From the commit or prepare to the sending of this message, by the server's clock";
    AckFrame "pgrepl.ack.frame" "Acknowledged in frame" Position 4 {generated}: "First status update whose flush position reaches the end LSN";
    AckTime "pgrepl.ack.time" "Acknowledged after" Duration 8 {generated}: "Time on the wire until that status update";
    LagWrite "pgrepl.lag.write" "Write lag" Uint 8 {generated}: "Bytes between the highest WAL end that the server has told and this position";
    LagFlush "pgrepl.lag.flush" "Flush lag" Uint 8 {generated}: "Bytes between the highest WAL end that the server has told and this position";
    LagApply "pgrepl.lag.apply" "Apply lag" Uint 8 {generated}: "Bytes between the highest WAL end that the server has told and this position";

    // Bytes without a place in the documented layout
    Undecoded "pgrepl.undecoded" "Undecoded bytes" Bytes 0: "Bytes that could not be read as the documented layout";
    Trailing "pgrepl.trailing" "Trailing bytes" Bytes 0: "Bytes after the end of the documented layout";

    // Notes
    NoteMalformed "pgrepl.expert.malformed" "Malformed message" Note 0 severity Error: "The message contradicts its documented layout";
    NoteTrailing "pgrepl.expert.trailing_bytes" "Trailing bytes" Note 0 severity Warn: "The message is longer than its documented layout";
    NoteUnknownMessage "pgrepl.expert.unknown_message" "Unknown message" Note 0 severity Warn: "No documented message begins with this byte here";
    NoteNotCaptured "pgrepl.expert.not_captured" "Not captured" Note 0 severity Note: "The capture did not keep all bytes of the message";
    NoteGuessed "pgrepl.expert.stream_guessed" "Stream guessed" Note 0 severity Note: "No START_REPLICATION was seen for this stream";
    NoteUnknownRelation "pgrepl.expert.unknown_relation" "Unknown relation" Note 0 severity Note: "No Relation message for this OID was seen";
    NoteColumnCount "pgrepl.expert.column_count" "Column count differs" Note 0 severity Warn:
        "The row has another number of columns than its Relation message";
    NoteUnfinished "pgrepl.expert.transaction_unfinished" "Transaction not finished" Note 0 severity Note:
        "A transaction begins while the one before it has not come to its end";
    NoteBeginNotSeen "pgrepl.expert.begin_not_seen" "Begin not seen" Note 0 severity Note: "The transaction ends here; its beginning was not captured";
    NoteRollback "pgrepl.expert.rollback" "Rolled back" Note 0 severity Chat: "A transaction or subtransaction is rolled back";
    NoteNoReply "pgrepl.expert.no_reply" "Reply missing" Note 0 severity Note: "A reply was requested and not given before this keepalive";
    NoteBackwards "pgrepl.expert.position_backwards" "Position moved backwards" Note 0 severity Note:
        "The receiver tells a position below the one that it told before";
    NoteValue "pgrepl.expert.value" "Value not decoded" Note 0 severity Note: "The binary value is not what its type demands";
    NotePanic "pgrepl.expert.decoder_panic" "Decoder panic" Note 0 severity Error: "A fault in pgrepl itself; please report it";

    // Physical WAL, within its data
    WalPageGroup "" "Page" Group 0: "Header of a WAL page";
    WalRecordGroup "" "Record" Group 0: "A WAL record, or the part of it that is here";
    WalBlockGroup "" "Block" Group 0: "A reference of a WAL record to a block";
    WalPageMagic "pgrepl.wal.page.magic" "Magic" Uint 2
        [0xd087 = "PostgreSQL 9.5", 0xd093 = "PostgreSQL 9.6", 0xd097 = "PostgreSQL 10", 0xd098 = "PostgreSQL 11",
         0xd101 = "PostgreSQL 12", 0xd106 = "PostgreSQL 13", 0xd10d = "PostgreSQL 14", 0xd110 = "PostgreSQL 15",
         0xd113 = "PostgreSQL 16", 0xd116 = "PostgreSQL 17", 0xd118 = "PostgreSQL 18"]:
        "Magic number of the page, another for each major version of the server";
    WalPageInfo "pgrepl.wal.page.info" "Info" Uint 2: "Flags of the page";
    WalPageContinued "pgrepl.wal.page.info.continued" "Record continued" Bool 1 mask 1:
        "The page begins with the rest of a record of the page before";
    WalPageLong "pgrepl.wal.page.info.long_header" "Long header" Bool 1 mask 2: "First page of a segment";
    WalPageRemovable "pgrepl.wal.page.info.backup_removable" "Backup blocks removable" Bool 1 mask 4:
        "Page images that begin on this page are not needed for recovery; up to 18";
    WalPageOverwrites "pgrepl.wal.page.info.overwrites" "Overwrites a record" Bool 1 mask 8:
        "The unfinished record of the page before was given up";
    WalPageOverwrites19 "pgrepl.wal.page.info.overwrites" "Overwrites a record" Bool 1 mask 4:
        "The unfinished record of the page before was given up";
    WalPageTimeline "pgrepl.wal.page.timeline" "Timeline" Uint 4: "Timeline of the first record that begins on the page";
    WalPageAddress "pgrepl.wal.page.addr" "Page address" Lsn 8: "WAL position of the page";
    WalPageRemaining "pgrepl.wal.page.rem_len" "Remaining length" Uint 4: "Bytes still missing of the record of the page before";
    WalPageSystemId "pgrepl.wal.page.sysid" "System identifier" Uint 8: "The cluster, as IDENTIFY_SYSTEM tells it";
    WalPageSegmentSize "pgrepl.wal.page.seg_size" "Segment size" Uint 4: "Bytes of a WAL file";
    WalPageBlockSize "pgrepl.wal.page.block_size" "Page size" Uint 4: "Bytes of a WAL page";
    WalRecordLsn "pgrepl.wal.record.lsn" "Record" Lsn 8 {generated}: "WAL position where the record begins";
    WalLength "pgrepl.wal.length" "Length" Uint 4: "Bytes of the record, without page headers";
    WalXid "pgrepl.wal.xid" "Transaction id" Uint 4: "Transaction that wrote the record; 0: none";
    WalPrev "pgrepl.wal.prev" "Previous record" Lsn 8: "WAL position where the record before begins";
    WalInfo "pgrepl.wal.info" "Info" Uint 1: "Operation and flags, whose meaning is the resource manager's, in the high half";
    WalInfoSpecial "pgrepl.wal.info.special_rel_update" "Special relation update" Bool 1 mask 1:
        "The record changes files in a way that block references do not tell";
    WalInfoCheck "pgrepl.wal.info.check_consistency" "Check consistency" Bool 1 mask 2: "Page images are there to be compared with";
    WalRmid "pgrepl.wal.rmid" "Resource manager id" Uint 1: "Number of the resource manager";
    WalRmgr "pgrepl.wal.rmgr" "Resource manager" Text 0 {generated}: "Resource manager as pg_waldump names it";
    WalOperation "pgrepl.wal.operation" "Operation" Text 0 {generated}: "Operation as pg_waldump names it";
    WalCrc "pgrepl.wal.crc" "CRC-32C" Uint 4: "Checksum of the record";
    WalCrcOk "pgrepl.wal.crc.ok" "Checksum right" Bool 1 {generated}: "The checksum is that of the record, which ends here";
    WalBlockId "pgrepl.wal.block.id" "Block reference" Uint 1: "Number of the block reference in the record";
    WalBlockFlags "pgrepl.wal.block.flags" "Flags" Uint 1: "Fork in the low half, flags in the high half";
    WalBlockHasImage "pgrepl.wal.block.flags.has_image" "Page image" Bool 1 mask 0x10: "The record holds an image of the block";
    WalBlockHasData "pgrepl.wal.block.flags.has_data" "Data" Bool 1 mask 0x20: "The record holds data about the block";
    WalBlockWillInit "pgrepl.wal.block.flags.will_init" "Will initialise" Bool 1 mask 0x40: "Replay makes the block anew";
    WalBlockSameRelation "pgrepl.wal.block.flags.same_rel" "Same relation" Bool 1 mask 0x80:
        "The block is of the same file as that of the reference before";
    WalBlockFork "pgrepl.wal.block.fork" "Fork" Uint 1 [0 = "main", 1 = "fsm", 2 = "vm", 3 = "init"] {generated}:
        "Fork of the relation that the block is in";
    WalBlockDataLength "pgrepl.wal.block.data_length" "Data length" Uint 2: "Bytes of data about the block";
    WalBlockImageLength "pgrepl.wal.block.image_length" "Image length" Uint 2: "Bytes of the page image, as it is in the record";
    WalBlockHoleOffset "pgrepl.wal.block.hole_offset" "Hole offset" Uint 2: "Bytes of the page before the zeros that the image leaves out";
    WalBlockImageInfo "pgrepl.wal.block.image_info" "Image info" Uint 1: "Flags of the page image";
    WalImageHole "pgrepl.wal.block.image_info.has_hole" "Has a hole" Bool 1 mask 1: "Zeros in the page are left out";
    WalImageCompressed "pgrepl.wal.block.image_info.compressed" "Compressed" Bool 1 mask 2: "The image is compressed; up to 14";
    WalImageApplyOld "pgrepl.wal.block.image_info.apply" "Apply" Bool 1 mask 4: "Replay restores the page from the image";
    WalImageApply "pgrepl.wal.block.image_info.apply" "Apply" Bool 1 mask 2: "Replay restores the page from the image";
    WalImagePglz "pgrepl.wal.block.image_info.pglz" "pglz" Bool 1 mask 4: "The image is compressed with pglz";
    WalImageLz4 "pgrepl.wal.block.image_info.lz4" "LZ4" Bool 1 mask 8: "The image is compressed with LZ4";
    WalImageZstd "pgrepl.wal.block.image_info.zstd" "Zstandard" Bool 1 mask 0x10: "The image is compressed with Zstandard";
    WalBlockHoleLength "pgrepl.wal.block.hole_length" "Hole length" Uint 2: "Bytes of zeros that a compressed image leaves out";
    WalBlockTablespace "pgrepl.wal.block.tablespace" "Tablespace OID" Uint 4: "Tablespace of the file";
    WalBlockDatabase "pgrepl.wal.block.database" "Database OID" Uint 4: "Database of the file; 0: shared by all";
    WalBlockRelation "pgrepl.wal.block.relfilenumber" "Relation file number" Uint 4: "Name of the file, pg_class.relfilenode";
    WalBlockNumber "pgrepl.wal.block.number" "Block number" Uint 4: "Number of the block in the fork";
    WalBlockFile "pgrepl.wal.block.rel" "File" Text 0 {generated}:
        "Tablespace, database and relation file number, also where the reference leaves them out";
    WalItem "pgrepl.wal.item" "Item" Uint 1
        [252 = "top-level transaction id", 253 = "replication origin", 254 = "main data, long", 255 = "main data, short"]:
        "What follows, where it is no block reference";
    WalOrigin "pgrepl.wal.origin" "Replication origin" Uint 2: "Origin of the change, pg_replication_origin.roident";
    WalTopXid "pgrepl.wal.top_xid" "Top-level transaction id" Uint 4: "Transaction that the record's subtransaction belongs to";
    WalMainLength "pgrepl.wal.main_data_length" "Main data length" Uint 4: "Bytes of the data that belong to no block";
    WalData "pgrepl.wal.data" "Data" Bytes 0: "Page images, data about blocks and main data of a record";
    WalPadding "pgrepl.wal.padding" "Padding" Bytes 0: "Bytes without meaning: up to a multiple of 8, or to the end of the page";
    WalPart "pgrepl.wal.part" "Part of a field" Bytes 0: "First bytes of a field whose rest is behind the next page header or in the next message";
    WalUnlocated "pgrepl.wal.unlocated" "WAL" Bytes 0: "WAL whose pages and records are not located";
    NoteWalNotLocated "pgrepl.expert.wal_not_located" "WAL not located" Note 0 severity Note: "Where WAL records are is not known here";
    NoteWalOverwritten "pgrepl.expert.wal_overwritten" "WAL record given up" Note 0 severity Chat:
        "The server restarted and did not finish the record";
    NoteWalRecord "pgrepl.expert.wal_record" "WAL record malformed" Note 0 severity Error: "The headers of the record contradict its length";
    NoteWalCrc "pgrepl.expert.wal_crc" "WAL checksum wrong" Note 0 severity Error: "The checksum of the record is not that of its bytes";
    NoteWalPrev "pgrepl.expert.wal_prev" "WAL chain broken" Note 0 severity Warn:
        "The record points to another one than that before it";
}
