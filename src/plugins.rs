//! What output plugins other than pgoutput say of transactions: test_decoding's lines and wal2json's objects.

use memchr::memmem;

/// What a message says of its transaction; xids where they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Begin(Option<u64>),
    Commit,
    /// Something inside of it.
    Inside,
    /// All of it.
    Whole(u64),
    /// Nothing that can be read, or something outside of transactions.
    None,
}

/// Longest beginning that is looked at.
const LOOKED_AT: usize = 512;

/// Reads the payload of one XLogData.
pub fn mark(payload: &[u8]) -> Mark {
    let start = payload.trim_ascii_start();
    let start = &start[..start.len().min(LOOKED_AT)];
    match start.first() {
        Some(b'{') => return mark_of_json(start, payload.trim_ascii_end().ends_with(b"}")),
        // A transaction of version 1 may come in parts.
        Some(b',') if start[1..].trim_ascii_start().starts_with(b"{") => return Mark::Inside,
        Some(b']') if start[1..].trim_ascii() == b"}" => return Mark::Commit,
        _ => {}
    }
    let word = |prefix: &[u8]| start.strip_prefix(prefix).filter(|left| left.is_empty() || left[0] == b' ' || left[0] == b'\n');
    if let Some(left) = word(b"BEGIN") {
        return Mark::Begin(number(left));
    }
    // A prepared transaction is told with its identifier, which the line only quotes.
    if word(b"COMMIT").is_some_and(|left| !left.starts_with(b" PREPARED")) {
        return Mark::Commit;
    }
    if start.starts_with(b"table ") || start.starts_with(b"message: transactional: 1") {
        return Mark::Inside;
    }
    Mark::None
}

/// wal2json: format version 1 gives a whole transaction, version 2 each action.
fn mark_of_json(start: &[u8], is_whole: bool) -> Mark {
    // Before the first list stands nothing of the user's.
    let head = &start[..memchr::memchr(b'[', start).unwrap_or(start.len())];
    let value = |key: &[u8]| {
        let at = memmem::find(head, key)? + key.len();
        head[at..].trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start)
    };
    let xid = value(b"\"xid\"").and_then(number);
    if start.starts_with(b"{\"kind\"") {
        return Mark::Inside;
    }
    match (value(b"\"action\"").and_then(|action| action.get(1)), value(b"\"change\"")) {
        (Some(b'B'), _) => Mark::Begin(xid),
        (Some(b'C'), _) => Mark::Commit,
        (Some(b'I' | b'U' | b'D' | b'T'), _) => Mark::Inside,
        (Some(b'M'), _) => match value(b"\"transactional\"").is_some_and(|value| value.starts_with(b"true")) {
            true => Mark::Inside,
            false => Mark::None,
        },
        (None, Some(_)) if is_whole => xid.map_or(Mark::None, Mark::Whole),
        (None, Some(_)) => Mark::Begin(xid),
        _ => Mark::None,
    }
}

fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    std::str::from_utf8(&text[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_test_decoding() {
        assert_eq!(mark(b"BEGIN 748"), Mark::Begin(Some(748)));
        assert_eq!(mark(b"BEGIN"), Mark::Begin(None));
        assert_eq!(mark(b"COMMIT 748 (at 2026-05-01 10:00:00+00)"), Mark::Commit);
        assert_eq!(mark(b"table public.t: INSERT: id[integer]:1"), Mark::Inside);
        assert_eq!(mark(b"message: transactional: 1 prefix: p, sz: 1 content:x"), Mark::Inside);
        assert_eq!(mark(b"message: transactional: 0 prefix: p, sz: 1 content:x"), Mark::None);
        for other in [&b"COMMIT PREPARED 'g', txid 748"[..], b"BEGINNING", b"", b"\xff\xfe", b"{", b"{\"xid\""] {
            assert_eq!(mark(other), Mark::None, "{other:?}");
        }
    }

    #[test]
    fn objects_of_wal2json() {
        assert_eq!(mark(b"{\"action\":\"B\",\"xid\":748}"), Mark::Begin(Some(748)));
        assert_eq!(mark(b"{\"action\":\"B\"}"), Mark::Begin(None));
        assert_eq!(mark(b"{\"action\":\"C\"}"), Mark::Commit);
        assert_eq!(mark(b"{\"action\":\"I\",\"schema\":\"s\",\"table\":\"t\",\"columns\":[]}"), Mark::Inside);
        assert_eq!(mark(b"{\"action\":\"M\",\"transactional\":false,\"prefix\":\"p\"}"), Mark::None);
        assert_eq!(mark(b"{\n\t\"xid\": 748,\n\t\"change\": [\n\t]\n}"), Mark::Whole(748));
        // In parts.
        assert_eq!(mark(b"{\"xid\":748,\"change\":["), Mark::Begin(Some(748)));
        for part in [&b"{\"kind\":\"insert\"}"[..], b",{\"kind\":\"insert\"}"] {
            assert_eq!(mark(part), Mark::Inside);
        }
        assert_eq!(mark(b"]}"), Mark::Commit);
        // A column of the user's is not the transaction's.
        assert_eq!(mark(b"{\"change\":[{\"xid\":5}]}"), Mark::None);
    }
}
