//! The C interface. All that is unsafe is here.

use std::ffi::CString;
use std::mem::{size_of, MaybeUninit};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::rc::Rc;

use libc::{c_char, size_t};
use once_cell::sync::Lazy;

use crate::command;
use crate::fields::FIELDS;
use crate::formats::{Message, MESSAGES};
use crate::probe::{self, Size};
use crate::rmgr::RmgrName;
use crate::session::{At, Content, Direction, Payload, Record, Session, Shared};
use crate::tally::{self, Tally};
use crate::transaction::Outcome;
use crate::value::{Lsn, Time};
use crate::walk::{Out, Span, Walk, STEP};
use crate::{summary, value};

/// Version of this interface; it grows with every change that an old caller would not survive. Compare it with
/// pgrepl_abi_version() before calling anything else.
pub const PGREPL_ABI_VERSION: u32 = 1;

/// For pgrepl_walk_start(): groups have labels for people, such as `total numeric(10,2): 19.90`.
pub const PGREPL_WALK_LABELS: u32 = 1;

/// Bytes of a value in the label of its column, unless pgrepl_walk_limit_labels() says otherwise; in that of its row half of it.
pub const PGREPL_LABEL_LENGTH: u32 = 80;

/// Spans that pgrepl_walk_next() must have room for.
pub const PGREPL_MIN_SPANS: usize = 12;

/// Bytes that pgrepl_lsn_text() may write: two halves of 8 digits, the slash, the terminating zero.
pub const PGREPL_LSN_TEXT: usize = 18;

/// For the tracking functions: when a message was on the wire is not known.
pub const PGREPL_TIME_UNKNOWN: i64 = i64::MIN;

const _: () = assert!(PGREPL_MIN_SPANS == STEP && PGREPL_LABEL_LENGTH == crate::walk::VALUE_LABEL as u32);

/// How a call ended. Numbers are never used again for something else.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ok = 0,
    /// NULL where it is not allowed, a number that has no meaning, memory that was not set up.
    InvalidArgument = 1,
    /// A fault inside pgrepl was stopped here. Please report it.
    Panic = 2,
    /// More bytes are needed for an answer.
    NeedsMore = 3,
    /// The bytes do not begin a PostgreSQL message.
    NotAMessage = 4,
    /// The time is infinity.
    Infinity = 5,
    /// The time is minus infinity.
    MinusInfinity = 6,
}

/// One named value of a field.
#[repr(C)]
pub struct ValueName {
    pub value: u32,
    /// UTF-8 with a terminating zero; lives for ever.
    pub name: *const c_char,
}

/// One field of the list. All texts are UTF-8 with a terminating zero and live for ever.
#[repr(C)]
pub struct FieldInfo {
    /// Wireshark display-filter name, for example "pgrepl.commit_lsn"; empty for groups. Two fields may share a name.
    pub name: *const c_char,
    /// What a person reads before the value.
    pub label: *const c_char,
    /// One sentence about the field.
    pub blurb: *const c_char,
    /// Named values, NULL when there are none.
    pub values: *const ValueName,
    /// How many of them.
    pub value_count: u32,
    /// The bit that the field is, of the byte in its range; 0 for whole fields.
    pub mask: u32,
    /// Kind of the values, PGREPL_KIND_...
    pub kind: u8,
    /// Bytes of a fixed-width value, else 0.
    pub width: u8,
    /// Seriousness of a note, PGREPL_SEVERITY_..., else PGREPL_SEVERITY_NONE.
    pub severity: u8,
    /// 1: not on the wire, derived from what earlier messages said; such a span has length 0.
    pub generated: u8,
}

/// How a session is set up.
#[repr(C)]
pub struct Options {
    /// sizeof(struct pgrepl_options) of the caller.
    pub size: u32,
    /// PGREPL_PAYLOAD_...: how to read XLogData when no START_REPLICATION was seen.
    pub payload: u32,
    /// 1: xids of pgoutput have 8 bytes, as Postgres Pro Enterprise sends them; 0: 4.
    pub wide_xids: u32,
    /// Zero.
    pub reserved: u32,
    /// A number for the server of the connection. Connections to the same server share what is known of its slots.
    pub server: u64,
}

/// What connections of one capture know together, and the sessions themselves.
pub struct CaptureHandle {
    shared: Rc<Shared>,
    /// From `Box::into_raw`: C holds pointers to them.
    sessions: Vec<*mut SessionHandle>,
}

impl Drop for CaptureHandle {
    fn drop(&mut self) {
        for session in self.sessions.drain(..) {
            // SAFETY: made by `Box::into_raw`, and given back nowhere else.
            drop(unsafe { Box::from_raw(session) });
        }
    }
}

/// One connection.
pub struct SessionHandle {
    session: Session,
}

/// Memory of a walk. Plain: it may be on the stack, is not moved while a walk goes on, and needs no end.
#[repr(C)]
pub struct WalkMemory {
    pub memory: [u64; 64],
}

/// What is really in it.
struct WalkInside {
    set_up: u64,
    walk: Walk<'static>,
}

const SET_UP: u64 = 0x7067_7265_706c_3031;
const _: () = assert!(size_of::<WalkInside>() <= size_of::<WalkMemory>());

/// Runs what a C caller asked for; a panic ends here.
fn guard(call: impl FnOnce() -> Status) -> Status {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| {
        // Dropping it could run code that panics again.
        std::mem::forget(payload);
        Status::Panic
    })
}

/// # Safety
/// `bytes` must be NULL or point to `length` readable bytes for the lifetime `'a`.
unsafe fn slice<'a>(bytes: *const u8, length: size_t) -> Option<&'a [u8]> {
    match (bytes.is_null(), length) {
        (_, 0) => Some(&[]),
        (true, _) => None,
        (false, length) if length > u32::MAX as usize => None,
        _ => Some(std::slice::from_raw_parts(bytes, length)),
    }
}

/// `captured` bytes of a message of `reported` bytes.
unsafe fn message<'a>(bytes: *const u8, captured: size_t, reported: size_t) -> Option<&'a [u8]> {
    if captured > reported || reported > u32::MAX as usize {
        return None;
    }
    slice(bytes, captured)
}

fn at(position: u32, time: i64) -> At {
    At { position, time: (time != PGREPL_TIME_UNKNOWN).then_some(time) }
}

fn direction_of(number: u32) -> Option<Direction> {
    match number {
        0 => Some(Direction::Backend),
        1 => Some(Direction::Frontend),
        _ => None,
    }
}

impl Out<'_> {
    /// What was pushed so far.
    pub fn written(&self) -> &[Span] {
        // SAFETY: the first `len` spans have been written by `push`.
        unsafe { std::slice::from_raw_parts(self.spans.as_ptr().cast(), self.len) }
    }
}

impl Span {
    /// Text of a span whose walk, with all that it points to, is still there.
    pub fn as_str(&self) -> &str {
        if self.text.is_null() {
            return "";
        }
        // SAFETY: a walk points to so many bytes of the message, of its session or of the text buffer.
        let bytes = unsafe { std::slice::from_raw_parts(self.text, self.text_length as usize) };
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// The ABI version of the library, to compare with PGREPL_ABI_VERSION of the header.
#[no_mangle]
pub extern "C" fn pgrepl_abi_version() -> u32 {
    PGREPL_ABI_VERSION
}

/// The version of the library, for example "0.1.0": zero-terminated, lives for ever.
#[no_mangle]
pub extern "C" fn pgrepl_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// A status in words: zero-terminated English, lives for ever; never NULL.
#[no_mangle]
pub extern "C" fn pgrepl_status_text(status: u32) -> *const c_char {
    let words = match status {
        0 => "ok\0",
        1 => "invalid argument\0",
        2 => "fault inside pgrepl\0",
        3 => "needs more bytes\0",
        4 => "not a PostgreSQL message\0",
        5 => "infinity\0",
        6 => "-infinity\0",
        _ => "unknown status\0",
    };
    words.as_ptr().cast()
}

struct FieldList(Vec<FieldInfo>);

// SAFETY: the pointers inside lead to constants and to memory that is never freed or changed.
unsafe impl Send for FieldList {}
unsafe impl Sync for FieldList {}

static FIELD_LIST: Lazy<FieldList> = Lazy::new(|| {
    let list = FIELDS.iter().map(|field| {
        let names: Vec<ValueName> =
            field.values.iter().map(|(value, name)| ValueName { value: *value, name: name.as_ptr().cast() }).collect();
        FieldInfo {
            name: field.name.as_ptr().cast(),
            label: field.label.as_ptr().cast(),
            blurb: field.blurb.as_ptr().cast(),
            value_count: names.len() as u32,
            values: if names.is_empty() { ptr::null() } else { names.leak().as_ptr() },
            mask: field.mask as u32,
            kind: field.kind as u8,
            width: field.width,
            severity: field.severity as u8,
            generated: field.generated as u8,
        }
    });
    FieldList(list.collect())
});

/// All fields that a walk can give; a span names its field by the index in this list.
///
/// The list lives for ever and is the same for all calls of one version of the library. `count` may be NULL.
///
/// # Safety
/// `count` must be NULL or writable.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_fields(count: *mut size_t) -> *const FieldInfo {
    let mut list: &[FieldInfo] = &[];
    guard(|| {
        list = &FIELD_LIST.0;
        Status::Ok
    });
    if !count.is_null() {
        *count = list.len();
    }
    list.as_ptr()
}

/// Sets up what the connections of one capture share. Free it with pgrepl_capture_free(). NULL only on a fault inside.
#[no_mangle]
pub extern "C" fn pgrepl_capture_new() -> *mut CaptureHandle {
    let mut capture = ptr::null_mut();
    guard(|| {
        capture = Box::into_raw(Box::new(CaptureHandle { shared: Rc::default(), sessions: Vec::new() }));
        Status::Ok
    });
    capture
}

/// Frees a capture and all its sessions; records and walks of theirs are not to be used after that. NULL is allowed.
///
/// # Safety
/// `capture` must be NULL or come from pgrepl_capture_new() and not be freed yet.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_capture_free(capture: *mut CaptureHandle) {
    guard(|| {
        if !capture.is_null() {
            drop(Box::from_raw(capture));
        }
        Status::Ok
    });
}

/// Sets up one connection of a capture. The session belongs to the capture and lives as long.
///
/// `options` may be NULL: then server 0 and PGREPL_PAYLOAD_UNKNOWN. The result is NULL when `capture` is NULL or the
/// options make no sense.
///
/// # Safety
/// `capture` must come from pgrepl_capture_new(); `options` must be NULL or point to options of the size they tell.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_new(capture: *mut CaptureHandle, options: *const Options) -> *mut SessionHandle {
    let mut session = ptr::null_mut();
    guard(|| {
        let Some(capture) = capture.as_mut() else { return Status::InvalidArgument };
        let (mut server, mut payload, mut wide_xids) = (0, Payload::Unknown, false);
        if let Some(options) = options.as_ref() {
            if (options.size as usize) < size_of::<Options>() {
                return Status::InvalidArgument;
            }
            if options.wide_xids > 1 || options.reserved != 0 {
                return Status::InvalidArgument;
            }
            wide_xids = options.wide_xids == 1;
            server = options.server;
            payload = match options.payload {
                0 => Payload::Unknown,
                1 => Payload::Pgoutput,
                2 => Payload::Physical,
                3 => Payload::OtherPlugin,
                _ => return Status::InvalidArgument,
            };
        }
        let mut connection = Session::new(capture.shared.clone(), server, payload);
        connection.set_wide_xids(wide_xids);
        session = Box::into_raw(Box::new(SessionHandle { session: connection }));
        capture.sessions.push(session);
        Status::Ok
    });
    session
}

/// Tells how long the message is that begins here, type byte and length word included.
///
/// `direction` is PGREPL_DIRECTION_...; `bytes` are the first `available` bytes, 5 are enough. A client's packet
/// without type byte (startup, encryption request) is understood too. PGREPL_STATUS_NEEDS_MORE: fewer than 5 bytes;
/// PGREPL_STATUS_NOT_A_MESSAGE: no message of that direction begins so.
///
/// # Safety
/// `bytes` must have `available` readable bytes, `size` must be writable.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_message_size(direction: u32, bytes: *const u8, available: size_t, size: *mut size_t) -> Status {
    guard(|| {
        let (Some(direction), Some(bytes)) = (direction_of(direction), slice(bytes, available)) else {
            return Status::InvalidArgument;
        };
        if size.is_null() {
            return Status::InvalidArgument;
        }
        match probe::message_size(direction, bytes) {
            Size::Known(length) => {
                *size = length;
                Status::Ok
            }
            Size::NeedsMore => Status::NeedsMore,
            Size::NotAMessage => Status::NotAMessage,
        }
    })
}

/// As pgrepl_message_size(), for a message of a session at its present place in the stream. In a replication stream it
/// asks for more evidence than type byte and length: after lost bytes any text may look like these. `bytes` are the first
/// of the `available` bytes that are left of the segment; give 64 where there are as many.
///
/// # Safety
/// `session` must be a session of a living capture, `bytes` have `length` readable bytes, `size` be writable.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_message_size(
    session: *const SessionHandle,
    direction: u32,
    bytes: *const u8,
    length: size_t,
    available: size_t,
    size: *mut size_t,
) -> Status {
    guard(|| {
        let (Some(handle), Some(direction), Some(bytes)) = (session.as_ref(), direction_of(direction), slice(bytes, length)) else {
            return Status::InvalidArgument;
        };
        if size.is_null() || length > available {
            return Status::InvalidArgument;
        }
        match handle.session.message_size(direction, bytes, available) {
            Size::Known(length) => {
                *size = length;
                Status::Ok
            }
            Size::NeedsMore => Status::NeedsMore,
            Size::NotAMessage => Status::NotAMessage,
        }
    })
}

/// Judges a TCP segment of an unknown connection: PGREPL_GUESSED_... Needs at least 60 fitting bits for an answer other
/// than PGREPL_GUESSED_NO. `reported` is the length of the segment on the wire.
///
/// # Safety
/// `bytes` must have `captured` readable bytes.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_guess(bytes: *const u8, captured: size_t, reported: size_t) -> u32 {
    let mut answer = 0;
    guard(|| {
        let Some(bytes) = message(bytes, captured, reported) else { return Status::InvalidArgument };
        answer = probe::guess(bytes, reported) as u32;
        Status::Ok
    });
    answer
}

/// The name of a message of the connection, by its type byte, as the manual has it: zero-terminated, lives for ever.
#[no_mangle]
pub extern "C" fn pgrepl_message_name(direction: u32, letter: u8) -> *const c_char {
    let direction = direction_of(direction).unwrap_or(Direction::Backend);
    summary::message_name(direction, letter).as_ptr()
}

/// Tells the session that its connection is in the middle of a replication stream whose start was not captured.
///
/// # Safety
/// `session` must be NULL or a session of a living capture.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_assume_replication(session: *mut SessionHandle) -> Status {
    guard(|| match session.as_mut() {
        Some(handle) => {
            handle.session.assume_replication();
            Status::Ok
        }
        None => Status::InvalidArgument,
    })
}

/// Looks for replication messages in a segment of a connection whose beginning was not captured. PGREPL_STATUS_OK: one
/// certainly begins after `offset` bytes; then call pgrepl_session_assume_replication(). PGREPL_STATUS_NOT_A_MESSAGE: none
/// does, or the connection is known to do something else. `length` bytes of the segment are captured, `available` were
/// on the wire.
///
/// # Safety
/// `session` must be a session of a living capture, `bytes` have `length` readable bytes, `offset` be writable.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_find_replication(
    session: *const SessionHandle,
    direction: u32,
    bytes: *const u8,
    length: size_t,
    available: size_t,
    offset: *mut size_t,
) -> Status {
    guard(|| {
        let (Some(handle), Some(direction), Some(bytes)) = (session.as_ref(), direction_of(direction), slice(bytes, length)) else {
            return Status::InvalidArgument;
        };
        if offset.is_null() || length > available {
            return Status::InvalidArgument;
        }
        match handle.session.find_replication(direction, bytes, available) {
            Some(found) => {
                *offset = found;
                Status::Ok
            }
            None => Status::NotAMessage,
        }
    })
}

/// Bytes of a segment before the first message of a replication stream that certainly begins in it; all of the `available`
/// ones when none does. Arguments as for pgrepl_session_find_replication().
///
/// # Safety
/// `bytes` must have `length` readable bytes.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_find_message(direction: u32, bytes: *const u8, length: size_t, available: size_t) -> size_t {
    let mut found = available;
    guard(|| match (direction_of(direction), slice(bytes, length)) {
        (Some(direction), Some(bytes)) if length <= available => {
            found = probe::find_message(direction, bytes, available);
            Status::Ok
        }
        _ => Status::InvalidArgument,
    });
    found
}

/// Whether CopyData messages of a replication stream or a base backup are to come now: 1 or 0.
///
/// # Safety
/// `session` must be NULL or a session of a living capture.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_in_copy(session: *const SessionHandle) -> u32 {
    session.as_ref().is_some_and(|handle| handle.session.in_copy()) as u32
}

/// Tells the session that messages of one direction (PGREPL_DIRECTION_...) were lost before the next one: the capture has
/// missed them. What they may have changed is not known from here on, until later messages prove it.
///
/// # Safety
/// `session` must be NULL or a session of a living capture.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_lose(session: *mut SessionHandle, direction: u32) -> Status {
    guard(|| match (session.as_mut(), direction_of(direction)) {
        (Some(handle), Some(direction)) => {
            handle.session.lose(direction);
            Status::Ok
        }
        _ => Status::InvalidArgument,
    })
}

/// Whether a message that goes far beyond its segment is perhaps the middle of another one, as the beginning of the
/// connection was not captured: 1 or 0. Waiting for its end would hide all that follows. Arguments as for
/// pgrepl_session_message_size(), which has told the length.
///
/// # Safety
/// `session` must be a session of a living capture, `bytes` have `length` readable bytes.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_doubts(
    session: *const SessionHandle,
    direction: u32,
    bytes: *const u8,
    length: size_t,
    available: size_t,
) -> u32 {
    match (session.as_ref(), direction_of(direction), slice(bytes, length)) {
        (Some(handle), Some(direction), Some(bytes)) => {
            let mut doubts = false;
            guard(|| {
                doubts = handle.session.doubts(direction, bytes, available);
                Status::Ok
            });
            doubts.into()
        }
        _ => 0,
    }
}

/// Common part of the tracking functions.
unsafe fn track(
    session: *mut SessionHandle,
    bytes: *const u8,
    captured: size_t,
    reported: size_t,
    record: *mut Record,
    call: impl FnOnce(&mut Session, &[u8]) -> Record,
) -> Status {
    guard(|| {
        let (Some(handle), Some(bytes)) = (session.as_mut(), message(bytes, captured, reported)) else {
            return Status::InvalidArgument;
        };
        if record.is_null() {
            return Status::InvalidArgument;
        }
        *record = call(&mut handle.session, bytes);
        Status::Ok
    })
}

/// Tracks one message of the connection: all of them, both directions, once, in stream order.
///
/// `position` is a number of the caller's for the message, from 1 on, such as its frame number; fields that point to this
/// message from others (PGREPL_KIND_POSITION) give it back. `time` is when it was on the wire, in nanoseconds of any clock
/// that is the same for the whole capture, or PGREPL_TIME_UNKNOWN.
///
/// `bytes` begin with the message's type byte (with the length word for a startup packet); `captured` of its
/// `reported` bytes are there. Nothing is kept of them. The record is for a walk of the CopyData payload, that is of
/// the bytes from the sixth on; other messages give a record whose walk has no fields.
///
/// # Safety
/// `session` must be a session of a living capture, `bytes` have `captured` readable bytes, `record` be writable.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_track(
    session: *mut SessionHandle,
    direction: u32,
    position: u32,
    time: i64,
    bytes: *const u8,
    captured: size_t,
    reported: size_t,
    record: *mut Record,
) -> Status {
    let Some(direction) = direction_of(direction) else { return Status::InvalidArgument };
    track(session, bytes, captured, reported, record, |session, bytes| session.track(direction, bytes, reported, at(position, time)))
}

/// Tracks the payload of one CopyData message, for callers that get it from a client library: the bytes after type
/// byte and length word. The caller knows that this is a replication stream; what it carries is told by
/// pgrepl_session_command() before or by the options.
///
/// # Safety
/// As for pgrepl_session_track().
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_track_copy_data(
    session: *mut SessionHandle,
    direction: u32,
    position: u32,
    time: i64,
    payload: *const u8,
    captured: size_t,
    reported: size_t,
    record: *mut Record,
) -> Status {
    let Some(direction) = direction_of(direction) else { return Status::InvalidArgument };
    track(session, payload, captured, reported, record, |session, bytes| {
        session.track_replication(direction, bytes, reported, at(position, time))
    })
}

/// Tracks one bare pgoutput message, without XLogData around it: what pg_logical_slot_get_binary_changes() gives.
///
/// # Safety
/// As for pgrepl_session_track().
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_track_pgoutput(
    session: *mut SessionHandle,
    position: u32,
    time: i64,
    bytes: *const u8,
    captured: size_t,
    reported: size_t,
    record: *mut Record,
) -> Status {
    track(session, bytes, captured, reported, record, |session, bytes| session.track_pgoutput(bytes, reported, at(position, time)))
}

/// Tells the session a command as the client sends it, for example START_REPLICATION with its options. Not needed
/// when all messages go through pgrepl_session_track(). `text` needs no terminating zero; nothing is kept of it.
///
/// # Safety
/// `session` must be a session of a living capture, `text` have `length` readable bytes.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_command(session: *mut SessionHandle, text: *const c_char, length: size_t) -> Status {
    guard(|| {
        let (Some(handle), Some(text)) = (session.as_mut(), slice(text.cast(), length)) else {
            return Status::InvalidArgument;
        };
        handle.session.command(text);
        Status::Ok
    })
}

/// Position of the START_REPLICATION of the session's last stream; 0 when it was not seen.
///
/// # Safety
/// `session` must be NULL or a session of a living capture.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_start(session: *const SessionHandle) -> u32 {
    session.as_ref().map_or(0, |handle| handle.session.start())
}

/// Writes the name of the output plugin that the START_REPLICATION at this position will use, zero-terminated, cut to `room`
/// bytes with the zero; an empty one when it was not known there.
///
/// # Safety
/// `session` must be a session of a living capture, `text` have room for `room` bytes.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_session_plugin(session: *const SessionHandle, position: u32, text: *mut c_char, room: size_t) -> Status {
    guard(|| {
        let Some(handle) = session.as_ref() else { return Status::InvalidArgument };
        let plugin = handle.session.plugin_at(position).unwrap_or_default();
        write_line(text, room, |out| std::fmt::Write::write_str(out, &String::from_utf8_lossy(plugin)))
    })
}

/// A record for a walk over the text of a Query message that is a replication command, without any session.
/// PGREPL_STATUS_NOT_A_MESSAGE: it is none.
///
/// # Safety
/// `text` must have `length` readable bytes, `record` be writable.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_command_record(text: *const u8, length: size_t, record: *mut Record) -> Status {
    guard(|| {
        let Some(text) = slice(text, length) else { return Status::InvalidArgument };
        if record.is_null() {
            return Status::InvalidArgument;
        }
        if !command::is_command(text) {
            return Status::NotAMessage;
        }
        *record = Record { content: Content::Command as u8, ..Record::default() };
        Status::Ok
    })
}

/// Begins a walk over the bytes that belong to `record`: the payload of a CopyData message, or a bare pgoutput message.
///
/// `captured` of its `reported` bytes are there; they must stay as they are until the walk's last call. The walk does
/// not change the session, so walks may come in any order and be repeated, and tracking may go on meanwhile. With
/// `session` NULL the fields of the wire come alone, without names of tables, columns and types. `flags` are 0 or
/// PGREPL_WALK_LABELS.
///
/// # Safety
/// `walk` must be writable, `record` readable, `bytes` have `captured` readable bytes, and the session, unless NULL,
/// belong to a living capture.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_walk_start(
    walk: *mut WalkMemory,
    session: *const SessionHandle,
    record: *const Record,
    bytes: *const u8,
    captured: size_t,
    reported: size_t,
    flags: u32,
) -> Status {
    guard(|| {
        let (Some(record), Some(bytes)) = (record.as_ref(), message(bytes, captured, reported)) else {
            return Status::InvalidArgument;
        };
        if walk.is_null() || flags & !PGREPL_WALK_LABELS != 0 {
            return Status::InvalidArgument;
        }
        // What is known is copied, or lies in memory that the session neither moves nor frees before its end.
        let known = session.as_ref().map(|handle| handle.session.known(record));
        let labels = flags & PGREPL_WALK_LABELS != 0;
        ptr::write(walk.cast(), WalkInside { set_up: SET_UP, walk: Walk::new(*record, bytes, reported, known, labels) });
        Status::Ok
    })
}

/// Sets how many bytes of a value the label of its column shows, before the first pgrepl_walk_next(); 65535 at most.
///
/// # Safety
/// `walk` must have been set up by pgrepl_walk_start().
#[no_mangle]
pub unsafe extern "C" fn pgrepl_walk_limit_labels(walk: *mut WalkMemory, length: u32) -> Status {
    guard(|| {
        let inside = walk.cast::<WalkInside>();
        if walk.is_null() || ptr::addr_of!((*inside).set_up).read() != SET_UP {
            return Status::InvalidArgument;
        }
        (*inside).walk.value_label_length = length.min(u16::MAX.into()) as u16;
        Status::Ok
    })
}

/// Fills `spans` with the next fields of the message; `count` tells how many, 0 when the message is done.
///
/// `count` is set to 0 first, whatever the status. `room` is the number of spans that fit, at least PGREPL_MIN_SPANS. `text` is memory for text that is made for the
/// spans of this call (notes, labels, decoded values), of `text_room` bytes. A single text takes an eighth of it at
/// most, and is cut there with an ellipsis: 64 KiB do for nearly everything, 0 (then NULL is allowed) for the fields of
/// the wire in UTF-8. No memory is allocated.
///
/// # Safety
/// `walk` must have been set up by pgrepl_walk_start(), `spans` have room for `room` spans, `text` for `text_room`
/// bytes, and `count` be writable.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_walk_next(
    walk: *mut WalkMemory,
    spans: *mut Span,
    room: size_t,
    text: *mut c_char,
    text_room: size_t,
    count: *mut size_t,
) -> Status {
    guard(|| {
        if walk.is_null() || count.is_null() || spans.is_null() || room < PGREPL_MIN_SPANS || (text.is_null() && text_room > 0) {
            return Status::InvalidArgument;
        }
        *count = 0;
        let inside = walk.cast::<WalkInside>();
        // Before anything is taken for a walk.
        if ptr::addr_of!((*inside).set_up).read() != SET_UP {
            return Status::InvalidArgument;
        }
        let inside = &mut *inside;
        let room = room.min(isize::MAX as usize / size_of::<Span>());
        let spans = std::slice::from_raw_parts_mut(spans.cast::<MaybeUninit<Span>>(), room);
        let text = match text_room {
            0 => &mut [],
            _ => std::slice::from_raw_parts_mut(text.cast::<MaybeUninit<u8>>(), text_room.min(isize::MAX as usize)),
        };
        let mut out = Out::new(spans, text);
        inside.walk.next(&mut out);
        *count = out.len;
        Status::Ok
    })
}

/// Writes one message in a few words, for example `Begin 761` or `Keepalive 0/1661E08`: UTF-8, zero-terminated, cut
/// to `room` bytes with the zero. Arguments as for pgrepl_walk_start().
///
/// # Safety
/// As for pgrepl_walk_start(); `text` must have room for `room` bytes.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_summary(
    session: *const SessionHandle,
    record: *const Record,
    bytes: *const u8,
    captured: size_t,
    reported: size_t,
    text: *mut c_char,
    room: size_t,
) -> Status {
    guard(|| {
        let (Some(record), Some(bytes)) = (record.as_ref(), message(bytes, captured, reported)) else {
            return Status::InvalidArgument;
        };
        let known = session.as_ref().map(|handle| handle.session.known(record));
        write_line(text, room, |out| summary::write(*record, bytes, reported, known, out))
    })
}

/// What one message adds to statistics.
#[repr(C)]
pub struct MessageTally {
    /// The manual's name of the CopyData message, NULL when it is none that is known; lives for ever.
    pub message: *const c_char,
    /// The manual's name of the logical message in it, else NULL; lives for ever.
    pub logical: *const c_char,
    /// Bytes of the logical message on the wire, else of the CopyData message's payload.
    pub bytes: u64,
    /// Payload bytes of the whole transaction, on the message that ends or prepares it; else 0.
    pub transaction_bytes: u64,
    /// Inserts, Updates and Deletes of the whole transaction, likewise.
    pub transaction_changes: u32,
    /// 1: the two above are known.
    pub transaction_counted: u32,
    /// Top-level xid of the transaction that the message belongs to, 0 when none or not known.
    pub xid: u64,
    /// What the message does to its transaction, PGREPL_OUTCOME_...
    pub outcome: u32,
    /// How many tables it names, see pgrepl_tally_table().
    pub tables: u32,
    /// How many commits it acknowledges, see pgrepl_tally_acknowledgement().
    pub acknowledgements: u32,
}

static MESSAGE_NAMES: Lazy<Vec<CString>> =
    Lazy::new(|| MESSAGES.iter().map(|message| CString::new(message.name).unwrap_or_default()).collect());

fn message_name(message: Option<&'static Message>) -> *const c_char {
    let index = message.and_then(|message| MESSAGES.iter().position(|known| ptr::eq(*known, message)));
    index.map_or(ptr::null(), |index| MESSAGE_NAMES[index].as_ptr())
}

/// Tells what one message adds to statistics. Arguments as for pgrepl_walk_start(), but `session` must not be NULL.
///
/// # Safety
/// As for pgrepl_walk_start(); `tally` must be writable.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_tally(
    session: *const SessionHandle,
    record: *const Record,
    bytes: *const u8,
    captured: size_t,
    reported: size_t,
    tally: *mut MessageTally,
) -> Status {
    guard(|| {
        let (Some(handle), Some(record), Some(bytes)) = (session.as_ref(), record.as_ref(), message(bytes, captured, reported)) else {
            return Status::InvalidArgument;
        };
        if tally.is_null() {
            return Status::InvalidArgument;
        }
        let known = handle.session.known(record);
        let found = Tally::new(record, bytes, reported, &known);
        let ends =
            matches!(found.outcome, Outcome::Committed | Outcome::Prepared) && found.logical.is_some_and(|message| message.tag != b'K');
        let counts = known.transaction.and_then(|transaction| transaction.counts).filter(|_| ends);
        tally.write(MessageTally {
            message: message_name(found.message),
            logical: message_name(found.logical),
            bytes: found.bytes as u64,
            transaction_bytes: counts.map_or(0, |(_, bytes)| bytes),
            transaction_changes: counts.map_or(0, |(changes, _)| changes),
            transaction_counted: counts.is_some().into(),
            xid: known.transaction.map_or(0, |transaction| transaction.xid),
            outcome: found.outcome as u32,
            tables: found.tables as u32,
            acknowledgements: handle.session.acknowledgements(record),
        });
        Status::Ok
    })
}

/// Writes the name of the message's table number `index`, from 0 on: UTF-8, zero-terminated, cut to `room` bytes with the
/// zero. A table that no Relation message has named is `OID 16384`.
///
/// # Safety
/// As for pgrepl_walk_start(); `text` must have room for `room` bytes.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_tally_table(
    session: *const SessionHandle,
    record: *const Record,
    bytes: *const u8,
    captured: size_t,
    index: u32,
    text: *mut c_char,
    room: size_t,
) -> Status {
    guard(|| {
        let (Some(handle), Some(record), Some(bytes)) = (session.as_ref(), record.as_ref(), slice(bytes, captured)) else {
            return Status::InvalidArgument;
        };
        write_line(text, room, |out| tally::write_table(record, bytes, &handle.session.known(record), index as usize, out))
    })
}

/// Tells how long the commit that a status update acknowledges as number `index`, from 0 on, has waited for it: in
/// nanoseconds, PGREPL_TIME_UNKNOWN where the times are not known.
///
/// # Safety
/// `session` must be a session of a living capture, `record` readable, `elapsed` writable.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_tally_acknowledgement(
    session: *const SessionHandle,
    record: *const Record,
    index: u32,
    elapsed: *mut i64,
) -> Status {
    guard(|| {
        let (Some(handle), Some(record)) = (session.as_ref(), record.as_ref()) else { return Status::InvalidArgument };
        let Some(acknowledgement) = handle.session.acknowledged(record, index) else { return Status::InvalidArgument };
        if elapsed.is_null() {
            return Status::InvalidArgument;
        }
        *elapsed = acknowledgement.elapsed.unwrap_or(PGREPL_TIME_UNKNOWN);
        Status::Ok
    })
}

/// Adds the WAL records that end in the message of a physical stream to `counts`, by the number of their resource manager.
///
/// # Safety
/// As for pgrepl_walk_start(), but `session` must not be NULL; `counts` must have room for 256 numbers.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_tally_wal(
    session: *const SessionHandle,
    record: *const Record,
    bytes: *const u8,
    captured: size_t,
    counts: *mut u32,
) -> Status {
    guard(|| {
        let (Some(handle), Some(record), Some(bytes)) = (session.as_ref(), record.as_ref(), slice(bytes, captured)) else {
            return Status::InvalidArgument;
        };
        if counts.is_null() {
            return Status::InvalidArgument;
        }
        let counts = &mut *counts.cast::<[u32; 256]>();
        for ended in handle.session.wal_records(record, bytes).filter(|ended| ended.ends.is_some()) {
            if let Some((_, rmgr)) = ended.kind {
                counts[usize::from(rmgr)] += 1;
            }
        }
        Status::Ok
    })
}

/// Writes the name of a resource manager as pg_waldump prints it, zero-terminated, cut to `room` bytes with the zero.
///
/// # Safety
/// `text` must have room for `room` bytes.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_rmgr_name(number: u8, text: *mut c_char, room: size_t) -> Status {
    use std::fmt::Write;
    guard(|| write_line(text, room, |out| write!(out, "{}", RmgrName(number))))
}

/// Writes one line into a caller's buffer.
unsafe fn write_line(text: *mut c_char, room: size_t, write: impl FnOnce(&mut Out) -> std::fmt::Result) -> Status {
    if text.is_null() || room == 0 {
        return Status::InvalidArgument;
    }
    let memory = std::slice::from_raw_parts_mut(text.cast::<MaybeUninit<u8>>(), room.min(isize::MAX as usize));
    let mut out = Out::new(&mut [], &mut memory[..room - 1]);
    out.one_line = true;
    let _ = write(&mut out);
    let end = out.text_len;
    memory[end].write(0);
    Status::Ok
}

/// Writes an LSN as PostgreSQL does, `0/16B3748`, zero-terminated, at most PGREPL_LSN_TEXT bytes.
///
/// # Safety
/// `text` must have room for PGREPL_LSN_TEXT bytes.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_lsn_text(lsn: u64, text: *mut c_char) -> Status {
    use std::fmt::Write;
    guard(|| write_line(text, PGREPL_LSN_TEXT, |out| write!(out, "{}", Lsn(lsn))))
}

/// Turns a time of the wire into seconds and nanoseconds since the Unix epoch, 1970-01-01 00:00:00 UTC.
/// PGREPL_STATUS_INFINITY and PGREPL_STATUS_MINUS_INFINITY say that it is no point in time; then `seconds` are farther
/// away than any.
///
/// # Safety
/// `seconds` and `nanoseconds` must be writable.
#[no_mangle]
pub unsafe extern "C" fn pgrepl_unix_time(microseconds: i64, seconds: *mut i64, nanoseconds: *mut u32) -> Status {
    guard(|| {
        if seconds.is_null() || nanoseconds.is_null() {
            return Status::InvalidArgument;
        }
        match value::Time::from_wire(microseconds) {
            Time::At(s, ns) => {
                (*seconds, *nanoseconds) = (s, ns);
                Status::Ok
            }
            Time::Infinity | Time::MinusInfinity => {
                (*seconds, *nanoseconds) = (microseconds / 1_000_000 + value::EPOCH_SECONDS, 0);
                if microseconds > 0 {
                    Status::Infinity
                } else {
                    Status::MinusInfinity
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stops_at_the_border() {
        assert_eq!(guard(|| panic!("on purpose")), Status::Panic);
        assert_eq!(guard(|| Status::Ok), Status::Ok);
    }
}
