//! The C interface as the header says it is, and the little that the tests need around it.

// The functions come from the library itself.
extern crate pgrepl as _;

#[allow(non_camel_case_types, non_upper_case_globals, non_snake_case, dead_code, clippy::all)]
pub mod c {
    include!(concat!(env!("OUT_DIR"), "/pgrepl.rs"));
}

/// PGREPL_TIME_UNKNOWN, which bindgen passes over as it is another macro.
pub const TIME_UNKNOWN: i64 = i64::MIN;

use std::cell::Cell;
use std::ffi::CStr;
use std::mem::{size_of, MaybeUninit};

/// A capture with one session.
pub struct Session {
    capture: *mut c::pgrepl_capture,
    pub session: *mut c::pgrepl_session,
    position: Cell<u32>,
}

impl Session {
    /// `payload` is what XLogData holds when no START_REPLICATION is seen.
    pub fn new(payload: c::pgrepl_payload) -> Session {
        let options = c::pgrepl_options {
            size: size_of::<c::pgrepl_options>() as u32,
            payload: payload.into(),
            server: 0,
            wide_xids: 0,
            reserved: 0,
        };
        unsafe {
            let capture = c::pgrepl_capture_new();
            let session = c::pgrepl_session_new(capture, &options);
            assert!(!capture.is_null() && !session.is_null());
            Session { capture, session, position: Cell::new(0) }
        }
    }

    /// A session in a logical stream of pgoutput.
    pub fn pgoutput() -> Session {
        let session = Session::new(c::PGREPL_PAYLOAD_UNKNOWN);
        session.command("START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '4', publication_names 'p')");
        session
    }

    pub fn command(&self, text: &str) {
        let status = unsafe { c::pgrepl_session_command(self.session, text.as_ptr().cast(), text.len()) };
        assert_eq!(status, c::PGREPL_STATUS_OK);
    }

    pub fn message(&self, direction: c::pgrepl_direction, bytes: &[u8]) -> c::pgrepl_record {
        self.track(|record| unsafe {
            c::pgrepl_session_track(
                self.session,
                direction.into(),
                self.next_position(),
                TIME_UNKNOWN,
                bytes.as_ptr(),
                bytes.len(),
                bytes.len(),
                record,
            )
        })
    }

    pub fn copy_data(&self, direction: c::pgrepl_direction, payload: &[u8]) -> c::pgrepl_record {
        self.track(|record| unsafe {
            c::pgrepl_session_track_copy_data(
                self.session,
                direction.into(),
                self.next_position(),
                TIME_UNKNOWN,
                payload.as_ptr(),
                payload.len(),
                payload.len(),
                record,
            )
        })
    }

    pub fn pgoutput_message(&self, bytes: &[u8]) -> c::pgrepl_record {
        self.track(|record| unsafe {
            c::pgrepl_session_track_pgoutput(
                self.session,
                self.next_position(),
                TIME_UNKNOWN,
                bytes.as_ptr(),
                bytes.len(),
                bytes.len(),
                record,
            )
        })
    }

    /// Messages are numbered from 1 as they come.
    fn next_position(&self) -> u32 {
        self.position.set(self.position.get() + 1);
        self.position.get()
    }

    fn track(&self, call: impl FnOnce(*mut c::pgrepl_record) -> c::pgrepl_status) -> c::pgrepl_record {
        let mut record = MaybeUninit::uninit();
        assert_eq!(call(record.as_mut_ptr()), c::PGREPL_STATUS_OK);
        unsafe { record.assume_init() }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        unsafe { c::pgrepl_capture_free(self.capture) }
    }
}

/// All fields, by the index that spans use.
pub fn fields() -> &'static [c::pgrepl_field_info] {
    let mut count = 0;
    unsafe {
        let list = c::pgrepl_fields(&mut count);
        std::slice::from_raw_parts(list, count)
    }
}

/// A text of the library, which lives for ever.
pub(crate) fn text(zero_terminated: *const std::ffi::c_char) -> &'static str {
    unsafe { CStr::from_ptr(zero_terminated) }.to_str().expect("UTF-8")
}

/// A span with everything in it that outlives the walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub name: &'static str,
    pub kind: u8,
    pub depth: u8,
    pub offset: usize,
    pub length: usize,
    pub number: u64,
    pub text: Option<Vec<u8>>,
}

impl Span {
    pub fn is_note(&self) -> bool {
        self.kind == c::PGREPL_KIND_NOTE
    }

    pub fn words(&self) -> String {
        String::from_utf8_lossy(self.text.as_deref().unwrap_or_default()).into_owned()
    }
}

/// Walks what is on the wire of the whole message, `room` spans at a time.
pub fn walk(record: &c::pgrepl_record, bytes: &[u8], reported: usize, room: usize) -> Vec<Span> {
    walk_with(None, record, bytes, reported, room, 256, 0)
}

/// Walks the whole message with the names that the session knows.
pub fn walk_named(session: &Session, record: &c::pgrepl_record, bytes: &[u8], flags: u32) -> Vec<Span> {
    walk_with(Some(session), record, bytes, bytes.len(), 64, 1 << 16, flags)
}

/// Walks with any arguments: `words` bytes for text, a session or NULL.
pub fn walk_with(
    session: Option<&Session>,
    record: &c::pgrepl_record,
    bytes: &[u8],
    reported: usize,
    room: usize,
    words: usize,
    flags: u32,
) -> Vec<Span> {
    walk_prepared(session, record, bytes, reported, room, words, flags, |_| {})
}

/// The same, with something done to the walk before it begins.
#[allow(clippy::too_many_arguments)]
pub fn walk_prepared(
    session: Option<&Session>,
    record: &c::pgrepl_record,
    bytes: &[u8],
    reported: usize,
    room: usize,
    words: usize,
    flags: u32,
    prepare: impl FnOnce(*mut c::pgrepl_walk),
) -> Vec<Span> {
    let session = session.map_or(std::ptr::null(), |session| session.session as *const _);
    let mut memory = MaybeUninit::<c::pgrepl_walk>::uninit();
    let mut spans = vec![MaybeUninit::<c::pgrepl_span>::uninit(); room];
    let mut words = vec![0i8; words];
    let mut all = Vec::new();
    unsafe {
        let status = c::pgrepl_walk_start(memory.as_mut_ptr(), session, record, bytes.as_ptr(), bytes.len(), reported, flags);
        assert_eq!(status, c::PGREPL_STATUS_OK);
        prepare(memory.as_mut_ptr());
        loop {
            let mut count = 0;
            let status = c::pgrepl_walk_next(
                memory.as_mut_ptr(),
                spans.as_mut_ptr().cast(),
                room,
                words.as_mut_ptr().cast(),
                words.len(),
                &mut count,
            );
            assert_eq!(status, c::PGREPL_STATUS_OK);
            if count == 0 {
                return all;
            }
            for span in &spans[..count] {
                let span = span.assume_init();
                let info = &fields()[span.field as usize];
                assert_eq!(span.kind, info.kind);
                let text = (!span.text.is_null()).then(|| std::slice::from_raw_parts(span.text, span.text_length as usize).to_vec());
                all.push(Span {
                    name: self::text(info.name),
                    kind: span.kind,
                    depth: span.depth,
                    offset: span.offset as usize,
                    length: span.length as usize,
                    number: span.number,
                    text,
                });
            }
        }
    }
}

/// Checks that the fields of the layout lie one after another from the first byte to the last, and those that divide the
/// data of physical WAL likewise.
pub fn tiles(spans: &[Span], bytes: &[u8]) -> Result<(), String> {
    let masked: Vec<&str> = fields().iter().filter(|field| field.mask != 0 || field.generated != 0).map(|field| text(field.name)).collect();
    let on_wire = |span: &&Span| !(span.kind == c::PGREPL_KIND_GROUP || span.is_note() || masked.contains(&span.name));
    let wal = spans.iter().find(|span| span.name.starts_with("pgrepl.wal."));
    for inner in [false, true] {
        let mut at = if inner { wal.map_or(bytes.len(), |first| first.offset) } else { 0 };
        for span in spans.iter().filter(on_wire).filter(|span| inner == span.name.starts_with("pgrepl.wal.")) {
            if span.offset != at || span.length == 0 {
                return Err(format!("{} at {}+{}, not at {at}", span.name, span.offset, span.length));
            }
            at += span.length;
        }
        if at != bytes.len() {
            return Err(format!("ends at {at} of {}", bytes.len()));
        }
    }
    Ok(())
}

/// Bytes from hexadecimal digits.
pub fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).expect("hexadecimal")).collect()
}
