//! Telling messages in a TCP stream: where they end, and whether a stream is PostgreSQL's at all.

use crate::fields::Field;
use crate::formats::{
    find, Layer, Message, HOT_STANDBY_FEEDBACK_MESSAGE, PRIMARY_KEEPALIVE_MESSAGE, PRIMARY_STATUS_UPDATE, REQUEST_PRIMARY_STATUS_UPDATE,
    STANDBY_STATUS_UPDATE, XLOG_DATA,
};
use crate::session::{Direction, Payload};
use crate::value::long_at;
use crate::walk;

/// Type byte and length word; the length counts itself but not the type byte.
pub(crate) const HEADER: usize = 5;

/// No message is longer: the server builds each in one buffer below 1 GB.
pub(crate) const MAX_MESSAGE: usize = 0x3fff_ffff;

/// Startup packets have no type byte; the server takes none longer than this.
const MAX_STARTUP: usize = 10_000;

/// What the first bytes say about the length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Bytes of the whole message, header included.
    Known(usize),
    /// Fewer than `HEADER` bytes are there.
    NeedsMore,
    /// No message begins so.
    NotAMessage,
}

/// Length of the message that begins here.
pub fn message_size(direction: Direction, bytes: &[u8]) -> Size {
    let Some(header) = bytes.get(..HEADER) else { return Size::NeedsMore };
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]) as usize;
    if header[0] == 0 && direction == Direction::Frontend {
        return match number(0) {
            length @ 8..=MAX_STARTUP => Size::Known(length),
            _ => Size::NotAMessage,
        };
    }
    let letters: &[u8] = match direction {
        Direction::Backend => b"123ACDEGHIKNRSTVWZcdnstv",
        Direction::Frontend => b"BCDEFHPQSXcdfp",
    };
    match number(1) {
        length @ 4..=MAX_MESSAGE if letters.contains(&header[0]) => Size::Known(length + 1),
        _ => Size::NotAMessage,
    }
}

/// The length word of a CopyData that cannot be one.
pub fn wrong_length(bytes: &[u8]) -> Option<i32> {
    let length = bytes.get(1..HEADER)?.iter().fold(0, |number: u32, byte| number << 8 | *byte as u32);
    let wrong = bytes[0] == b'd' && !(4..=MAX_MESSAGE as u32).contains(&length);
    wrong.then_some(length as i32)
}

/// The same in a replication stream, where few letters can stand. A message that goes beyond the `available` bytes of the
/// segment has to look like one of the stream before more is asked for it; `NeedsMore` when there is too little to judge.
pub fn in_stream(direction: Direction, bytes: &[u8], length: usize, available: usize) -> Size {
    /// Messages other than CopyData are short there.
    const MAX_OTHER: usize = 64 * 1024;
    let letters: &[u8] = match direction {
        Direction::Backend => b"dcCENSTDZ",
        Direction::Frontend => b"dcfQX",
    };
    let letter = bytes[0];
    let empty = matches!(letter, b'c' | b'X');
    let body = length - HEADER;
    if !letters.contains(&letter) || empty && body > 0 || letter == b'Z' && body != 1 || letter != b'd' && body > MAX_OTHER {
        return Size::NotAMessage;
    }
    if letter != b'd' || length <= available {
        return Size::Known(length);
    }
    let Some(tag) = bytes.get(HEADER) else { return Size::NeedsMore };
    let layer = match direction {
        Direction::Backend => Layer::WalsenderBackend,
        Direction::Frontend => Layer::WalsenderFrontend,
    };
    let Some(message) = find(layer, *tag) else { return Size::NotAMessage };
    if message.tag != b'w' {
        return if body == message.min_length() { Size::Known(length) } else { Size::NotAMessage };
    }
    // A clock that shows a time of our days: 0 is sent by some servers that are not PostgreSQL.
    let Some(time) = long_at(&bytes[HEADER..], XLOG_DATA.offset(Field::SendTime)) else { return Size::NeedsMore };
    if time == 0 || TIMES.contains(&time) {
        Size::Known(length)
    } else {
        Size::NotAMessage
    }
}

/// Whether a message that has an xid only between Stream Start and Stream Stop has one, by its bytes alone; None when
/// they do not tell. `start` is the WAL start of its XLogData.
pub fn is_streamed(message: &[u8], reported: usize, start: Option<u64>, xid_size: usize) -> Option<bool> {
    let fits = |streamed| walk::fits(Layer::Pgoutput, message, reported, streamed, xid_size);
    match (fits(false), fits(true)) {
        (plain, streamed) if plain != streamed => Some(streamed),
        (false, false) => None,
        _ => match message[0] {
            // The position stands in the header too.
            b'M' => {
                let at = |streamed| long_at(message, 2 + if streamed { xid_size } else { 0 });
                let same = |streamed| start.is_some() && at(streamed) == start;
                (same(false) != same(true)).then(|| same(true))
            }
            // Where the OID would be is a name.
            b'R' | b'Y' => {
                let letters = message.get(1 + xid_size..5 + xid_size).is_some_and(|oid| oid.iter().all(|byte| (b' '..0x7f).contains(byte)));
                letters.then_some(false)
            }
            _ => None,
        },
    }
}

/// Whether what begins here looks like a message of a connection at work, beyond its letter and length: of what is common
/// and long, the beginning of the body is looked at. `available` bytes of the segment are left.
pub fn is_plausible(direction: Direction, bytes: &[u8], available: usize) -> bool {
    let Size::Known(length) = message_size(direction, bytes) else { return false };
    let body = bytes.get(HEADER..length.min(bytes.len())).unwrap_or(&[]);
    let is_text = |text: &[u8]| text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r' | 0x80..));
    let count = body.first_chunk::<2>().map_or(0, |count| u16::from_be_bytes(*count));
    match (direction, bytes[0]) {
        (_, b'd') => false,
        (Direction::Backend, b'D') => {
            // The first of its values fits into it.
            let first = body.get(2..6).and_then(|first| first.try_into().ok()).map_or(-1, i32::from_be_bytes);
            count > 0 && first >= -1 && i64::from(first) <= (length - HEADER) as i64 - 6
        }
        (Direction::Backend, b'T') => (1..=1664).contains(&count),
        (Direction::Backend, b'E' | b'N') => body.first() == Some(&b'S'),
        (Direction::Frontend, b'Q') => body.len() > 1 && is_text(&body[..body.len().min(16) - 1]),
        _ => length <= available,
    }
}

/// Whether a message of a replication stream certainly begins here, by its bytes alone: after a loss anything may look
/// like a type byte and a length. `available` bytes of the segment are left.
pub fn is_proved(direction: Direction, bytes: &[u8], available: usize) -> bool {
    let Size::Known(length) = message_size(direction, bytes) else { return false };
    let body = bytes.get(HEADER..length.min(bytes.len())).unwrap_or(&[]);
    let is_whole = length <= available;
    let is_text = |text: &[u8]| text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'));
    match (direction, bytes[0]) {
        (_, b'd') => {
            // Some servers that are not PostgreSQL send no time.
            let fits = |message: &'static Message| message.tag == b'w' || length == HEADER + message.min_length();
            let has_no_clock = |message: &'static Message| {
                let clock = message.items.iter().any(|item| item.field == Field::SendTime);
                clock && is_whole && fits(message) && long_at(body, message.offset(Field::SendTime)) == Some(0)
            };
            let layer = match direction {
                Direction::Backend => Layer::WalsenderBackend,
                Direction::Frontend => Layer::WalsenderFrontend,
            };
            replication_message(bytes).is_some_and(|guessed| guessed == direction)
                || body.first().and_then(|tag| find(layer, *tag)).is_some_and(has_no_clock)
        }
        (_, b'c') => length == HEADER,
        (Direction::Frontend, b'X') => length == HEADER && length == available,
        (Direction::Backend, b'Z') => length == HEADER + 1 && body.first().is_none_or(|status| b"ITE".contains(status)),
        (Direction::Frontend, b'Q') if !is_whole => body.len() > 8 && is_text(body),
        (Direction::Backend, b'C') | (Direction::Frontend, b'Q') => {
            is_whole && body.split_last().is_some_and(|(zero, text)| (*zero == 0 || body.len() < length - HEADER) && is_text(text))
        }
        (Direction::Backend, b'E' | b'N') => is_whole && body.first() == Some(&b'S') && body.get(1).is_some_and(u8::is_ascii_uppercase),
        _ => false,
    }
}

/// Bytes before the first message of a replication stream that certainly begins in the segment; its length when none does.
pub fn find_message(direction: Direction, bytes: &[u8], available: usize) -> usize {
    let found = memchr::memchr_iter(b'd', bytes).find(|at| is_proved(direction, &bytes[*at..], available - at));
    found.unwrap_or(available)
}

/// The same for a connection of which nothing is known: bytes before the first message that shows by its clock that the
/// server sends replication messages. The client's word alone is not enough: the rows of its COPY may look like anything.
pub fn find_stream(direction: Direction, bytes: &[u8], available: usize) -> usize {
    let is_one = |at: &usize| replication_message(&bytes[*at..]) == Some(Direction::Backend);
    let found = memchr::memchr_iter(b'd', bytes).find(is_one).filter(|_| direction == Direction::Backend);
    found.unwrap_or(available)
}

/// What a segment of an unknown TCP stream looks like.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// Nothing of ours.
    No = 0,
    /// A client that begins a PostgreSQL connection.
    Startup = 1,
    /// The server sends replication messages.
    Backend = 2,
    /// The client sends replication messages.
    Frontend = 3,
}

const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
const GSSENC_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x30];

/// Times that a running server can show: 2005 to 2067, in microseconds since 2000.
const TIMES: std::ops::Range<u64> = 157_766_400_000_000..2_114_380_800_000_000;

/// Judges the beginning of a segment whose length on the wire is `reported`; 60 bits or more must fit.
pub fn guess(bytes: &[u8], reported: usize) -> Guess {
    if is_startup(bytes, reported) {
        return Guess::Startup;
    }
    match replication_message(bytes) {
        Some(Direction::Backend) => Guess::Backend,
        Some(Direction::Frontend) => Guess::Frontend,
        None => Guess::No,
    }
}

/// The direction of a CopyData message that shows by length and clock that it belongs to a replication stream.
fn replication_message(bytes: &[u8]) -> Option<Direction> {
    if bytes.first() != Some(&b'd') {
        return None;
    }
    let Size::Known(size) = message_size(Direction::Backend, bytes) else { return None };
    let body = size - HEADER;
    let payload = &bytes[HEADER..];
    let tag = payload.first()?;
    let exactly = |message: &Message| body == message.min_length();
    let timely = |message: &Message| long_at(payload, message.offset(Field::SendTime)).is_some_and(|time| TIMES.contains(&time));
    let has_flag = |message: &Message| payload.get(message.offset(Field::ReplyRequested)).is_some_and(|byte| *byte <= 1);
    match tag {
        b'k' if exactly(&PRIMARY_KEEPALIVE_MESSAGE) && timely(&PRIMARY_KEEPALIVE_MESSAGE) && has_flag(&PRIMARY_KEEPALIVE_MESSAGE) => {
            Some(Direction::Backend)
        }
        b'w' if body > XLOG_DATA.min_length() && timely(&XLOG_DATA) => Some(Direction::Backend),
        b'r' if exactly(&STANDBY_STATUS_UPDATE) && timely(&STANDBY_STATUS_UPDATE) && has_flag(&STANDBY_STATUS_UPDATE) => {
            Some(Direction::Frontend)
        }
        b'h' if exactly(&HOT_STANDBY_FEEDBACK_MESSAGE) && timely(&HOT_STANDBY_FEEDBACK_MESSAGE) => Some(Direction::Frontend),
        b's' if exactly(&PRIMARY_STATUS_UPDATE) && timely(&PRIMARY_STATUS_UPDATE) => Some(Direction::Backend),
        b'p' if exactly(&REQUEST_PRIMARY_STATUS_UPDATE) && timely(&REQUEST_PRIMARY_STATUS_UPDATE) => Some(Direction::Frontend),
        _ => None,
    }
}

/// What the XLogData of a stream whose start was not captured holds, by one that is there as a whole: in logical streams
/// its two positions are equal, in physical ones they differ, and a pgoutput message fits to its last byte.
pub fn payload(xlog_data: &[u8], reported: usize, xid_size: usize) -> Payload {
    let position = |field| long_at(xlog_data, XLOG_DATA.offset(field));
    let (Some(start), Some(end)) = (position(Field::WalStart), position(Field::WalEnd)) else { return Payload::Unknown };
    if start != end {
        return if start != 0 && end > start { Payload::Physical } else { Payload::Unknown };
    }
    let Some(message) = xlog_data.get(XLOG_DATA.min_length()..).filter(|_| xlog_data.len() == reported) else { return Payload::Unknown };
    // A position, a number or a terminating zero in it is no text; only Stream Stop has nothing of that.
    let is_text = std::str::from_utf8(message).is_ok_and(|text| !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')));
    let fits = |streamed| walk::fits(Layer::Pgoutput, message, message.len(), streamed, xid_size);
    match message {
        [b'E'] => Payload::Pgoutput,
        _ if message.len() > 1 && is_text => Payload::OtherPlugin,
        _ if fits(false) || fits(true) => Payload::Pgoutput,
        _ => Payload::Unknown,
    }
}

/// A startup packet by itself: encryption request, or version 3 with the user as its first parameter.
fn is_startup(bytes: &[u8], reported: usize) -> bool {
    if bytes.len() != reported {
        return false;
    }
    if bytes == SSL_REQUEST || bytes == GSSENC_REQUEST {
        return true;
    }
    message_size(Direction::Frontend, bytes) == Size::Known(reported)
        && bytes.get(4..6) == Some(&[0, 3])
        && bytes.get(8..13) == Some(b"user\0")
        && bytes.ends_with(&[0, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 0x0003_046c_4eca_da8a;

    fn copy_data(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let body = parts.concat();
        [b"d".as_slice(), &(body.len() as u32 + 5).to_be_bytes(), &[tag], &body].concat()
    }

    #[test]
    fn sizes() {
        let size = |bytes: &[u8]| message_size(Direction::Backend, bytes);
        assert_eq!(size(b"d\0\0\0\x16"), Size::Known(23));
        assert_eq!(size(b"d\0\0\0"), Size::NeedsMore);
        assert_eq!(size(b"d\0\0\0\x03"), Size::NotAMessage);
        assert_eq!(size(b"d\x7f\0\0\0"), Size::NotAMessage);
        assert_eq!(size(b"Q\0\0\0\x05"), Size::NotAMessage);
        assert_eq!(message_size(Direction::Frontend, b"Q\0\0\0\x05"), Size::Known(6));
        assert_eq!(message_size(Direction::Frontend, &SSL_REQUEST), Size::Known(8));
    }

    #[test]
    fn in_a_stream_lengths_need_evidence() {
        let size = |bytes: &[u8], available: usize| match message_size(Direction::Backend, bytes) {
            Size::Known(length) => in_stream(Direction::Backend, bytes, length, available),
            other => other,
        };
        // Text of the middle of a message.
        for text in ["n 12 and 1 2 3", "242t\0 and more", "A-266d and more", "t\0\0\0\x05 and more", "d 12 and 1 2 3"] {
            assert_eq!(size(text.as_bytes(), text.len()), Size::NotAMessage, "{text}");
        }
        let data = copy_data(b'w', &[&[0; 16], &NOW.to_be_bytes(), &[0; 4000]]);
        assert_eq!(size(&data[..5], 5), Size::NeedsMore);
        assert_eq!(size(&data[..29], 29), Size::NeedsMore);
        assert_eq!(size(&data[..30], 30), Size::Known(data.len()));
        assert_eq!(size(b"Z\0\0\0\x05I", 6), Size::Known(6));
        assert_eq!(size(b"C\0\0\0\x0bCOPY", 9), Size::Known(12));
        let keepalive = copy_data(b'k', &[&[0; 17]]);
        assert_eq!(size(&keepalive[..6], 6), Size::Known(23));
        assert_eq!(size(&keepalive[..5], 5), Size::NeedsMore);
        // What is all there may be anything.
        assert_eq!(size(&copy_data(b'?', &[&[0; 17]]), 23), Size::Known(23));
    }

    #[test]
    fn replication_messages_are_recognised() {
        let keepalive = copy_data(b'k', &[&[0; 8], &NOW.to_be_bytes(), &[1]]);
        assert_eq!(guess(&keepalive, keepalive.len()), Guess::Backend);
        let status = copy_data(b'r', &[&[0; 24], &NOW.to_be_bytes(), &[0]]);
        assert_eq!(guess(&status, status.len()), Guess::Frontend);
        let feedback = copy_data(b'h', &[&NOW.to_be_bytes(), &[0; 16]]);
        assert_eq!(guess(&feedback, feedback.len()), Guess::Frontend);
        // The message may go on in the next segment.
        let data = copy_data(b'w', &[&[0; 16], &NOW.to_be_bytes(), &[0; 4000]]);
        assert_eq!(guess(&data[..100], 100), Guess::Backend);
        assert_eq!(guess(&data[..20], 20), Guess::No);
        // A time far away, a wrong length, a flag that is none.
        assert_eq!(guess(&copy_data(b'k', &[&[0; 16], &[1]]), 23), Guess::No);
        assert_eq!(guess(&copy_data(b'k', &[&[0; 8], &NOW.to_be_bytes(), &[1, 0]]), 24), Guess::No);
        assert_eq!(guess(&copy_data(b'k', &[&[0; 8], &NOW.to_be_bytes(), &[2]]), 23), Guess::No);
    }

    /// After a loss a message has to prove where it begins.
    #[test]
    fn messages_are_found_in_a_torn_segment() {
        let backend = |bytes: &[u8]| is_proved(Direction::Backend, bytes, bytes.len());
        let keepalive = copy_data(b'k', &[&[0; 8], &NOW.to_be_bytes(), &[1]]);
        assert!(backend(&keepalive));
        assert!(!is_proved(Direction::Frontend, &keepalive, keepalive.len()));
        assert!(!backend(&copy_data(b'k', &[&[0xff; 17]])));
        for whole in [&b"c\0\0\0\x04"[..], b"Z\0\0\0\x05I", b"C\0\0\0\x0bCOPY 0\0", b"E\0\0\0\x0aSERROR"] {
            assert!(backend(whole), "{whole:?}");
        }
        for text in [&b"c\0\0\0\x05a"[..], b"Z\0\0\0\x05x", b"C\0\0\0\x0bCO\xffY 0\0", b"E\0\0\0\x0aXERROR", b"d\0\0\0\x06ab"] {
            assert!(!backend(text), "{text:?}");
        }
        // A letter d, a length and a tag that are part of a value are none.
        let torn = [&b"and more d\0\0\0\x16k of the value"[..], &keepalive, &keepalive].concat();
        assert_eq!(find_message(Direction::Backend, &torn, torn.len()), torn.len() - 2 * keepalive.len());
        assert_eq!(find_message(Direction::Backend, b"dddd", 4), 4);
        assert_eq!(find_message(Direction::Backend, b"", 0), 0);
    }

    #[test]
    fn the_payload_shows_in_whole_messages() {
        let read = |start: u64, end: u64, data: &[u8]| {
            let bytes = [b"w".as_slice(), &start.to_be_bytes(), &end.to_be_bytes(), &NOW.to_be_bytes(), data].concat();
            payload(&bytes, bytes.len(), 4)
        };
        assert_eq!(read(0x1000, 0x1100, b"C"), Payload::Physical);
        assert_eq!(read(0x1100, 0x1000, b"C"), Payload::Unknown);
        assert_eq!(read(7, 7, b"E"), Payload::Pgoutput);
        assert_eq!(read(7, 7, b"A\0\0\x03\x20\0\0\x03\x21"), Payload::Pgoutput);
        assert_eq!(read(7, 7, b"A\0\0\x03\x20\0\0\x03"), Payload::Unknown);
        assert_eq!(read(7, 7, b"BEGIN 748"), Payload::OtherPlugin);
        // As long as a Commit of pgoutput, and beginning with its letter.
        assert_eq!(read(7, 7, b"COMMIT 748 (at 2026-05-01)"), Payload::OtherPlugin);
        assert_eq!(read(7, 7, b""), Payload::Unknown);
        // Half of it tells nothing.
        assert_eq!(payload(&[0; 25], 40, 4), Payload::Unknown);
    }

    /// In a stream of unknown state the bytes tell whether an xid is there.
    #[test]
    fn the_xid_shows_in_what_fits() {
        let streamed = |message: &[u8], start| is_streamed(message, message.len(), start, 4);
        let insert = |xid: &[u8]| [b"I".as_slice(), xid, b"\0\0\x40\x01N\0\x01t\0\0\0\x011"].concat();
        assert_eq!(streamed(&insert(b""), None), Some(false));
        assert_eq!(streamed(&insert(b"\0\0\x03\x21"), None), Some(true));
        // Both ways to the last byte: the OID would be part of the name.
        let relation = b"R\0\0\x40\x01public\0orders\0d\0\0";
        assert_eq!(streamed(relation, None), Some(false));
        let position = 0x0150_53c8_u64;
        let message = |xid: &[u8]| [b"M".as_slice(), xid, b"\x01", &position.to_be_bytes(), b"p\0\0\0\0\x01x"].concat();
        assert_eq!(streamed(&message(b""), Some(position)), Some(false));
        assert_eq!(streamed(&message(b"\0\0\x03\x21"), Some(position)), Some(true));
        assert_eq!(streamed(b"I\0\0", None), None);
    }

    #[test]
    fn startup_is_recognised() {
        let startup = b"\0\0\0\x1b\0\x03\0\0user\0u\0database\0d\0\0";
        assert_eq!(startup.len(), 0x1b);
        assert_eq!(guess(startup, startup.len()), Guess::Startup);
        assert_eq!(guess(&SSL_REQUEST, 8), Guess::Startup);
        assert_eq!(guess(&SSL_REQUEST, 9), Guess::No);
        assert_eq!(guess(b"", 0), Guess::No);
    }

    /// Numbers that look random, the same ones in each run.
    fn generator() -> impl FnMut() -> u64 {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        }
    }

    /// Segments of chance are not claimed.
    #[test]
    fn random_segments_are_not_claimed() {
        let mut random = generator();
        for _ in 0..1_000_000 {
            let mut segment = [0u8; 64];
            for chunk in segment.chunks_mut(8) {
                chunk.copy_from_slice(&random().to_le_bytes());
            }
            let length = (random() % 64) as usize;
            assert_eq!(guess(&segment[..length], length), Guess::No);
            // Even when the first byte is right by itself.
            segment[0] = b'd';
            assert_eq!(guess(&segment[..length], length), Guess::No);
        }
    }

    /// Nor are TLS records, of all kinds and versions, whole and in part.
    #[test]
    fn tls_records_are_not_claimed() {
        let mut random = generator();
        for _ in 0..200_000 {
            let body: Vec<u8> = (0..8).flat_map(|_| random().to_le_bytes()).collect();
            let length = (random() % 16_384) as u16;
            let head = [20 + (random() % 5) as u8, 3, (random() % 5) as u8];
            let record = [&head[..], &length.to_be_bytes(), &body].concat();
            let start = (random() % 6) as usize;
            assert_eq!(guess(&record[start..], record.len() - start), Guess::No);
            assert_eq!(guess(&record[start..], usize::from(length) + 5 - start.min(5)), Guess::No);
        }
    }

    /// Nor other protocols, from each byte on and up to each: some begin with our letter, or with a length as we do.
    #[test]
    fn other_protocols_are_not_claimed() {
        let samples: &[&[u8]] = &[
            b"GET /k HTTP/1.1\r\nHost: d\r\nUser-Agent: r\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 29\r\n\r\nd\0\0\0\x16k and something else",
            b"SSH-2.0-OpenSSH_9.2\r\n\0\0\x05\x14\x09\x14 diffie, hellman",
            b"220 d ESMTP\r\n250-PIPELINING\r\n354 data\r\n",
            // Torrents and their peers.
            b"d8:announce35:udp://tracker.example.com:6969/a4:infod6:lengthi1024e4:name1:kee",
            b"d1:ad2:id20:wwwwwwwwwwwwwwwwwwwwe1:q4:ping1:t2:kk1:y1:qe",
            b"\x13BitTorrent protocol\0\0\0\0\0\x10\0\x05dddddddddddddddddddd",
            // Databases: a greeting and a query of MySQL, Redis, MongoDB, TDS, Oracle's TNS.
            b"\x4a\0\0\0\x0a8.0.36\0\x08\0\0\0krwhkrwh\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0",
            b"\x15\0\0\0\x03select user from user",
            b"*3\r\n$3\r\nSET\r\n$1\r\nd\r\n$4\r\nwkrh\r\n",
            b"d\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0O\0\0\0\x02find\0\x05\0\0\0user\0\0",
            b"\x12\x01\0\x2f\0\0\x01\0\0\0\x1a\0\x06\x01\0\x20\0\x01\x02\0\x21\0\x01\x03\0\x22\0\x04\x04\0\x26\0\x01\xff",
            b"\0\x3a\0\0\x01\0\0\0\x01\x39\x01\x2c\0\0\x08\0\x7f\xff\x7f\x08\0\0\0\x01",
            // Messages with a length in front: DNS, SMB, Kafka, AMQP, LDAP, an RPC record.
            b"\0\x1d\xab\xcd\x01\0\0\x01\0\0\0\0\0\0\x04user\x07example\0\0\x01\0\x01",
            b"\0\0\0\x2f\xffSMBr\0\0\0\0\x18\x01\x28\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0c\0\x02NT LM 0.12\0",
            b"\0\0\0\x16\0\x03\0\0\0\0\0\x01\0\x04user\0\0\0\x01\0\x01k",
            b"AMQP\0\0\x09\x01\x01\0\0\0\0\0\x05\0\x0a\0\x0b\0\xce",
            b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\0\x80\0",
            b"\x80\0\0\x28\0\0\0\x01\0\0\0\0\0\0\0\x02\0\x01\x86\xa3\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0",
            // PostgreSQL, but no replication and no beginning: a query, rows, rows that are copied, a cancelled query.
            b"Q\0\0\0\x0dselect 1\0",
            b"D\0\0\0\x0b\0\x01\0\0\0\x01kZ\0\0\0\x05I",
            b"d\0\0\0\x16krow of seventeen\nd\0\0\0\x26rrow\n",
            b"d\0\0\0\x30wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww\n",
            b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\x12\x34\x56\x78\x9a\xbc",
        ];
        for sample in samples {
            for start in 0..sample.len() {
                for end in start..=sample.len() {
                    let segment = &sample[start..end];
                    assert_eq!(guess(segment, segment.len()), Guess::No, "{}", segment.escape_ascii());
                    assert_eq!(guess(segment, segment.len() + 1000), Guess::No, "{}", segment.escape_ascii());
                }
            }
        }
    }
}
