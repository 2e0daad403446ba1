//! Resource managers of WAL and their operations, by the names that `pg_waldump` prints (rmgrlist.h and
//! src/backend/access/rmgrdesc of PostgreSQL's source tree).
//!
//! A resource manager is a number in each record; its operation is in the high bits of the record's info byte. Codes were
//! given new meanings between major versions, so a row says for which it holds.

use std::fmt;

/// Versions of the rows: the first and the last.
const FIRST: u8 = 10;
const LAST: u8 = 18;

/// An operation of a resource manager.
#[derive(Clone, Copy, Debug)]
struct Operation {
    code: u8,
    name: &'static str,
    /// Major versions that have it.
    since: u8,
    until: u8,
}

#[derive(Clone, Copy, Debug)]
struct Rmgr {
    name: &'static str,
    /// Bits of the info byte that are the operation; others of the high four say more about it.
    mask: u8,
    operations: &'static [Operation],
}

const fn rmgr(name: &'static str, mask: u8, operations: &'static [Operation]) -> Rmgr {
    Rmgr { name, mask, operations }
}

const fn all(code: u8, name: &'static str) -> Operation {
    some(FIRST, LAST, code, name)
}

const fn since(version: u8, code: u8, name: &'static str) -> Operation {
    some(version, LAST, code, name)
}

const fn until(version: u8, code: u8, name: &'static str) -> Operation {
    some(FIRST, version, code, name)
}

const fn some(since: u8, until: u8, code: u8, name: &'static str) -> Operation {
    Operation { code, name, since, until }
}

/// Ids from here on belong to extensions, since 15.
const CUSTOM: u8 = 128;

/// Name of a resource manager as `pg_waldump` prints it; a bare number when there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RmgrName(pub u8);

impl RmgrName {
    /// The name, where it is in the table.
    pub fn known(self) -> Option<&'static str> {
        RMGRS.get(self.0 as usize).map(|rmgr| rmgr.name)
    }

    /// Whether a record can have it: one of the table or of an extension.
    pub(crate) fn is_legal(self) -> bool {
        self.0 as usize <= RMGRS.len() || self.0 >= CUSTOM
    }
}

impl fmt::Display for RmgrName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(name) => f.write_str(name),
            None if self.0 >= CUSTOM => write!(f, "custom{:03}", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Name of an operation as `pg_waldump` prints it: the resource manager, the info byte, the server's major version (0:
/// not known, then only names that all versions agree about).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationName(pub u8, pub u8, pub u8);

impl OperationName {
    /// The name, where it is in the table.
    pub fn known(self) -> Option<&'static str> {
        let OperationName(rmgr, info, version) = self;
        let rmgr = RMGRS.get(rmgr as usize)?;
        // What is new in later versions is not known; codes are seldom given new meanings.
        let version = if version == 0 { 0 } else { version.clamp(FIRST, LAST) };
        let mut rows = rmgr.operations.iter().filter(|row| row.code == info & rmgr.mask);
        match version {
            0 => rows.next().filter(|row| rows.next().is_none() && row.until == LAST),
            _ => rows.find(|row| (row.since..=row.until).contains(&version)),
        }
        .map(|row| row.name)
    }
}

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(name) => f.write_str(name),
            None => write!(f, "UNKNOWN ({:x})", self.1 & 0xf0),
        }
    }
}

/// By id.
static RMGRS: &[Rmgr] = &[
    rmgr(
        "XLOG",
        0xf0,
        &[
            all(0x00, "CHECKPOINT_SHUTDOWN"),
            all(0x10, "CHECKPOINT_ONLINE"),
            all(0x20, "NOOP"),
            all(0x30, "NEXTOID"),
            all(0x40, "SWITCH"),
            all(0x50, "BACKUP_END"),
            all(0x60, "PARAMETER_CHANGE"),
            all(0x70, "RESTORE_POINT"),
            all(0x80, "FPW_CHANGE"),
            all(0x90, "END_OF_RECOVERY"),
            all(0xa0, "FPI_FOR_HINT"),
            all(0xb0, "FPI"),
            until(11, 0xc0, "FPI_MULTI"),
            all(0xd0, "OVERWRITE_CONTRECORD"),
            since(17, 0xe0, "CHECKPOINT_REDO"),
        ],
    ),
    rmgr(
        "Transaction",
        0x70,
        &[
            all(0x00, "COMMIT"),
            all(0x10, "PREPARE"),
            all(0x20, "ABORT"),
            all(0x30, "COMMIT_PREPARED"),
            all(0x40, "ABORT_PREPARED"),
            all(0x50, "ASSIGNMENT"),
            since(14, 0x60, "INVALIDATION"),
        ],
    ),
    rmgr("Storage", 0xf0, &[all(0x10, "CREATE"), all(0x20, "TRUNCATE")]),
    rmgr("CLOG", 0xf0, &[all(0x00, "ZEROPAGE"), all(0x10, "TRUNCATE")]),
    rmgr(
        "Database",
        0xf0,
        &[
            until(14, 0x00, "CREATE"),
            since(15, 0x00, "CREATE_FILE_COPY"),
            until(14, 0x10, "DROP"),
            since(15, 0x10, "CREATE_WAL_LOG"),
            since(15, 0x20, "DROP"),
        ],
    ),
    rmgr("Tablespace", 0xf0, &[all(0x00, "CREATE"), all(0x10, "DROP")]),
    rmgr("MultiXact", 0xf0, &[all(0x00, "ZERO_OFF_PAGE"), all(0x10, "ZERO_MEM_PAGE"), all(0x20, "CREATE_ID"), all(0x30, "TRUNCATE_ID")]),
    rmgr("RelMap", 0xf0, &[all(0x00, "UPDATE")]),
    rmgr("Standby", 0xf0, &[all(0x00, "LOCK"), all(0x10, "RUNNING_XACTS"), all(0x20, "INVALIDATIONS")]),
    rmgr(
        "Heap2",
        0xf0,
        &[
            all(0x00, "REWRITE"),
            until(13, 0x10, "CLEAN"),
            some(14, 16, 0x10, "PRUNE"),
            since(17, 0x10, "PRUNE_ON_ACCESS"),
            until(13, 0x20, "FREEZE_PAGE"),
            some(14, 16, 0x20, "VACUUM"),
            since(17, 0x20, "PRUNE_VACUUM_SCAN"),
            until(13, 0x30, "CLEANUP_INFO"),
            some(14, 16, 0x30, "FREEZE_PAGE"),
            since(17, 0x30, "PRUNE_VACUUM_CLEANUP"),
            all(0x40, "VISIBLE"),
            all(0x50, "MULTI_INSERT"),
            all(0x60, "LOCK_UPDATED"),
            all(0x70, "NEW_CID"),
            all(0xd0, "MULTI_INSERT+INIT"),
        ],
    ),
    rmgr(
        "Heap",
        0xf0,
        &[
            all(0x00, "INSERT"),
            all(0x10, "DELETE"),
            all(0x20, "UPDATE"),
            since(11, 0x30, "TRUNCATE"),
            all(0x40, "HOT_UPDATE"),
            all(0x50, "HEAP_CONFIRM"),
            all(0x60, "LOCK"),
            all(0x70, "INPLACE"),
            all(0x80, "INSERT+INIT"),
            all(0xa0, "UPDATE+INIT"),
            all(0xc0, "HOT_UPDATE+INIT"),
        ],
    ),
    rmgr(
        "Btree",
        0xf0,
        &[
            all(0x00, "INSERT_LEAF"),
            all(0x10, "INSERT_UPPER"),
            all(0x20, "INSERT_META"),
            all(0x30, "SPLIT_L"),
            all(0x40, "SPLIT_R"),
            until(10, 0x50, "SPLIT_L_ROOT"),
            some(11, 11, 0x50, "SPLIT_L_HIGHKEY"),
            since(13, 0x50, "INSERT_POST"),
            until(10, 0x60, "SPLIT_R_ROOT"),
            some(11, 11, 0x60, "SPLIT_R_HIGHKEY"),
            since(13, 0x60, "DEDUP"),
            all(0x70, "DELETE"),
            all(0x80, "UNLINK_PAGE"),
            all(0x90, "UNLINK_PAGE_META"),
            all(0xa0, "NEWROOT"),
            all(0xb0, "MARK_PAGE_HALFDEAD"),
            all(0xc0, "VACUUM"),
            all(0xd0, "REUSE_PAGE"),
            since(11, 0xe0, "META_CLEANUP"),
        ],
    ),
    rmgr(
        "Hash",
        0xf0,
        &[
            all(0x00, "INIT_META_PAGE"),
            all(0x10, "INIT_BITMAP_PAGE"),
            all(0x20, "INSERT"),
            all(0x30, "ADD_OVFL_PAGE"),
            all(0x40, "SPLIT_ALLOCATE_PAGE"),
            all(0x50, "SPLIT_PAGE"),
            all(0x60, "SPLIT_COMPLETE"),
            all(0x70, "MOVE_PAGE_CONTENTS"),
            all(0x80, "SQUEEZE_PAGE"),
            all(0x90, "DELETE"),
            all(0xa0, "SPLIT_CLEANUP"),
            all(0xb0, "UPDATE_META_PAGE"),
            all(0xc0, "VACUUM_ONE_PAGE"),
        ],
    ),
    rmgr(
        "Gin",
        0xf0,
        &[
            until(11, 0x00, "CREATE_INDEX"),
            all(0x10, "CREATE_PTREE"),
            all(0x20, "INSERT"),
            all(0x30, "SPLIT"),
            all(0x40, "VACUUM_PAGE"),
            all(0x50, "DELETE_PAGE"),
            all(0x60, "UPDATE_META_PAGE"),
            all(0x70, "INSERT_LISTPAGE"),
            all(0x80, "DELETE_LISTPAGE"),
            all(0x90, "VACUUM_DATA_LEAF_PAGE"),
        ],
    ),
    rmgr(
        "Gist",
        0xf0,
        &[
            all(0x00, "PAGE_UPDATE"),
            since(12, 0x10, "DELETE"),
            since(12, 0x20, "PAGE_REUSE"),
            all(0x30, "PAGE_SPLIT"),
            until(11, 0x50, "CREATE_INDEX"),
            since(12, 0x60, "PAGE_DELETE"),
            since(13, 0x70, "ASSIGN_LSN"),
        ],
    ),
    rmgr("Sequence", 0xf0, &[all(0x00, "LOG")]),
    rmgr(
        "SPGist",
        0xf0,
        &[
            until(11, 0x00, "CREATE_INDEX"),
            all(0x10, "ADD_LEAF"),
            all(0x20, "MOVE_LEAFS"),
            all(0x30, "ADD_NODE"),
            all(0x40, "SPLIT_TUPLE"),
            all(0x50, "PICKSPLIT"),
            all(0x60, "VACUUM_LEAF"),
            all(0x70, "VACUUM_ROOT"),
            all(0x80, "VACUUM_REDIRECT"),
        ],
    ),
    rmgr(
        "BRIN",
        0xf0,
        &[
            all(0x00, "CREATE_INDEX"),
            all(0x10, "INSERT"),
            all(0x20, "UPDATE"),
            all(0x30, "SAMEPAGE_UPDATE"),
            all(0x40, "REVMAP_EXTEND"),
            all(0x50, "DESUMMARIZE"),
            all(0x90, "INSERT+INIT"),
            all(0xa0, "UPDATE+INIT"),
        ],
    ),
    rmgr("CommitTs", 0xf0, &[all(0x00, "ZEROPAGE"), all(0x10, "TRUNCATE"), until(13, 0x20, "SETTS")]),
    rmgr("ReplicationOrigin", 0xf0, &[all(0x00, "SET"), all(0x10, "DROP")]),
    rmgr("Generic", 0x00, &[all(0x00, "Generic")]),
    rmgr("LogicalMessage", 0xf0, &[all(0x00, "MESSAGE")]),
];
