//! Sessions of hostile or odd connections: the time stays linear, and nothing is invented.

use std::rc::Rc;
use std::time::Instant;

use pgrepl::session::{At, Direction, Payload, Record, Session};

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
    track(&mut s, Direction::Frontend, b'Q', b"START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '4', publication_names 'p', streaming 'on')\0");
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
