//! pgrepl reads what travels inside CopyData on a PostgreSQL replication connection: the walsender messages of both
//! directions, pgoutput's logical replication messages (protocol versions 1 to 4), physical WAL, base backups.
//!
//! *Tracking* ([`session::Session`]) looks at each message once, in stream order, and gives it a small
//! [`session::Record`]. *Walking* ([`walk::Walk`]) turns bytes and record into fields; it changes nothing and can be
//! done again at any time, in any order. The formats are tables in [`formats`], the fields a list in [`fields`].
//!
//! C programs use the same core through `include/pgrepl.h`, which is generated from [`ffi`].

#![deny(unsafe_code)]

pub mod command;
pub mod decode;
pub mod encoding;
#[allow(unsafe_code)]
pub mod ffi;
pub mod fields;
pub mod formats;
pub mod plugins;
pub mod probe;
pub mod progress;
pub mod relation;
pub mod rmgr;
pub mod session;
pub mod summary;
pub mod tally;
pub mod transaction;
pub mod types;
pub mod value;
pub mod wal;
mod wal_walk;
pub mod walk;
