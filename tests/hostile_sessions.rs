//! Sessions of hostile or odd connections: the time stays linear, and nothing is invented.

use std::mem::MaybeUninit;
use std::rc::Rc;
use std::time::Instant;

use pgrepl::session::{At, Direction, Payload, Record, Session};
use pgrepl::summary;
use pgrepl::tally::{self, Tally};
use pgrepl::walk::{Out, Walk};

fn session() -> Session {
    Session::new(Rc::default(), 0, Payload::Unknown)
}

fn message(letter: u8, body: &[u8]) -> Vec<u8> {
    [&[letter][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn track(session: &mut Session, direction: Direction, letter: u8, body: &[u8]) -> Record {
    let bytes = message(letter, body);
    session.track(direction, &bytes, bytes.len(), At { position: 1, time: Some(0) })
}

fn change(session: &mut Session, parts: &[&[u8]]) -> Record {
    let header: [&[u8]; 2] = [b"w", &[0; 24]];
    track(session, Direction::Backend, b'd', &[&header[..], parts].concat().concat())
}

/// A session in a stream with these transactions open, each with its first block.
fn streaming(open: u32) -> Session {
    let mut s = session();
    track(
        &mut s,
        Direction::Frontend,
        b'Q',
        b"START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '4', publication_names 'p', streaming 'on')\0",
    );
    track(&mut s, Direction::Backend, b'W', &[0, 0, 0]);
    for xid in 0..open {
        change(&mut s, &[b"S", &(1000 + xid).to_be_bytes(), &[1]]);
        change(&mut s, &[b"I", &(100_000 + xid).to_be_bytes(), &16385u32.to_be_bytes(), b"N\0\x01t\0\0\0\x01x"]);
        change(&mut s, &[b"E"]);
    }
    s
}

/// Seconds for rows with xids of nobody's in a block whose beginning was lost.
fn rows_after_a_loss(open: u32, rows: u32) -> f64 {
    let mut s = streaming(open);
    s.lose(Direction::Backend);
    let begun = Instant::now();
    for row in 0..rows {
        let record = change(&mut s, &[b"I", &(500_000 + row).to_be_bytes(), &16385u32.to_be_bytes(), b"N\0\x01t\0\0\0\x01x"]);
        assert!(record.has_xid());
    }
    begun.elapsed().as_secs_f64()
}

/// However many transactions are open.
#[test]
fn rows_of_an_unknown_block_take_constant_time() {
    let few = rows_after_a_loss(10, 20_000);
    let many = rows_after_a_loss(10_000, 20_000);
    assert!(many < 20.0 * few + 0.5, "{few} s with few open transactions, {many} s with many");
}

/// Prepared transactions of one xid with an identifier each.
#[test]
fn prepared_transactions_of_one_xid_take_constant_time() {
    let seconds = |xids: u32| {
        let mut s = streaming(0);
        let begun = Instant::now();
        for n in 0..30_000u32 {
            let (xid, gid) = ((n % xids).to_be_bytes(), format!("g{n}\0"));
            change(&mut s, &[b"b", &[0; 24], &xid, gid.as_bytes()]);
            change(&mut s, &[b"P\0", &[0; 24], &xid, gid.as_bytes()]);
        }
        begun.elapsed().as_secs_f64()
    };
    let (different, same) = (seconds(30_000), seconds(1));
    assert!(same < 20.0 * different + 0.5, "{different} s with different xids, {same} s with one");
}

#[test]
fn many_subtransactions() {
    let mut s = streaming(1);
    let begun = Instant::now();
    change(&mut s, &[b"S", &1000u32.to_be_bytes(), &[0]]);
    for row in 0..200_000u32 {
        change(&mut s, &[b"I", &(500_000 + row).to_be_bytes(), &16385u32.to_be_bytes(), b"N\0\x01t\0\0\0\x01x"]);
    }
    change(&mut s, &[b"E"]);
    for row in 0..100_000u32 {
        change(&mut s, &[b"A", &1000u32.to_be_bytes(), &(500_000 + row).to_be_bytes()]);
    }
    let record = change(&mut s, &[b"c", &1000u32.to_be_bytes(), &[0; 25]]);
    let facts = s.known(&record).transaction.unwrap();
    assert_eq!(facts.counts.unwrap().0, 100_001);
    assert!(begun.elapsed().as_secs_f64() < 10.0);
}

fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    }
}

/// Everything that can be asked of a message.
fn look(session: &Session, record: Record, bytes: &[u8], reported: usize) {
    let known = session.known(&record);
    let mut walk = Walk::new(record, bytes, reported, Some(known), true);
    let mut spans = [MaybeUninit::uninit(); 64];
    let mut text = [MaybeUninit::uninit(); 4096];
    for step in 0.. {
        let mut out = Out::new(&mut spans, &mut text);
        walk.next(&mut out);
        if out.len == 0 {
            break;
        }
        for span in out.written() {
            assert!(span.offset as usize + span.length as usize <= reported);
        }
        assert!(step < 10_000 + 100 * bytes.len());
    }
    let mut line = String::new();
    let _ = summary::write(record, bytes, reported, Some(known), &mut line);
    let tally = Tally::new(&record, bytes, reported, &known);
    for table in 0..tally.tables.min(20) + 1 {
        let _ = tally::write_table(&record, bytes, &known, table, &mut line);
    }
    for number in 0..session.acknowledgements(&record).min(20) + 1 {
        session.acknowledged(&record, number);
    }
    assert!(session.wal_records(&record, bytes).count() <= bytes.len());
}

/// Messages with random letters, bodies and snap lengths on one connection, and records that belong to none of them.
#[test]
fn damage_stops_no_session() {
    for seed in 1..400 {
        let mut next = random(seed);
        let mut s = session();
        s.set_wide_xids(next() % 4 == 0);
        let mut all: Vec<(Record, Vec<u8>, usize)> = Vec::new();
        for _ in 0..300 {
            let letters: &[u8] = b"wwwwwwwwwkrhspnmdQWHGCEZcXS\0?";
            let tags: &[u8] = b"BCOMRYIUDTSEcAbPKrp{[bt?";
            let letter = letters[next() as usize % letters.len()];
            let direction = if b"rhpQcXS\0".contains(&letter) { Direction::Frontend } else { Direction::Backend };
            let mut body: Vec<u8> = (0..next() % 60).map(|_| [0, 0, 0, 1, b'N', b't', 255, next() as u8][next() as usize % 8]).collect();
            if letter == b'Q' {
                let starts: [&[u8]; 6] = [
                    b"START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '4', publication_names 'p')\0",
                    b"START_REPLICATION SLOT s LOGICAL 0/0 (\"include-xids\" '1')\0",
                    b"START_REPLICATION 0/0 TIMELINE 1\0",
                    b"BASE_BACKUP\0",
                    b"CREATE_REPLICATION_SLOT s TEMPORARY LOGICAL test_decoding\0",
                    b"START_REPLICATION SLOT \"\0",
                ];
                body = starts[next() as usize % 6].to_vec();
            }
            let copied = b"wkrhspnmd".contains(&letter);
            let mut bytes = if letter == b'w' {
                let position = (next() % 3 * 8).to_be_bytes();
                message(b'd', &[b"w", &position[..], &position[..], &[0; 8], &[tags[next() as usize % tags.len()]], &body].concat())
            } else if copied {
                message(b'd', &[&[letter][..], &body].concat())
            } else {
                message(letter, &body)
            };
            let reported = bytes.len();
            if next() % 5 == 0 {
                bytes.truncate(next() as usize % (reported + 1));
            }
            if next() % 40 == 0 {
                s.lose(direction);
            }
            if next() % 60 == 0 && s.find_replication(direction, &bytes, reported).is_some() {
                s.assume_replication();
            }
            s.message_size(direction, &bytes, reported);
            let time = if next() % 7 == 0 { None } else { Some((next() as i64).wrapping_mul(next() as i64)) };
            let record = s.track(direction, &bytes, reported, At { position: next() as u32 % 3 * 7, time });
            let payload = bytes.get(5..).unwrap_or(&[]).to_vec();
            all.push((record, payload, reported.saturating_sub(5)));
        }
        for i in 0..all.len() {
            let (record, payload, reported) = &all[i];
            look(&s, *record, payload, *reported);
            let other =
                Record { detail: next() as u32, transaction: next() as u32, flags: next() as u8, encoding: next() as u8 % 4, ..*record };
            look(&s, other, &all[next() as usize % all.len()].1.clone(), 1 << 20);
            look(&s, Record { content: next() as u8 % 8, payload: next() as u8 % 5, ..other }, payload, *reported);
        }
    }
}
