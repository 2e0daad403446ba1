//! Wrong lengths, wrong bytes, wrong arguments.

use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use pgrepl_c_api_tests::*;
use serde_json::Value;

/// Messages of the cases: (bytes, record).
fn messages() -> Vec<(Vec<u8>, c::pgrepl_record)> {
    let mut all = Vec::new();
    for line in include_str!("../../cases/cases.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let bytes = hex(case["bytes_hex"].as_str().unwrap());
        let session = Session::pgoutput();
        match case["layer"].as_str().unwrap() {
            "pgoutput" if case["state"]["in_stream"] == true => {
                session.pgoutput_message(b"S\0\0\x03\x20\x01");
                all.push((bytes.clone(), session.pgoutput_message(&bytes)));
            }
            "pgoutput" => all.push((bytes.clone(), session.pgoutput_message(&bytes))),
            "copydata" if case["state"]["replication"] != false => {
                let direction = if case["state"]["direction"] == "F" { c::PGREPL_DIRECTION_FRONTEND } else { c::PGREPL_DIRECTION_BACKEND };
                all.push((bytes.clone(), session.copy_data(direction, &bytes)));
            }
            _ => {}
        }
    }
    for line in include_str!("../../cases/real_pg18.jsonl").lines().step_by(7) {
        let case: Value = serde_json::from_str(line).unwrap();
        let bytes = hex(case["bytes_hex"].as_str().unwrap());
        // Both with and without xid: one of them is wrong, and must be survived all the same.
        for start in [&b"E"[..], b"S\0\0\x03\x20\x01"] {
            let session = Session::pgoutput();
            session.pgoutput_message(start);
            all.push((bytes.clone(), session.pgoutput_message(&bytes)));
        }
    }
    all
}

fn notes(spans: &[Span]) -> Vec<&'static str> {
    spans.iter().filter(|span| span.is_note()).map(|span| span.name).collect()
}

fn all_within(spans: &[Span], length: usize) -> bool {
    spans.iter().all(|span| span.offset + span.length <= length)
}

#[test]
fn every_shorter_message() {
    for (bytes, record) in messages() {
        for length in 0..bytes.len() {
            let spans = walk(&record, &bytes[..length], length, 64);
            assert!(notes(&spans).len() <= 1, "{spans:?}");
            // Whatever was there is shown.
            tiles(&spans, &bytes[..length]).unwrap();
        }
    }
}

#[test]
fn every_cut_of_the_capture() {
    for (bytes, record) in messages() {
        let whole = walk(&record, &bytes, bytes.len(), 64);
        if !notes(&whole).is_empty() {
            continue;
        }
        for length in 0..bytes.len() {
            let spans = walk(&record, &bytes[..length], bytes.len(), 64);
            // Not captured is not malformed.
            assert_eq!(notes(&spans), ["pgrepl.expert.not_captured"], "{length} of {bytes:?}");
            tiles(&spans, &bytes[..length]).unwrap();
            // What is there reads as it does in the whole message.
            let same = spans.iter().zip(&whole).take_while(|(a, b)| a == b).count();
            let rest = &spans[same..];
            assert!(rest.len() <= 2 && all_within(rest, length), "{length}: {rest:?}");
        }
    }
}

#[test]
fn every_longer_message() {
    for (bytes, record) in messages() {
        let whole = walk(&record, &bytes, bytes.len(), 64);
        let longer = [bytes.as_slice(), &[0, 1, 2]].concat();
        let spans = walk(&record, &longer, longer.len(), 64);
        tiles(&spans, &longer).unwrap();
        // Only the length of Stream Abort says what is in it; a message cut by the capture has no end to look behind.
        if notes(&whole).is_empty() && bytes[0] != b'A' {
            assert_eq!(notes(&spans), ["pgrepl.expert.trailing_bytes"], "{bytes:?}");
            assert_eq!(spans[..whole.len()], whole[..]);
        }
    }
}

#[test]
fn stream_abort_has_two_lengths_only() {
    let session = Session::pgoutput();
    for length in 0..40 {
        let bytes: Vec<u8> = b"A".iter().copied().chain(1..40).take(length).collect();
        let spans = walk(&session.pgoutput_message(&bytes), &bytes, bytes.len(), 64);
        let want: &[&str] = match length {
            9 | 25 => &[],
            26.. => &["pgrepl.expert.trailing_bytes"],
            _ => &["pgrepl.expert.malformed"],
        };
        assert_eq!(notes(&spans), want, "{length}");
    }
}

/// The fault names the field, what was needed and what was there.
#[test]
fn faults_are_specific() {
    let cases: &[(&[u8], &str)] = &[
        (b"B\0\0", "Final LSN: needs 8 bytes, 2 are there"),
        (b"I\0\0\x40\x01X", "Tuple kind: needs 'N', 'X' (0x58) is there"),
        (b"U\0\0\x40\x01X", "Tuple kind: needs 'K', 'O' or 'N', 'X' (0x58) is there"),
        (b"U\0\0\x40\x01K\0\0X", "Tuple kind: needs 'N', 'X' (0x58) is there"),
        (b"D\0\0\x40\x01N", "Tuple kind: needs 'K' or 'O', 'N' (0x4e) is there"),
        (b"D\0\0\x40\x01", "Tuple kind: needs 1 bytes, 0 are there"),
        (b"I\0\0\x40\x01N\0\x02nt\0\0\0\x05abc", "Text (number 2 of 2): needs 5 bytes, 3 are there"),
        (b"I\0\0\x40\x01N\0\x02nt\xff\xff\xff\xfe", "Length: -2 is negative"),
        (b"I\0\0\x40\x01N\0\x02n\0", "Kind: needs 'n', 'u', 't' or 'b', 0x00 is there"),
        (b"R\0\0\x40\x01pub", "Namespace: needs a terminating zero, none in 3 bytes"),
        (b"T\0\0\0\x02\0\0\0\x40", "Relation OID (number 1 of 2): needs 4 bytes, 3 are there"),
    ];
    for (bytes, words) in cases {
        let session = Session::pgoutput();
        let spans = walk(&session.pgoutput_message(bytes), bytes, bytes.len(), 64);
        let note = spans.iter().find(|span| span.is_note()).unwrap_or_else(|| panic!("{words}"));
        assert_eq!((note.name, note.words().as_str()), ("pgrepl.expert.malformed", *words));
        tiles(&spans, bytes).unwrap();
    }
    let unknown = Session::pgoutput();
    let spans = walk(&unknown.pgoutput_message(b"?abc"), b"?abc", 4, 64);
    let words: Vec<_> = spans.iter().filter(|span| span.is_note()).map(|span| (span.name, span.words())).collect();
    assert_eq!(words, [("pgrepl.expert.unknown_message", "no message of pgoutput begins with '?' (0x3f)".to_string())]);
    tiles(&spans, b"?abc").unwrap();
}

/// A fault in one message says nothing about the next, nor about the stream.
#[test]
fn the_next_message_is_unharmed() {
    let session = Session::pgoutput();
    session.pgoutput_message(b"S\0\0\x03\x20\x01");
    for bad in [&b"I\0\0"[..], b"", b"?", b"U\0\0\x03\x20\0\0\x40\x01X", b"R\xff\xff\xff\xff"] {
        session.pgoutput_message(bad);
        let good = b"I\0\0\x03\x20\0\0\x40\x01N\0\x01n";
        let spans = walk(&session.pgoutput_message(good), good, good.len(), 64);
        assert!(notes(&spans).is_empty(), "after {bad:?}: {spans:?}");
        tiles(&spans, good).unwrap();
    }
}

/// Work goes by the bytes that are there, whatever the counts say: each span but a few has at least a byte.
#[test]
fn counts_cost_nothing() {
    for bytes in [
        &b"T\x40\0\0\0\0"[..],
        b"T\xff\xff\xff\xff\0\0\0\0\x01",
        b"I\0\0\x40\x01N\xff\xff",
        b"R\0\0\x40\x01\0\0d\xff\xff",
        b"M\0\0\0\0\0\0\0\0\0\0\x7f\xff\xff\xff",
    ] {
        let session = Session::pgoutput();
        let spans = walk(&session.pgoutput_message(bytes), bytes, bytes.len(), 64);
        assert!(spans.len() <= bytes.len() + 8, "{} spans", spans.len());
        assert_eq!(notes(&spans), ["pgrepl.expert.malformed"]);
    }
}

/// The room for spans changes nothing, and a walk can be repeated.
#[test]
fn any_room_gives_the_same() {
    for (bytes, record) in messages() {
        let wide = walk(&record, &bytes, bytes.len(), 10_000);
        for room in [12, 13, 20, 64] {
            assert_eq!(walk(&record, &bytes, bytes.len(), room), wide);
        }
    }
}

#[test]
fn changed_bytes_are_survived() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 8) as usize % below
    };
    let messages = messages();
    // A session that knows two tables, of which one has types that do not fit the values.
    let names = Session::pgoutput();
    names.pgoutput_message(&hex(
        "52000040017075626c6963006974656d73006400030169640000000017ffffffff006e616d650000000019ffffffff006e6f74650000000019ffffffff",
    ));
    names.pgoutput_message(&hex(
        "52000040117075626c6963006e006400040169640000000017ffffffff006100000006a4ffffffff006200000003efffffffff0063000000408900000001",
    ));
    for round in 0..200_000 {
        let (bytes, record) = &messages[random(messages.len())];
        let mut bytes = bytes.clone();
        let mut record = *record;
        for _ in 0..1 + random(4) {
            match (random(4), bytes.len()) {
                (_, 0) | (0, _) => bytes.insert(random(bytes.len() + 1), random(256) as u8),
                (1, n) => drop(bytes.remove(random(n))),
                (2, n) => bytes[random(n)] = random(256) as u8,
                (_, n) => bytes[random(n)] ^= 1 << random(8),
            }
        }
        if round % 16 == 0 {
            // A record that no tracking gives.
            record.content = random(256) as u8;
            record.payload = random(256) as u8;
            record.flags = random(256) as u8;
            record.encoding = random(40) as u8;
        }
        record.detail = random(4) as u32;
        record.transaction = random(4) as u32;
        let cut = random(bytes.len() + 1);
        let captured = if round % 2 == 0 { &bytes[..] } else { &bytes[..cut] };
        let session = (round % 3 > 0).then_some(&names);
        let spans = walk_with(session, &record, captured, bytes.len(), 12 + random(40), random(9000), round as u32 % 2);
        assert!(all_within(&spans, captured.len()));
        // The parts of a command have blanks between them.
        if !spans.is_empty() && record.content != c::PGREPL_CONTENT_COMMAND {
            tiles(&spans, captured).unwrap_or_else(|error| panic!("{error}: {spans:?}"));
        }
    }
}

/// A panic would show as this status; NULL and nonsense never come so far.
#[test]
fn nonsense_arguments_give_a_status() {
    const INVALID: c::pgrepl_status = c::PGREPL_STATUS_INVALID_ARGUMENT;
    const OK: c::pgrepl_status = c::PGREPL_STATUS_OK;
    let session = Session::pgoutput();
    let s = session.session;
    let b = b"E".as_ptr();
    let huge = u32::MAX as usize + 1;
    let mut record = session.pgoutput_message(b"E");
    let r: *mut c::pgrepl_record = &mut record;
    let mut memory = MaybeUninit::<c::pgrepl_walk>::zeroed();
    let w = memory.as_mut_ptr();
    let mut spans = vec![MaybeUninit::<c::pgrepl_span>::uninit(); 12];
    let sp: *mut c::pgrepl_span = spans.as_mut_ptr().cast();
    let mut words = [0; 64];
    let t = words.as_mut_ptr();
    let (mut count, mut size, mut seconds, mut nanoseconds) = (7, 0, 0, 0);
    let unknown_options = c::pgrepl_options { size: 16, payload: 9, server: 0 };
    let short_options = c::pgrepl_options { size: 8, payload: 0, server: 0 };
    unsafe {
        let back = c::PGREPL_DIRECTION_BACKEND as u32;
        for direction in [back, 2, u32::MAX] {
            let want = if direction == back { OK } else { INVALID };
            assert_eq!(c::pgrepl_session_track(s, direction, 1, TIME_UNKNOWN, b, 1, 1, r), want);
            assert_eq!(c::pgrepl_session_track_copy_data(s, direction, 1, TIME_UNKNOWN, b, 1, 1, r), want);
        }
        assert_eq!(c::pgrepl_session_track(null_mut(), back, 1, TIME_UNKNOWN, b, 1, 1, r), INVALID);
        assert_eq!(c::pgrepl_session_track(s, back, 1, TIME_UNKNOWN, null(), 1, 1, r), INVALID);
        assert_eq!(c::pgrepl_session_track(s, back, 1, TIME_UNKNOWN, null(), 0, 0, r), OK);
        assert_eq!(c::pgrepl_session_track(s, back, 1, TIME_UNKNOWN, b, 2, 1, r), INVALID);
        assert_eq!(c::pgrepl_session_track(s, back, 1, TIME_UNKNOWN, b, 1, huge, r), INVALID);
        assert_eq!(c::pgrepl_session_track(s, back, 1, TIME_UNKNOWN, b, 1, 1, null_mut()), INVALID);
        assert_eq!(c::pgrepl_session_track_pgoutput(s, 1, TIME_UNKNOWN, b, 1, 1, null_mut()), INVALID);
        assert_eq!(c::pgrepl_session_command(s, null(), 3), INVALID);
        assert_eq!(c::pgrepl_session_command(null_mut(), b.cast(), 1), INVALID);
        assert_eq!(c::pgrepl_session_assume_replication(null_mut()), INVALID);
        assert_eq!(c::pgrepl_session_in_copy(null()), 0);

        record = session.pgoutput_message(b"E");
        let r: *mut c::pgrepl_record = &mut record;
        assert_eq!(c::pgrepl_walk_start(null_mut(), s, r, b, 1, 1, 0), INVALID);
        assert_eq!(c::pgrepl_walk_start(w, s, null(), b, 1, 1, 0), INVALID);
        assert_eq!(c::pgrepl_walk_start(w, s, r, null(), 1, 1, 0), INVALID);
        assert_eq!(c::pgrepl_walk_start(w, s, r, b, 2, 1, 0), INVALID);
        // Memory in which no walk was started.
        assert_eq!(c::pgrepl_walk_next(w, sp, 12, t, 64, &mut count), INVALID);
        assert_eq!(c::pgrepl_walk_limit_labels(w, 9), INVALID);
        assert_eq!(c::pgrepl_walk_limit_labels(null_mut(), 9), INVALID);
        assert_eq!(count, 0);
        assert_eq!(c::pgrepl_walk_start(w, null(), r, b, 1, 1, 0), OK);
        assert_eq!(c::pgrepl_walk_next(null_mut(), sp, 12, t, 64, &mut count), INVALID);
        assert_eq!(c::pgrepl_walk_next(w, null_mut(), 12, t, 64, &mut count), INVALID);
        assert_eq!(c::pgrepl_walk_next(w, sp, 11, t, 64, &mut count), INVALID);
        assert_eq!(c::pgrepl_walk_next(w, sp, 12, null_mut(), 64, &mut count), INVALID);
        assert_eq!(c::pgrepl_walk_next(w, sp, 12, t, 64, null_mut()), INVALID);
        // None of them has moved the walk.
        assert_eq!(c::pgrepl_walk_next(w, sp, 12, null_mut(), 0, &mut count), OK);
        assert_eq!(count, 1, "the group; its only field comes with the next call");

        assert_eq!(c::pgrepl_summary(s, r, b, 1, 1, null_mut(), 64), INVALID);
        assert_eq!(c::pgrepl_summary(s, r, b, 1, 1, t, 0), INVALID);
        assert_eq!(c::pgrepl_summary(s, null(), b, 1, 1, t, 64), INVALID);
        assert_eq!(c::pgrepl_summary(s, r, b, 1, 1, t, 1), OK);
        assert_eq!(words[0], 0);
        assert_eq!(c::pgrepl_message_size(back, b, 1, &mut size), c::PGREPL_STATUS_NEEDS_MORE);
        assert_eq!(c::pgrepl_message_size(back, b, 1, null_mut()), INVALID);
        assert_eq!(c::pgrepl_message_size(9, b, 1, &mut size), INVALID);
        assert_eq!(c::pgrepl_guess(null(), 1, 1), 0);
        assert_eq!(c::pgrepl_lsn_text(0, null_mut()), INVALID);
        assert_eq!(c::pgrepl_unix_time(0, null_mut(), &mut nanoseconds), INVALID);
        assert_eq!(c::pgrepl_unix_time(0, &mut seconds, null_mut()), INVALID);

        assert!(c::pgrepl_session_new(null_mut(), null()).is_null());
        let capture = c::pgrepl_capture_new();
        assert!(c::pgrepl_session_new(capture, &unknown_options).is_null());
        assert!(c::pgrepl_session_new(capture, &short_options).is_null());
        c::pgrepl_capture_free(capture);
        c::pgrepl_capture_free(null_mut());
        assert!(!c::pgrepl_fields(null_mut()).is_null());
        for status in 0..100 {
            assert!(!c::pgrepl_status_text(status).is_null());
        }
        for letter in 0..=255 {
            assert!(!c::pgrepl_message_name(u32::MAX, letter).is_null());
        }
    }
}
