//! How far the receiver is: its positions, its lag behind the sender, and what it has acknowledged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::session::At;

/// Commits and status updates of a connection that are remembered, and commits that wait for their acknowledgement.
pub(crate) const MAX_REMEMBERED: usize = 1 << 24;
const MAX_WAITING: usize = 1 << 20;

/// The acknowledgement of a commit: the first status update whose flush position reaches its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Position of the status update; 0: none was seen.
    pub position: u32,
    /// Nanoseconds from the commit on.
    pub elapsed: Option<i64>,
}

/// A status update, as the sender's messages before it let it appear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Highest WAL end that the sender has told; 0: none.
    pub sent: u64,
    /// Bits of the positions (1 write, 2 flush, 4 apply) that are below the one before.
    pub backwards: u8,
    /// The commits that it acknowledges, in `Progress::acknowledged`.
    first: u32,
    pub count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Commit {
    /// Of the status update; 0: not yet.
    position: u32,
    /// When it came, and once it is acknowledged how long that took; i64::MIN: not known.
    time: i64,
}

const NOT_KNOWN: i64 = i64::MIN;

/// What one connection knows. Records hold an index and one more, 0 for none.
#[derive(Default)]
pub struct Progress {
    commits: Vec<Commit>,
    statuses: Vec<Status>,
    /// Commits in the order of their acknowledgement.
    acknowledged: Vec<u32>,
    /// End positions and indexes of those that are not.
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
    sent: u64,
    /// The receiver's positions as it told them last.
    told: [u64; 3],
    /// Position of the keepalive that waits for an answer; 0: none does.
    asked: u32,
}

impl Progress {
    /// A new stream begins.
    pub fn reset(&mut self) {
        self.waiting.clear();
        (self.sent, self.told, self.asked) = (0, [0; 3], 0);
    }

    /// Messages of the receiver were lost: the answer may have been among them.
    pub fn lose_answers(&mut self) {
        self.asked = 0;
    }

    /// XLogData or a keepalive tells this WAL end.
    #[inline]
    pub fn sent(&mut self, wal_end: u64) {
        self.sent = self.sent.max(wal_end);
    }

    /// A keepalive; `true` when an earlier one is still not answered.
    pub fn keepalive(&mut self, reply_requested: bool, at: At) -> bool {
        let unanswered = self.asked != 0;
        self.asked = if reply_requested { at.position } else { 0 };
        unanswered
    }

    /// A commit or its kin, whose end is at this WAL position.
    pub fn commit(&mut self, end_lsn: u64, at: At) -> u32 {
        if self.commits.len() >= MAX_REMEMBERED || self.waiting.len() >= MAX_WAITING {
            return 0;
        }
        self.commits.push(Commit { position: 0, time: at.time.unwrap_or(NOT_KNOWN) });
        let index = self.commits.len() as u32;
        self.waiting.push(Reverse((end_lsn, index)));
        index
    }

    /// A status update with its write, flush and apply positions; 0 means not told.
    pub fn status(&mut self, positions: [u64; 3], at: At) -> u32 {
        self.asked = 0;
        let mut status = Status { sent: self.sent, first: self.acknowledged.len() as u32, ..Status::default() };
        for (i, (told, position)) in self.told.iter_mut().zip(positions).enumerate().filter(|(_, (_, position))| *position != 0) {
            status.backwards |= u8::from(position < *told) << i;
            *told = position;
        }
        let flushed = positions[1];
        while let Some(Reverse((_, index))) = self.waiting.peek().copied().filter(|Reverse((end, _))| flushed != 0 && *end <= flushed) {
            self.waiting.pop();
            self.acknowledged.push(index);
            let commit = &mut self.commits[index as usize - 1];
            commit.position = at.position;
            let elapsed = at.time.filter(|_| commit.time != NOT_KNOWN).and_then(|now| now.checked_sub(commit.time));
            commit.time = elapsed.unwrap_or(NOT_KNOWN);
        }
        status.count = self.acknowledged.len() as u32 - status.first;
        // Many in a row say the same.
        if status.count == 0 && self.statuses.last().is_some_and(|last| Status { first: status.first, ..*last } == status) {
            return self.statuses.len() as u32;
        }
        if self.statuses.len() >= MAX_REMEMBERED {
            return 0;
        }
        self.statuses.push(status);
        self.statuses.len() as u32
    }

    /// Of a commit, by its record's index.
    pub fn acknowledgement(&self, index: u32) -> Option<Acknowledgement> {
        let commit = self.commits.get((index as usize).checked_sub(1)?)?;
        let elapsed = (commit.position != 0 && commit.time != NOT_KNOWN).then_some(commit.time);
        Some(Acknowledgement { position: commit.position, elapsed })
    }

    /// Of a status update, by its record's index.
    pub fn status_at(&self, index: u32) -> Option<Status> {
        self.statuses.get((index as usize).checked_sub(1)?).copied()
    }

    /// The commit number `number` of those that a status update acknowledges.
    pub fn acknowledged(&self, status: Status, number: u32) -> Option<Acknowledgement> {
        let index = status.first + Some(number).filter(|number| *number < status.count)?;
        self.acknowledgement(*self.acknowledged.get(index as usize)?)
    }
}
