//! Transactions, acknowledgements, lag and tallies, as a C program gets them.

use std::mem::MaybeUninit;

use pgrepl_c_api_tests::*;

const SECOND: i64 = 1_000_000_000;
const NOW: i64 = 849_288_006_153_206;

/// Messages of a stream with their times, and the records that tracking gave.
struct Stream {
    session: Session,
    position: u32,
    seen: Vec<(c::pgrepl_record, Vec<u8>)>,
}

impl Stream {
    fn new() -> Stream {
        Stream { session: Session::pgoutput(), position: 0, seen: Vec::new() }
    }

    /// A CopyData payload at this second; gives its number.
    fn take(&mut self, direction: c::pgrepl_direction, second: i64, payload: Vec<u8>) -> usize {
        self.position += 1;
        let mut record = MaybeUninit::uninit();
        let status = unsafe {
            c::pgrepl_session_track_copy_data(
                self.session.session,
                direction.into(),
                self.position,
                second * SECOND,
                payload.as_ptr(),
                payload.len(),
                payload.len(),
                record.as_mut_ptr(),
            )
        };
        assert_eq!(status, c::PGREPL_STATUS_OK);
        self.seen.push((unsafe { record.assume_init() }, payload));
        self.seen.len() - 1
    }

    /// A logical message, sent 2 seconds after `NOW`.
    fn change(&mut self, second: i64, at: u64, message: &[u8]) -> usize {
        let header = [&b"w"[..], &at.to_be_bytes(), &at.to_be_bytes(), &(NOW + 2_000_000).to_be_bytes()].concat();
        self.take(c::PGREPL_DIRECTION_BACKEND, second, [&header, message].concat())
    }

    fn status(&mut self, second: i64, told: [u64; 3]) -> usize {
        let told: Vec<u8> = told.iter().flat_map(|lsn| lsn.to_be_bytes()).collect();
        self.take(c::PGREPL_DIRECTION_FRONTEND, second, [&b"r"[..], &told, &NOW.to_be_bytes(), &[0]].concat())
    }

    fn spans(&self, message: usize) -> Vec<Span> {
        let (record, bytes) = &self.seen[message];
        walk_named(&self.session, record, bytes, 0)
    }

    fn number(&self, message: usize, name: &str) -> Option<u64> {
        self.spans(message).iter().find(|span| span.name == name).map(|span| span.number)
    }

    fn words(&self, message: usize, name: &str) -> Option<String> {
        self.spans(message).iter().find(|span| span.name == name).map(Span::words)
    }

    fn tally(&self, message: usize) -> c::pgrepl_tally {
        let (record, bytes) = &self.seen[message];
        let mut tally = MaybeUninit::uninit();
        let status = unsafe { c::pgrepl_tally(self.session.session, record, bytes.as_ptr(), bytes.len(), bytes.len(), tally.as_mut_ptr()) };
        assert_eq!(status, c::PGREPL_STATUS_OK);
        unsafe { tally.assume_init() }
    }

    fn table(&self, message: usize, index: u32) -> String {
        let (record, bytes) = &self.seen[message];
        let mut text = [0i8; 64];
        let status = unsafe {
            c::pgrepl_tally_table(self.session.session, record, bytes.as_ptr(), bytes.len(), index, text.as_mut_ptr().cast(), text.len())
        };
        assert_eq!(status, c::PGREPL_STATUS_OK);
        unsafe { std::ffi::CStr::from_ptr(text.as_ptr().cast()) }.to_str().unwrap().to_string()
    }
}

fn begin(xid: u32, commit: u64) -> Vec<u8> {
    [&b"B"[..], &commit.to_be_bytes(), &NOW.to_be_bytes(), &xid.to_be_bytes()].concat()
}

fn commit(commit: u64, end: u64) -> Vec<u8> {
    [&b"C\0"[..], &commit.to_be_bytes(), &end.to_be_bytes(), &NOW.to_be_bytes()].concat()
}

fn insert(xid: Option<u32>) -> Vec<u8> {
    let xid: Vec<u8> = xid.into_iter().flat_map(u32::to_be_bytes).collect();
    [&b"I"[..], &xid, b"\0\0\x40\x01N\0\x01n"].concat()
}

const RELATION: &[u8] = b"R\0\0\x40\x01s\0t\0d\0\x01\0a\0\0\0\0\x17\xff\xff\xff\xff";

#[test]
fn a_transaction_from_begin_to_acknowledgement() {
    let mut stream = Stream::new();
    let unknown = stream.change(0, 0x900, &insert(None));
    stream.session.command("START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '1', publication_names 'p')");
    let first = stream.change(10, 0x1000, &begin(700, 0x1100));
    stream.change(10, 0, RELATION);
    let row = stream.change(11, 0x1010, &insert(None));
    assert_eq!(stream.number(row, "pgrepl.txn.end_frame"), None, "it has not come yet");
    let last = stream.change(13, 0x1180, &commit(0x1100, 0x1180));
    let early = stream.status(14, [0x1180, 0x1100, 0]);
    let late = stream.status(18, [0x1180, 0x1180, 0x1000]);
    let position = |message: usize| message as u64 + 1;
    for message in [first, row, last] {
        assert_eq!(stream.number(message, "pgrepl.txn.xid"), Some(700));
        assert_eq!(stream.number(message, "pgrepl.txn.begin_frame"), Some(position(first)));
        assert_eq!(stream.number(message, "pgrepl.txn.end_frame"), Some(position(last)));
        assert_eq!(stream.words(message, "pgrepl.txn.outcome").as_deref(), Some("committed"));
    }
    assert_eq!(stream.number(unknown, "pgrepl.txn.xid"), None);
    let bytes: usize = stream.seen[first..=last].iter().map(|(_, bytes)| bytes.len() - 25).sum();
    assert_eq!(stream.number(last, "pgrepl.txn.changes"), Some(1));
    assert_eq!(stream.number(last, "pgrepl.txn.bytes"), Some(bytes as u64));
    assert_eq!(stream.number(last, "pgrepl.txn.duration"), Some(3 * SECOND as u64));
    assert_eq!(stream.number(last, "pgrepl.delay.send"), Some(2 * SECOND as u64));
    assert_eq!(stream.number(last, "pgrepl.ack.frame"), Some(position(late)));
    assert_eq!(stream.number(last, "pgrepl.ack.time"), Some(5 * SECOND as u64));
    // 0/0 is not told; what was sent is the end of the commit.
    assert_eq!(stream.number(early, "pgrepl.lag.write"), Some(0));
    assert_eq!(stream.number(early, "pgrepl.lag.flush"), Some(0x80));
    assert_eq!(stream.number(early, "pgrepl.lag.apply"), None);
    assert_eq!(stream.number(late, "pgrepl.lag.apply"), Some(0x180));

    let tally = stream.tally(last);
    assert_eq!((tally.xid, tally.outcome, tally.transaction_counted), (700, c::PGREPL_OUTCOME_COMMITTED.into(), 1));
    assert_eq!((tally.transaction_changes, tally.transaction_bytes), (1, bytes as u64));
    assert_eq!((stream.tally(row).tables, stream.table(row, 0).as_str()), (1, "s.t"));
    assert_eq!(stream.table(unknown, 0), "OID 16385");
    assert_eq!((stream.tally(early).acknowledgements, stream.tally(late).acknowledgements), (0, 1));
    let mut elapsed = 0;
    let ask =
        |index, elapsed: &mut i64| unsafe { c::pgrepl_tally_acknowledgement(stream.session.session, &stream.seen[late].0, index, elapsed) };
    assert_eq!((ask(0, &mut elapsed), elapsed), (c::PGREPL_STATUS_OK, 5 * SECOND));
    assert_eq!(ask(1, &mut elapsed), c::PGREPL_STATUS_INVALID_ARGUMENT);
}

#[test]
fn a_subtransaction_is_rolled_back_alone() {
    let mut stream = Stream::new();
    let numbers = |tag: u8, numbers: &[u32]| [vec![tag], numbers.iter().flat_map(|n| n.to_be_bytes()).collect()].concat();
    let start = stream.change(1, 0x1000, &[numbers(b'S', &[800]), vec![1]].concat());
    let kept = stream.change(1, 0x1010, &insert(Some(801)));
    let gone = stream.change(1, 0x1020, &insert(Some(802)));
    stream.change(1, 0x1030, b"E");
    let abort = stream.change(2, 0x1040, &numbers(b'A', &[800, 802]));
    let tail = [&[0][..], &0x1100u64.to_be_bytes(), &0x1180u64.to_be_bytes(), &NOW.to_be_bytes()].concat();
    let end = stream.change(3, 0x1180, &[numbers(b'c', &[800]), tail].concat());
    assert_eq!(stream.words(kept, "pgrepl.txn.outcome").as_deref(), Some("committed"));
    for message in [gone, abort] {
        assert_eq!(stream.words(message, "pgrepl.txn.outcome").as_deref(), Some("subtransaction rolled back"));
        assert_eq!(stream.number(message, "pgrepl.txn.xid"), Some(800));
    }
    assert_eq!(stream.number(end, "pgrepl.txn.changes"), Some(1));
    assert_eq!(stream.number(end, "pgrepl.txn.begin_frame"), Some(start as u64 + 1));
    assert!(stream.spans(abort).iter().any(|span| span.name == "pgrepl.expert.rollback"));
    assert_eq!(stream.tally(abort).outcome, u32::from(c::PGREPL_OUTCOME_SUBTRANSACTION_ROLLED_BACK));
}

/// What a loss may have taken is not told; what later messages prove is.
#[test]
fn a_loss_in_a_transaction() {
    let mut stream = Stream::new();
    let first = stream.change(1, 0x1000, &begin(700, 0x1100));
    stream.change(1, 0x1010, &insert(None));
    let status = unsafe { c::pgrepl_session_lose(stream.session.session, c::PGREPL_DIRECTION_BACKEND.into()) };
    assert_eq!(status, c::PGREPL_STATUS_OK);
    let row = stream.change(2, 0x1030, &insert(None));
    assert_eq!(stream.number(row, "pgrepl.txn.xid"), None);
    let last = stream.change(3, 0x1180, &commit(0x1100, 0x1180));
    for message in [first, row, last] {
        assert_eq!(stream.number(message, "pgrepl.txn.xid"), Some(700));
        assert_eq!(stream.number(message, "pgrepl.txn.begin_frame"), Some(first as u64 + 1));
    }
    assert_eq!(stream.number(last, "pgrepl.txn.changes"), None);
    assert_eq!(stream.number(last, "pgrepl.txn.duration"), Some(2 * SECOND as u64));
}

#[test]
fn keepalives_ask_and_positions_go_back() {
    let mut stream = Stream::new();
    let keepalive = |asks: u8| [&b"k"[..], &0x2000u64.to_be_bytes(), &NOW.to_be_bytes(), &[asks]].concat();
    let backend = c::PGREPL_DIRECTION_BACKEND;
    let asking = stream.take(backend, 1, keepalive(1));
    let unanswered = stream.take(backend, 2, keepalive(1));
    let higher = stream.status(3, [0x2000, 0x2000, 0x2000]);
    let answered = stream.take(backend, 4, keepalive(0));
    let lower = stream.status(5, [0x2000, 0x1000, 0]);
    let has = |message: usize, note: &str| stream.spans(message).iter().filter(|span| span.name == note).count();
    let counts = [asking, unanswered, answered].map(|message| has(message, "pgrepl.expert.no_reply"));
    assert_eq!(counts, [0, 1, 0]);
    assert_eq!([higher, lower].map(|message| has(message, "pgrepl.expert.position_backwards")), [0, 1]);
}
