//! Every case of `tests/cases` through the C interface.

use pgrepl_c_api_tests::*;
use serde_json::Value;

fn cases() -> Vec<Value> {
    include_str!("../../cases/cases.jsonl").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn prior(session: &Session, state: &Value) {
    for message in state["prior_hex"].as_array().into_iter().flatten() {
        session.pgoutput_message(&hex(message.as_str().unwrap()));
    }
    if state["in_stream"] == true {
        session.pgoutput_message(b"S\0\0\x03\x20\x01");
    }
}

/// PostgreSQL's text of a time on the wire.
fn time(microseconds: u64) -> String {
    let (mut seconds, mut nanoseconds) = (0, 0);
    match unsafe { c::pgrepl_unix_time(microseconds as i64, &mut seconds, &mut nanoseconds) } {
        c::PGREPL_STATUS_OK => {}
        c::PGREPL_STATUS_INFINITY => return "infinity".into(),
        c::PGREPL_STATUS_MINUS_INFINITY => return "-infinity".into(),
        other => panic!("{other}"),
    }
    // Days of the civil calendar, counted back from the answer: only times from 2000 on stand in the cases.
    let (mut day, second) = (seconds.div_euclid(86400) - 10957, seconds.rem_euclid(86400));
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 2000;
    while day >= 365 + leap(year) as i64 {
        day -= 365 + leap(year) as i64;
        year += 1;
    }
    let lengths = [31, 28 + leap(year) as i64, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{:02}-{:02} {hour:02}:{minute:02}:{second:02}.{:06}", month + 1, day + 1, nanoseconds / 1000)
}

fn lsn(position: u64) -> String {
    let mut memory = [0; c::PGREPL_LSN_TEXT as usize];
    assert_eq!(unsafe { c::pgrepl_lsn_text(position, memory.as_mut_ptr()) }, c::PGREPL_STATUS_OK);
    unsafe { std::ffi::CStr::from_ptr(memory.as_ptr()) }.to_str().unwrap().into()
}

/// The tuples of a message in the notation of the cases: kind letter, then text or "hex:" and digits.
fn tuples(spans: &[Span], message: &[u8]) -> Vec<(char, Value)> {
    let mut all: Vec<(char, Vec<Value>)> = Vec::new();
    for span in spans {
        let letter = || (span.number as u8 as char).to_string();
        let text = || {
            let bytes = &message[span.offset..span.offset + span.length];
            match std::str::from_utf8(bytes) {
                Ok(text) if span.name == "pgrepl.value.text" => {
                    assert_eq!(span.words(), text);
                    text.to_string()
                }
                // Not lost where it does not fit: an escape is shown, the bytes are in the range.
                _ => format!("hex:{}", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()),
            }
        };
        match span.name {
            "pgrepl.tuple.kind" => all.push((span.number as u8 as char, vec![])),
            "pgrepl.value.kind" => all.last_mut().unwrap().1.push(Value::from(vec![letter()])),
            "pgrepl.value.length" if span.number == 0 => {
                all.last_mut().unwrap().1.last_mut().unwrap().as_array_mut().unwrap().push("".into())
            }
            "pgrepl.value.text" | "pgrepl.value.binary" => {
                all.last_mut().unwrap().1.last_mut().unwrap().as_array_mut().unwrap().push(text().into())
            }
            _ => {}
        }
    }
    all.into_iter().map(|(letter, columns)| (letter, Value::from(columns))).collect()
}

/// Filter name and display of a key of `expect`; None for keys that say nothing about single fields.
fn field_of(key: &str, kind: &str) -> Option<&'static str> {
    Some(match (key, kind) {
        ("type", _) => "pgrepl.message.type",
        ("copy_type", _) => "pgrepl.copydata.type",
        ("xid", _) => "pgrepl.xid",
        ("subxid", _) => "pgrepl.subxid",
        ("rel_oid", _) => "pgrepl.relation.oid",
        ("type_oid", _) => "pgrepl.type.oid",
        ("namespace", _) => "pgrepl.type.namespace",
        ("name", _) => "pgrepl.type.name",
        ("abort_lsn", _) => "pgrepl.abort_lsn",
        ("abort_ts", _) => "pgrepl.abort_time",
        ("commit_ts", _) => "pgrepl.commit_time",
        ("send_ts", _) => "pgrepl.send_time",
        ("final_lsn", _) => "pgrepl.final_lsn",
        ("prepare_lsn", _) => "pgrepl.prepare_lsn",
        ("end_lsn", _) => "pgrepl.end_lsn",
        ("prepare_end_lsn", _) => "pgrepl.prepare_end_lsn",
        ("rollback_end_lsn", _) => "pgrepl.rollback_end_lsn",
        ("rollback_ts", _) => "pgrepl.rollback_time",
        ("gid", _) => "pgrepl.gid",
        ("flags", _) => "pgrepl.flags",
        ("lsn", _) => "pgrepl.decoding_message.lsn",
        ("prefix", _) => "pgrepl.decoding_message.prefix",
        ("content_len", _) => "pgrepl.decoding_message.length",
        ("content", _) => "pgrepl.decoding_message.content",
        ("transactional", _) => "pgrepl.decoding_message.flags.transactional",
        ("origin_lsn", _) => "pgrepl.origin.lsn",
        ("origin", _) => "pgrepl.origin.name",
        ("nrels", _) => "pgrepl.truncate.relation_count",
        ("cascade", _) => "pgrepl.truncate.flags.cascade",
        ("restart_seqs", _) => "pgrepl.truncate.flags.restart_identity",
        ("wal_end", _) => "pgrepl.wal_end",
        ("reply_requested", _) => "pgrepl.reply_requested",
        ("write", _) => "pgrepl.standby.write_lsn",
        ("flush", _) => "pgrepl.standby.flush_lsn",
        ("apply", _) => "pgrepl.standby.apply_lsn",
        ("xmin", _) => "pgrepl.standby.xmin",
        ("xmin_epoch", _) => "pgrepl.standby.xmin_epoch",
        ("catalog_xmin", _) => "pgrepl.standby.catalog_xmin",
        ("catalog_xmin_epoch", _) => "pgrepl.standby.catalog_xmin_epoch",
        ("primary_lsn", _) => "pgrepl.primary.write_lsn",
        ("oldest_xid", _) => "pgrepl.primary.oldest_commit_xid",
        ("next_xid", _) => "pgrepl.primary.next_xid",
        _ => return None,
    })
}

fn display(span: &Span) -> Value {
    match span.kind {
        c::PGREPL_KIND_CHAR => (span.number as u8 as char).to_string().into(),
        c::PGREPL_KIND_BOOL => (span.number != 0).into(),
        c::PGREPL_KIND_LSN => lsn(span.number).into(),
        c::PGREPL_KIND_TIME => time(span.number).into(),
        c::PGREPL_KIND_TEXT | c::PGREPL_KIND_STRING => span.words().into(),
        c::PGREPL_KIND_BYTES => {
            let digits: String = span.text.as_deref().unwrap().iter().map(|b| format!("{b:02x}")).collect();
            format!("hex:{digits}").into()
        }
        _ => span.number.into(),
    }
}

/// Compares what was walked with the case's expectation; returns how many statements of it were compared.
fn compare(id: &str, expect: &Value, spans: &[Span], bytes: &[u8]) -> usize {
    let mut compared = 0;
    // What came before a single message is a statement of its own.
    let about_others = ["unknown_relation", "column_count", "begin_not_seen", "rollback"].map(|name| format!("pgrepl.expert.{name}"));
    let notes: Vec<&Span> = spans.iter().filter(|span| span.is_note() && !about_others.iter().any(|name| name == span.name)).collect();
    for (key, want) in expect.as_object().unwrap() {
        match key.as_str() {
            "error" => {
                assert_eq!(notes.len(), 1, "{id}: {notes:?}");
                assert_eq!(notes[0].name, "pgrepl.expert.malformed", "{id}");
                let words = notes[0].words();
                let says = match want.as_str().unwrap() {
                    "truncated" | "truncate names" => "needs",
                    "empty message" => "empty message",
                    "negative length" => "-2 is negative",
                    "kind 0x7a" => "0x7a",
                    other => panic!("{id}: {other}"),
                };
                assert!(words.contains(says), "{id}: {words}");
                // Nothing readable is lost.
                tiles(spans, bytes).unwrap_or_else(|error| panic!("{id}: {error}"));
            }
            "new" | "old" | "old_kind" => {
                let tuples = tuples(spans, bytes);
                let new = tuples.iter().find(|(letter, _)| *letter == 'N');
                let old = tuples.iter().find(|(letter, _)| *letter != 'N');
                let got = match key.as_str() {
                    "new" => new.unwrap().1.clone(),
                    "old" => old.unwrap().1.clone(),
                    _ => old.unwrap().0.to_string().into(),
                };
                assert_eq!(got, *want, "{id}.{key}");
            }
            "rels" => {
                let oids: Vec<u64> = spans.iter().filter(|s| s.name == "pgrepl.relation.oid").map(|s| s.number).collect();
                assert_eq!(Value::from(oids), *want, "{id}");
            }
            "message" => compared += compare(id, want, spans, bytes) - 1,
            "table" => {
                let tables: Vec<String> = spans.iter().filter(|s| s.name == "pgrepl.table").map(Span::words).collect();
                assert_eq!(tables, [want.as_str().unwrap()], "{id}");
            }
            "relation_known" => assert_eq!(spans.iter().any(|s| s.name == "pgrepl.table"), want.as_bool().unwrap(), "{id}"),
            key => {
                let name = field_of(key, "").unwrap_or_else(|| panic!("{id}: what is {key}?"));
                let span = spans.iter().find(|span| span.name == name);
                if key == "content" && span.is_none() {
                    continue;
                }
                assert_eq!(display(span.unwrap_or_else(|| panic!("{id}: no {name}"))), *want, "{id}.{key}");
            }
        }
        compared += 1;
    }
    if expect.get("error").is_none() {
        assert!(notes.is_empty(), "{id}: {notes:?}");
        tiles(spans, bytes).unwrap_or_else(|error| panic!("{id}: {error}"));
    }
    compared
}

#[test]
fn single_messages() {
    let mut done = 0;
    for case in cases() {
        let id = case["id"].as_str().unwrap();
        let bytes = hex(case["bytes_hex"].as_str().unwrap());
        let state = &case["state"];
        match case["layer"].as_str().unwrap() {
            "pgoutput" => {
                let session = Session::pgoutput();
                prior(&session, state);
                let record = session.pgoutput_message(&bytes);
                let compared = compare(id, &case["expect"], &walk_named(&session, &record, &bytes, 0), &bytes);
                assert!(compared > 0, "{id} compared nothing");
            }
            "copydata" if state["replication"] == false => {
                // A COPY row: the same payload as a whole message of a connection that is not in replication.
                let session = Session::new(c::PGREPL_PAYLOAD_UNKNOWN);
                let message = [b"d".as_slice(), &(bytes.len() as u32 + 4).to_be_bytes(), &bytes].concat();
                for start in [&b"H\0\0\0\x07\0\0\0"[..], b""] {
                    if !start.is_empty() {
                        session.message(c::PGREPL_DIRECTION_BACKEND, start);
                    }
                    let record = session.message(c::PGREPL_DIRECTION_BACKEND, &message);
                    assert_eq!(record.content, c::PGREPL_CONTENT_OTHER, "{id}");
                    assert!(walk(&record, &bytes, bytes.len(), 12).is_empty(), "{id}");
                }
                assert_eq!(case["expect"]["len"], bytes.len());
            }
            "copydata" => {
                let session = Session::pgoutput();
                let direction = if state["direction"] == "F" { c::PGREPL_DIRECTION_FRONTEND } else { c::PGREPL_DIRECTION_BACKEND };
                let record = session.copy_data(direction, &bytes);
                assert!(compare(id, &case["expect"], &walk(&record, &bytes, bytes.len(), 64), &bytes) > 0, "{id}");
            }
            "stream" => stream(id, &bytes, &case["expect"]),
            "value" => continue,
            other => panic!("{id}: layer {other}"),
        }
        done += 1;
    }
    assert_eq!(done, 38, "cases of layers pgoutput, copydata and stream");
}

/// Messages with a length before each, first tracked all, then walked backwards: as a second pass would.
fn stream(id: &str, bytes: &[u8], expect: &Value) {
    let session = Session::pgoutput();
    let mut tracked = Vec::new();
    let mut left = bytes;
    while let Some((length, rest)) = left.split_first_chunk::<4>() {
        let (message, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        tracked.push((session.pgoutput_message(message), message));
        left = rest;
    }
    assert_eq!(expect["count"], tracked.len(), "{id}");
    let mut compared = 0;
    for (i, (record, message)) in tracked.iter().enumerate().rev() {
        let spans = walk_named(&session, record, message, 0);
        tiles(&spans, message).unwrap_or_else(|error| panic!("{id}[{i}]: {error}"));
        assert!(!spans.iter().any(Span::is_note), "{id}[{i}]");
        if let Some(want) = expect["messages"].get(i.to_string()) {
            compared += compare(&format!("{id}[{i}]"), want, &spans, message);
        }
    }
    assert!(compared > 0, "{id}");
    if expect["in_stream_at_end"] == false {
        assert_eq!(session.pgoutput_message(b"I").flags, 0, "{id}");
    }
}

#[test]
fn messages_of_a_real_server_tile() {
    let mut session = (String::new(), Session::pgoutput());
    let mut kinds = std::collections::BTreeMap::new();
    for line in include_str!("../../cases/real_pg18.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let name = case["session"].as_str().unwrap();
        if session.0 != name {
            session = (name.into(), Session::pgoutput());
        }
        let bytes = hex(case["bytes_hex"].as_str().unwrap());
        let record = session.1.pgoutput_message(&bytes);
        let spans = walk(&record, &bytes, bytes.len(), 16);
        let at = format!("{name} {}", case["seq"]);
        tiles(&spans, &bytes).unwrap_or_else(|error| panic!("{at}: {error}"));
        assert!(!spans.iter().any(Span::is_note), "{at}: {spans:?}");
        *kinds.entry(bytes[0] as char).or_insert(0) += 1;
    }
    assert_eq!(kinds.values().sum::<i32>(), 722);
    assert_eq!(kinds.keys().collect::<String>(), "ABCDEIMORSTUYc");
}
