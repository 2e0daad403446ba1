//! Transactions: which one a message belongs to, where it begins and ends, what it changed and how it ended.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::session::At;

/// Transactions and subtransactions of a capture that are remembered; messages of later ones show none.
pub(crate) const MAX_TRANSACTIONS: usize = 1 << 24;
/// Streamed transactions of a connection that are open, and prepared ones of a capture that are not finished.
const MAX_OPEN: usize = 10_000;
/// A duration that is none.
const NOT_KNOWN: i64 = i64::MIN;
/// Longest global identifier; the server allows 199 bytes, which may be more in the client's encoding.
const MAX_GID: usize = 1024;

/// How a transaction ended, as far as the capture tells.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on, or its end was not captured.
    #[default]
    Unknown = 0,
    Committed = 1,
    RolledBack = 2,
    /// The part of it that the message belongs to was rolled back.
    SubtransactionRolledBack = 3,
    /// It waits for its Commit Prepared or Rollback Prepared.
    Prepared = 4,
}

impl Outcome {
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Unknown => "",
            Outcome::Committed => "committed",
            Outcome::RolledBack => "rolled back",
            Outcome::SubtransactionRolledBack => "subtransaction rolled back",
            Outcome::Prepared => "prepared",
        }
    }
}

/// What is remembered of one transaction, or of a subtransaction of a streamed one. Positions are 0, xids too, where
/// they are not known.
#[derive(Clone, Copy, Debug)]
struct Transaction {
    xid: u64,
    begin: u32,
    prepare: u32,
    end: u32,
    /// The one that this is a part of, as in a record; 0 for a transaction.
    parent: u32,
    outcome: Outcome,
    has_origin: bool,
    /// Nothing of it is missing: the counts below are right.
    counted: bool,
    /// At its end: Inserts, Updates and Deletes that count, bytes of all its messages, nanoseconds or `NOT_KNOWN`.
    changes: u32,
    bytes: u64,
    duration: i64,
}

impl Transaction {
    fn new(xid: u64, begin: u32) -> Transaction {
        Transaction {
            xid,
            begin,
            prepare: 0,
            end: 0,
            parent: 0,
            outcome: Outcome::Unknown,
            has_origin: false,
            counted: false,
            changes: 0,
            bytes: 0,
            duration: NOT_KNOWN,
        }
    }
}

/// What there is to say of a message's transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Of the transaction, not of a subtransaction; 0: not known.
    pub xid: u64,
    /// Positions of its first message, its Prepare and its end; 0: not known.
    pub begin: u32,
    pub prepare: u32,
    pub end: u32,
    pub outcome: Outcome,
    /// Its times are those of another server.
    pub has_origin: bool,
    /// Inserts, Updates and Deletes without rolled-back ones, and bytes of all its messages. None before its end, and
    /// when a part of it is missing.
    pub counts: Option<(u32, u64)>,
    /// Nanoseconds from its first message to its end or Prepare; None when one of them was not seen.
    pub duration: Option<i64>,
}

/// A prepared transaction waits for its end, which may come on another connection of the same slot.
struct Prepared {
    slot: Option<Vec<u8>>,
    gid: Vec<u8>,
    index: u32,
}

/// The transactions of all connections of a capture; a record holds an index and one more, 0 for none.
#[derive(Default)]
pub struct Archive {
    transactions: Vec<Transaction>,
    /// By server and xid.
    prepared: HashMap<(u64, u64), Vec<Prepared>>,
    prepared_count: usize,
}

impl Archive {
    fn add(&mut self, transaction: Transaction) -> u32 {
        if self.transactions.len() >= MAX_TRANSACTIONS {
            return 0;
        }
        self.transactions.push(transaction);
        self.transactions.len() as u32
    }

    fn change(&mut self, index: u32, change: impl FnOnce(&mut Transaction)) {
        if let Some(transaction) = (index as usize).checked_sub(1).and_then(|i| self.transactions.get_mut(i)) {
            change(transaction);
        }
    }

    fn get(&self, index: u32) -> Option<&Transaction> {
        self.transactions.get((index as usize).checked_sub(1)?)
    }

    /// What is known now of the transaction of such an index.
    pub fn facts(&self, index: u32) -> Option<Facts> {
        let part = self.get(index)?;
        let whole = self.get(part.parent).unwrap_or(part);
        let part_rolled_back = part.parent != 0 && part.outcome == Outcome::RolledBack && whole.outcome != Outcome::RolledBack;
        Some(Facts {
            xid: whole.xid,
            begin: whole.begin,
            prepare: whole.prepare,
            end: whole.end,
            outcome: if part_rolled_back { Outcome::SubtransactionRolledBack } else { whole.outcome },
            has_origin: whole.has_origin,
            counts: whole.counted.then_some((whole.changes, whole.bytes)),
            duration: (whole.duration != NOT_KNOWN).then_some(whole.duration),
        })
    }
}

/// A transaction of which more is to come on the connection.
#[derive(Debug, Default)]
struct Open {
    index: u32,
    xid: u64,
    /// It comes in blocks from Stream Start to Stream Stop.
    streamed: bool,
    /// Start of its commit record, as Begin told.
    final_lsn: u64,
    began: Option<i64>,
    /// Its first message was seen and nothing was lost since.
    complete: bool,
    changes: u32,
    bytes: u64,
    /// Its subtransactions that are not rolled back.
    parts: HashMap<u64, Part>,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    index: u32,
    changes: u32,
}

/// How a transaction came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Commit,
    Rollback,
    Prepare,
}

/// The open transactions of one stream. What a message belongs to is given as an index of the archive and one more, 0 for
/// none; `bytes` are those of the message.
#[derive(Default)]
pub struct Transactions {
    server: u64,
    slot: Option<Vec<u8>>,
    /// The one that messages belong to now: after Begin, or between Stream Start and Stream Stop.
    current: Option<Open>,
    /// Streamed ones between their blocks, by xid.
    streams: HashMap<u64, Open>,
    /// The one that a subtransaction is of, by its xid; perhaps it has ended.
    tops: HashMap<u64, u64>,
    /// One from a Begin on, during which something was lost.
    interrupted: Option<Open>,
    /// What came during it between two losses: of it if it comes to its end.
    between: Vec<u32>,
}

impl Transactions {
    pub fn new(server: u64) -> Transactions {
        Transactions { server, ..Transactions::default() }
    }

    /// A new stream begins; what the one before left open is never finished in it.
    pub fn reset(&mut self, slot: Option<Vec<u8>>) {
        *self = Transactions { slot, ..Transactions::new(self.server) };
    }

    /// Messages of the server were lost.
    pub fn lose(&mut self) {
        self.streams.values_mut().for_each(|open| open.complete = false);
        match self.current.take() {
            Some(open) if open.streamed => self.keep(Open { complete: false, ..open }),
            Some(open) if open.xid != 0 => self.interrupted = Some(Open { complete: false, ..open }),
            Some(open) if self.interrupted.is_some() && self.between.len() < MAX_OPEN => self.between.push(open.index),
            _ => {}
        }
    }

    /// Keeps a streamed transaction between its blocks.
    fn keep(&mut self, open: Open) {
        if self.streams.len() < MAX_OPEN {
            self.streams.insert(open.xid, open);
        }
    }

    /// Nothing is open now; `true` when something was and has not come to its end.
    fn leave(&mut self) -> bool {
        let interrupted = self.interrupted.take().is_some();
        self.between.clear();
        match self.current.take() {
            // Only its Stream Stop is missing.
            Some(open) if open.streamed => {
                self.keep(Open { complete: false, ..open });
                interrupted
            }
            open => open.is_some() | interrupted,
        }
    }

    /// Its xid; 0: none is open, or it is not known.
    pub fn open_xid(&self) -> u64 {
        self.current.as_ref().map_or(0, |open| open.xid)
    }

    /// Begin or Begin Prepare; also whether the transaction before it has not come to its end.
    pub fn begin(&mut self, archive: &mut Archive, xid: u64, final_lsn: u64, at: At, bytes: usize) -> (u32, bool) {
        let unfinished = self.leave();
        let index = archive.add(Transaction::new(xid, at.position));
        let bytes = bytes as u64;
        self.current = Some(Open { index, xid, final_lsn, began: at.time, complete: true, bytes, ..Open::default() });
        (index, unfinished)
    }

    /// Stream Start; also whether the transaction before it has not come to its end.
    pub fn start_block(&mut self, archive: &mut Archive, xid: u64, first: bool, at: At, bytes: usize) -> (u32, bool) {
        let unfinished = self.leave();
        let known = self.streams.remove(&xid).filter(|_| !first);
        let mut open = known.unwrap_or_else(|| {
            let index = archive.add(Transaction::new(xid, if first { at.position } else { 0 }));
            Open { index, xid, streamed: true, began: at.time.filter(|_| first), complete: first, ..Open::default() }
        });
        open.bytes += bytes as u64;
        let index = open.index;
        self.current = Some(open);
        (index, unfinished)
    }

    /// Stream Stop.
    pub fn stop_block(&mut self, bytes: usize) -> u32 {
        let Some(mut open) = self.current.take() else { return 0 };
        open.bytes += bytes as u64;
        let index = open.index;
        if open.streamed {
            self.keep(open);
        }
        index
    }

    /// A message inside a transaction; `xid` is what the message has itself in a block, `is_change` for a row.
    #[inline]
    pub fn message(&mut self, archive: &RefCell<Archive>, xid: Option<u64>, is_change: bool, at: At, bytes: usize) -> u32 {
        if self.current.as_ref().is_none_or(|open| open.xid == 0 && !open.streamed && xid.is_some()) {
            self.resume(&mut archive.borrow_mut(), xid);
        }
        let Some(open) = &mut self.current else { return 0 };
        open.bytes += bytes as u64;
        match xid {
            Some(xid) if xid != open.xid && open.streamed => match open.parts.get_mut(&xid) {
                Some(part) => {
                    part.changes += u32::from(is_change);
                    part.index
                }
                None => {
                    self.tops.insert(xid, open.xid);
                    open.add_part(&mut archive.borrow_mut(), xid, is_change, at)
                }
            },
            _ => {
                open.changes = open.changes.saturating_add(u32::from(is_change));
                open.index
            }
        }
    }

    /// The transaction of a message whose beginning was not seen: by the message's own xid one that is known, else one
    /// of which nothing is known yet.
    #[cold]
    fn resume(&mut self, archive: &mut Archive, xid: Option<u64>) {
        let is_part = |top: &u64, xid| self.streams.get(top).is_some_and(|open| open.parts.contains_key(&xid));
        let known = xid.and_then(|xid| match self.streams.contains_key(&xid) {
            true => Some(xid),
            false => self.tops.get(&xid).copied().filter(|top| is_part(top, xid)),
        });
        match (known.and_then(|top| self.streams.remove(&top)), &self.current) {
            (Some(open), unknown) => {
                // Both are in one block.
                if let Some(unknown) = unknown {
                    archive.change(unknown.index, |part| part.parent = open.index);
                }
                self.current = Some(open);
            }
            // Rows of a block have a subtransaction's xid perhaps; which transaction it is of is not told.
            (None, None) => self.current = Some(Open { index: archive.add(Transaction::new(0, 0)), ..Open::default() }),
            (None, Some(_)) => {}
        }
    }

    /// Origin: the transaction's times are those of another server.
    pub fn origin(&mut self, archive: &mut Archive, bytes: usize) -> u32 {
        let Some(open) = &mut self.current else { return 0 };
        open.bytes += bytes as u64;
        archive.change(open.index, |transaction| transaction.has_origin = true);
        open.index
    }

    /// Commit: the end of the transaction whose Begin has named the same commit record.
    pub fn commit(&mut self, archive: &mut Archive, commit_lsn: u64, at: At, bytes: usize) -> u32 {
        self.end_current(archive, |open| open.xid != 0 && open.final_lsn == commit_lsn, 0, End::Commit, at, bytes)
    }

    /// Prepare, the end of what Begin Prepare has begun.
    pub fn prepare(&mut self, archive: &mut Archive, xid: u64, gid: &[u8], at: At, bytes: usize) -> u32 {
        let index = self.end_current(archive, |open| open.xid == xid, xid, End::Prepare, at, bytes);
        self.wait(archive, index, xid, gid);
        index
    }

    /// Ends the open transaction when it is the one meant, else one of which only the end was seen.
    fn end_current(&mut self, archive: &mut Archive, fits: impl Fn(&Open) -> bool, xid: u64, how: End, at: At, bytes: usize) -> u32 {
        let current = self.current.take().filter(|open| !open.streamed);
        let interrupted = self.interrupted.take().filter(|open| fits(open));
        let between = std::mem::take(&mut self.between);
        match (current, interrupted) {
            (Some(open), _) if fits(&open) => self.end(archive, open, how, at, bytes),
            (current, Some(open)) => {
                let index = self.end(archive, open, how, at, bytes);
                // What came between the loss and this end was of the same transaction.
                for part in between.into_iter().chain(current.filter(|open| open.xid == 0).map(|open| open.index)) {
                    archive.change(part, |part| part.parent = index);
                }
                index
            }
            (Some(open), None) if open.xid == 0 => {
                archive.change(open.index, |transaction| transaction.xid = xid);
                self.end(archive, open, how, at, bytes)
            }
            _ => self.end_unseen(archive, xid, how, at, bytes),
        }
    }

    /// The end of a transaction of which nothing else was seen.
    fn end_unseen(&mut self, archive: &mut Archive, xid: u64, how: End, at: At, bytes: usize) -> u32 {
        let open = Open { index: archive.add(Transaction::new(xid, 0)), xid, ..Open::default() };
        self.end(archive, open, how, at, bytes)
    }

    /// Stream Commit, or a Stream Abort of the whole.
    pub fn end_stream(&mut self, archive: &mut Archive, xid: u64, how: End, at: At, bytes: usize) -> u32 {
        self.leave();
        match self.streams.remove(&xid) {
            Some(open) => self.end(archive, open, how, at, bytes),
            None => self.end_unseen(archive, xid, how, at, bytes),
        }
    }

    /// Stream Prepare.
    pub fn prepare_stream(&mut self, archive: &mut Archive, xid: u64, gid: &[u8], at: At, bytes: usize) -> u32 {
        let index = self.end_stream(archive, xid, End::Prepare, at, bytes);
        self.wait(archive, index, xid, gid);
        index
    }

    /// Stream Abort of a subtransaction.
    pub fn abort_part(&mut self, archive: &mut Archive, xid: u64, subxid: u64, at: At, bytes: usize) -> u32 {
        self.leave();
        if !self.streams.contains_key(&xid) {
            self.keep(Open { index: archive.add(Transaction::new(xid, 0)), xid, streamed: true, ..Open::default() });
        }
        let Some(open) = self.streams.get_mut(&xid) else { return 0 };
        open.bytes += bytes as u64;
        let parent = open.index;
        self.tops.remove(&subxid);
        let index = match open.parts.remove(&subxid) {
            Some(part) => part.index,
            None => archive.add(Transaction { parent, ..Transaction::new(subxid, 0) }),
        };
        archive.change(index, |part| (part.outcome, part.end) = (Outcome::RolledBack, at.position));
        index
    }

    fn end(&mut self, archive: &mut Archive, open: Open, how: End, at: At, bytes: usize) -> u32 {
        for part in open.parts.keys() {
            self.tops.remove(part);
        }
        let changes = open.parts.values().fold(open.changes, |sum, part| sum.saturating_add(part.changes));
        let duration = open.began.zip(at.time).and_then(|(began, ended)| ended.checked_sub(began));
        archive.change(open.index, |transaction| {
            transaction.counted = open.complete;
            transaction.changes = changes;
            transaction.bytes = open.bytes + bytes as u64;
            transaction.duration = duration.unwrap_or(NOT_KNOWN);
            match how {
                End::Commit => (transaction.end, transaction.outcome) = (at.position, Outcome::Committed),
                End::Rollback => (transaction.end, transaction.outcome) = (at.position, Outcome::RolledBack),
                End::Prepare => (transaction.prepare, transaction.outcome) = (at.position, Outcome::Prepared),
            }
        });
        open.index
    }

    /// Remembers a prepared transaction for its end.
    fn wait(&self, archive: &mut Archive, index: u32, xid: u64, gid: &[u8]) {
        let waiting = archive.prepared.entry((self.server, xid)).or_default();
        let before = waiting.len();
        // The server sends a transaction again when the client has not confirmed it.
        waiting.retain(|prepared| prepared.gid != gid || prepared.slot != self.slot);
        archive.prepared_count -= before - waiting.len();
        if archive.prepared_count < MAX_OPEN && gid.len() <= MAX_GID {
            waiting.push(Prepared { slot: self.slot.clone(), gid: gid.to_vec(), index });
            archive.prepared_count += 1;
        }
    }

    /// Commit Prepared or Rollback Prepared; the transaction was perhaps prepared on an earlier connection.
    pub fn finish_prepared(&mut self, archive: &mut Archive, xid: u64, gid: &[u8], how: End, at: At) -> u32 {
        self.leave();
        let same_slot = |slot: &Option<Vec<u8>>| *slot == self.slot || slot.is_none() || self.slot.is_none();
        let waiting = archive.prepared.entry((self.server, xid)).or_default();
        let found = waiting.iter().rposition(|prepared| prepared.gid == gid && same_slot(&prepared.slot));
        let found = found.map(|i| waiting.swap_remove(i).index);
        if waiting.is_empty() {
            archive.prepared.remove(&(self.server, xid));
        }
        archive.prepared_count -= usize::from(found.is_some());
        let index = found.unwrap_or_else(|| archive.add(Transaction::new(xid, 0)));
        let outcome = if how == End::Commit { Outcome::Committed } else { Outcome::RolledBack };
        archive.change(index, |transaction| (transaction.end, transaction.outcome) = (at.position, outcome));
        index
    }
}

impl Open {
    /// The first message of a subtransaction.
    #[cold]
    fn add_part(&mut self, archive: &mut Archive, xid: u64, is_change: bool, at: At) -> u32 {
        let index = archive.add(Transaction { parent: self.index, ..Transaction::new(xid, at.position) });
        if index == 0 {
            // What is rolled back of it would be counted.
            self.complete = false;
            return self.index;
        }
        self.parts.insert(xid, Part { index, changes: u32::from(is_change) });
        index
    }
}
