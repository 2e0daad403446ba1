//! Tables, columns, types and values by name, from what earlier messages said.

use pgrepl_c_api_tests::*;

fn string(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\0"].concat()
}

/// Columns: name, type OID, modifier, key.
type Columns<'c> = &'c [(&'c str, u32, i32, bool)];

fn relation(xid: Option<u32>, oid: u32, table: (&str, &str), columns: Columns) -> Vec<u8> {
    let mut bytes = b"R".to_vec();
    bytes.extend(xid.into_iter().flat_map(u32::to_be_bytes));
    bytes.extend(oid.to_be_bytes());
    bytes.extend([string(table.0), string(table.1), b"d".to_vec()].concat());
    bytes.extend((columns.len() as u16).to_be_bytes());
    for (name, type_oid, modifier, key) in columns {
        bytes.push(*key as u8);
        bytes.extend(string(name));
        bytes.extend(type_oid.to_be_bytes());
        bytes.extend(modifier.to_be_bytes());
    }
    bytes
}

fn type_message(oid: u32, namespace: &str, name: &str) -> Vec<u8> {
    [b"Y".to_vec(), oid.to_be_bytes().to_vec(), string(namespace), string(name)].concat()
}

fn value(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[kind][..], &(bytes.len() as i32).to_be_bytes(), bytes].concat()
}

fn text(text: &str) -> Vec<u8> {
    value(b't', text.as_bytes())
}

fn row(letter: u8, values: &[Vec<u8>]) -> Vec<u8> {
    [&[letter][..], &(values.len() as u16).to_be_bytes(), &values.concat()].concat()
}

fn change(tag: u8, xid: Option<u32>, oid: u32, rows: &[Vec<u8>]) -> Vec<u8> {
    let xid: Vec<u8> = xid.into_iter().flat_map(u32::to_be_bytes).collect();
    [&[tag][..], &xid, &oid.to_be_bytes(), &rows.concat()].concat()
}

fn stream_start(xid: u32) -> Vec<u8> {
    [&b"S"[..], &xid.to_be_bytes(), &[1]].concat()
}

const INT4: u32 = 23;
const TEXT: u32 = 25;
const NUMERIC: u32 = 1700;
const ORDERS: Columns = &[("id", INT4, -1, true), ("total", NUMERIC, (10 << 16 | 2) + 4, false), ("note", TEXT, -1, false)];
const ORDERS_OID: u32 = 16385;

/// A session that knows the orders table.
fn orders() -> Session {
    let session = Session::pgoutput();
    session.pgoutput_message(&relation(None, ORDERS_OID, ("public", "orders"), ORDERS));
    session
}

fn walked(session: &Session, bytes: &[u8]) -> Vec<Span> {
    let record = session.pgoutput_message(bytes);
    named(session, &record, bytes)
}

fn named(session: &Session, record: &c::pgrepl_record, bytes: &[u8]) -> Vec<Span> {
    let spans = walk_named(session, record, bytes, c::PGREPL_WALK_LABELS);
    tiles(&spans, bytes).unwrap_or_else(|error| panic!("{error}: {spans:?}"));
    // The same fields without labels, and without names.
    let plain = |spans: Vec<Span>| spans.into_iter().map(|span| (span.name, span.offset, span.length)).collect::<Vec<_>>();
    assert_eq!(plain(walk_named(session, record, bytes, 0)), plain(spans.clone()));
    spans
}

fn all(spans: &[Span], name: &str) -> Vec<String> {
    spans.iter().filter(|span| span.name == name).map(Span::words).collect()
}

fn labels(spans: &[Span]) -> Vec<String> {
    spans.iter().filter(|span| span.kind == c::PGREPL_KIND_GROUP).map(Span::words).collect()
}

fn notes(spans: &[Span]) -> Vec<(&'static str, String)> {
    spans.iter().filter(|span| span.is_note()).map(|span| (span.name, span.words())).collect()
}

#[test]
fn a_row_reads_like_a_row() {
    let session = orders();
    let spans = walked(&session, &change(b'I', None, ORDERS_OID, &[row(b'N', &[text("42"), text("19.90"), b"n".to_vec()])]));
    assert_eq!(all(&spans, "pgrepl.table"), ["public.orders"]);
    assert_eq!(spans.iter().find(|span| span.name == "pgrepl.relation.frame").unwrap().number, 1);
    assert_eq!(all(&spans, "pgrepl.value.column"), ["id", "total", "note"]);
    assert_eq!(all(&spans, "pgrepl.value.type"), ["integer", "numeric(10,2)", "text"]);
    assert_eq!(all(&spans, "pgrepl.cell"), ["id=42", "total=19.90", "note=NULL"]);
    assert_eq!(
        labels(&spans),
        [
            "Insert public.orders",
            "New row: id=42, total=19.90, note=NULL",
            "id integer (key): 42",
            "total numeric(10,2): 19.90",
            "note text: NULL"
        ]
    );
    assert_eq!(spans.iter().filter(|span| span.name == "pgrepl.value.key").count(), 1);
    assert!(notes(&spans).is_empty());
}

#[test]
fn a_relation_message_names_itself() {
    let session = Session::pgoutput();
    let spans = walked(&session, &relation(None, ORDERS_OID, ("", "odd\nname"), ORDERS));
    assert_eq!(all(&spans, "pgrepl.table"), ["pg_catalog.odd\nname"]);
    assert_eq!(
        labels(&spans),
        ["Relation pg_catalog.odd\\nname", "id integer (key)", "total numeric(10,2)", "note text"],
        "labels stay in one line"
    );
}

#[test]
fn null_empty_unchanged_and_not_sent_differ() {
    let session = orders();
    let old = row(b'K', &[text("1"), b"n".to_vec(), b"n".to_vec()]);
    let new = row(b'N', &[text("2"), b"u".to_vec(), text("")]);
    let spans = walked(&session, &change(b'U', None, ORDERS_OID, &[old, new]));
    assert_eq!(all(&spans, "pgrepl.cell"), ["id=1", "id=2", "total=(unchanged TOAST)", "note="]);
    assert_eq!(labels(&spans)[1], "Key: id=1");
    assert_eq!(labels(&spans)[3], "total numeric(10,2): not sent");
    // Only the key has an old value to differ from.
    let changed: Vec<_> = spans.windows(4).filter(|w| w[3].name == "pgrepl.value.changed").map(|w| w[0].words()).collect();
    assert_eq!(changed, ["id"]);
    assert!(labels(&spans).contains(&"id integer (key): 2 (was 1)".to_string()), "{:?}", labels(&spans));
}

#[test]
fn changed_columns_stand_out() {
    let session = orders();
    let old = row(b'O', &[text("1"), text("1.00"), b"n".to_vec()]);
    let new = row(b'N', &[text("1"), text("2.00"), text("x")]);
    let spans = walked(&session, &change(b'U', None, ORDERS_OID, &[old, new]));
    let mut column = String::new();
    let mut changed = Vec::new();
    for span in &spans {
        match span.name {
            "pgrepl.value.column" => column = span.words(),
            "pgrepl.value.changed" => changed.push(column.clone()),
            _ => {}
        }
    }
    assert_eq!(changed, ["total", "note"]);
    assert_eq!(labels(&spans)[7..], ["total numeric(10,2): 2.00 (was 1.00)", "note text: x (was NULL)"]);
}

#[test]
fn each_row_has_the_names_of_its_place() {
    let session = orders();
    let first = change(b'I', None, ORDERS_OID, &[row(b'N', &[text("1"), text("1"), text("a")])]);
    let before = session.pgoutput_message(&first);
    session.pgoutput_message(&relation(None, ORDERS_OID, ("public", "bookings"), &[("key", INT4, -1, true), ("note", TEXT, -1, false)]));
    let second = change(b'I', None, ORDERS_OID, &[row(b'N', &[text("2"), text("b")])]);
    let after = session.pgoutput_message(&second);
    for _ in 0..2 {
        let spans = named(&session, &after, &second);
        assert_eq!(
            (all(&spans, "pgrepl.table"), all(&spans, "pgrepl.cell")),
            (vec!["public.bookings".into()], vec!["key=2".into(), "note=b".into()])
        );
        let spans = named(&session, &before, &first);
        assert_eq!(all(&spans, "pgrepl.table"), ["public.orders"]);
        assert_eq!(all(&spans, "pgrepl.cell"), ["id=1", "total=1", "note=a"]);
    }
}

#[test]
fn relations_of_a_stream_count_for_it_and_for_all_when_it_commits() {
    let table_of = |session: &Session, xid: Option<u32>| {
        let insert = change(b'I', xid, ORDERS_OID, &[row(b'N', &[text("1"), text("1"), text("a")])]);
        all(&walked(session, &insert), "pgrepl.table").concat()
    };
    for (end, kept) in [
        ([&b"c"[..], &700u32.to_be_bytes(), &[0; 25]].concat(), true),
        ([&b"p\0"[..], &[0; 24], &700u32.to_be_bytes(), b"gid\0"].concat(), true),
        ([&b"A"[..], &700u32.to_be_bytes(), &700u32.to_be_bytes()].concat(), false),
    ] {
        let session = orders();
        session.pgoutput_message(&stream_start(700));
        session.pgoutput_message(&relation(Some(701), ORDERS_OID, ("public", "renamed"), ORDERS));
        assert_eq!(table_of(&session, Some(701)), "public.renamed");
        session.pgoutput_message(b"E");
        // Another transaction in between still sees the table as it was.
        assert_eq!(table_of(&session, None), "public.orders");
        session.pgoutput_message(&stream_start(800));
        assert_eq!(table_of(&session, Some(800)), "public.orders");
        session.pgoutput_message(b"E");
        session.pgoutput_message(&stream_start(700));
        // A subtransaction's abort ends nothing.
        session.pgoutput_message(b"E");
        session.pgoutput_message(&[&b"A"[..], &700u32.to_be_bytes(), &701u32.to_be_bytes()].concat());
        session.pgoutput_message(&stream_start(700));
        assert_eq!(table_of(&session, Some(700)), "public.renamed");
        session.pgoutput_message(b"E");
        session.pgoutput_message(&end);
        assert_eq!(table_of(&session, None), if kept { "public.renamed" } else { "public.orders" });
    }
}

#[test]
fn a_new_stream_forgets_the_old_one() {
    let session = Session::new(c::PGREPL_PAYLOAD_UNKNOWN);
    let start = "START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '1', publication_names 'p')";
    let message = |letter: u8, body: &[u8]| [&[letter][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat();
    let data = |payload: &[u8]| [b"w".as_slice(), &[0; 24], payload].concat();
    let insert = data(&change(b'I', None, ORDERS_OID, &[row(b'N', &[text("1"), text("1"), text("a")])]));
    for (describe, table) in [(true, "public.orders"), (false, "")] {
        session.message(c::PGREPL_DIRECTION_FRONTEND, &message(b'Q', &string(start)));
        session.message(c::PGREPL_DIRECTION_BACKEND, &message(b'W', &[0, 0, 0]));
        if describe {
            session.message(c::PGREPL_DIRECTION_BACKEND, &message(b'd', &data(&relation(None, ORDERS_OID, ("public", "orders"), ORDERS))));
        }
        let record = session.message(c::PGREPL_DIRECTION_BACKEND, &message(b'd', &insert));
        let spans = named(&session, &record, &insert);
        assert_eq!(all(&spans, "pgrepl.table").concat(), table);
        session.message(c::PGREPL_DIRECTION_BACKEND, &message(b'Z', b"I"));
    }
}

#[test]
fn unknown_relations_and_other_counts_are_said() {
    let session = orders();
    let unknown = walked(&session, &change(b'I', None, 17000, &[row(b'N', &[text("1")])]));
    assert_eq!(notes(&unknown).iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["pgrepl.expert.unknown_relation"]);
    assert_eq!(labels(&unknown), ["Insert", "New row", "Column 1"]);
    for (values, cells, words) in [
        (vec![text("1")], vec!["id=1"], "1 values, public.orders has 3 columns"),
        (vec![text("1"), text("2"), text("3"), text("4")], vec!["id=1", "total=2", "note=3"], "4 values, public.orders has 3 columns"),
    ] {
        let spans = walked(&session, &change(b'I', None, ORDERS_OID, &[row(b'N', &values)]));
        assert_eq!(notes(&spans), [("pgrepl.expert.column_count", words.to_string())]);
        assert_eq!(all(&spans, "pgrepl.cell"), cells);
    }
}

#[test]
fn truncate_names_each_table() {
    let session = orders();
    session.pgoutput_message(&relation(None, u32::MAX - 1, ("s", "big oid"), ORDERS));
    let oids = [ORDERS_OID, 17000, u32::MAX - 1];
    let truncate = [&b"T"[..], &3u32.to_be_bytes(), &[3], &oids.map(u32::to_be_bytes).concat()].concat();
    let record = session.pgoutput_message(&truncate);
    session.pgoutput_message(&relation(None, ORDERS_OID, ("public", "later"), ORDERS));
    let spans = named(&session, &record, &truncate);
    assert_eq!(all(&spans, "pgrepl.table"), ["public.orders", "s.big oid"]);
    assert_eq!(notes(&spans).len(), 1);
}

#[test]
fn binary_values_are_decoded() {
    let session = orders();
    let total = hex("00020000000000020013 2328".replace(' ', "").as_str());
    let insert =
        change(b'I', None, ORDERS_OID, &[row(b'N', &[value(b'b', &42i32.to_be_bytes()), value(b'b', &total), value(b'b', b"hi")])]);
    let spans = walked(&session, &insert);
    assert_eq!(all(&spans, "pgrepl.value.decoded"), ["42", "19.90", "hi"]);
    assert_eq!(all(&spans, "pgrepl.cell"), ["id=42", "total=19.90", "note=hi"]);
    // What does not parse keeps its bytes and says why.
    let bad = change(b'I', None, ORDERS_OID, &[row(b'N', &[value(b'b', &[1, 2, 3]), b"n".to_vec(), b"n".to_vec()])]);
    let spans = walked(&session, &bad);
    assert_eq!(all(&spans, "pgrepl.value.decoded"), [""; 0]);
    assert_eq!(all(&spans, "pgrepl.cell"), ["total=NULL", "note=NULL"]);
    let notes = notes(&spans);
    assert!(notes[0].0 == "pgrepl.expert.value" && notes[0].1.starts_with("id integer: "), "{notes:?}");
    assert_eq!(labels(&spans)[2], "id integer (key): (3 bytes)");
}

#[test]
fn user_types_have_their_names() {
    let session = Session::pgoutput();
    for message in [type_message(16500, "public", "mood"), type_message(16499, "public", "_mood"), type_message(16521, "", "int4")] {
        session.pgoutput_message(&message);
    }
    let columns: Columns = &[("m", 16500, -1, false), ("ms", 16499, -1, false), ("d", 16521, -1, false), ("x", 16600, -1, false)];
    session.pgoutput_message(&relation(None, 1, ("public", "t"), columns));
    // Named otherwise later: the Relation keeps what was known at its place.
    session.pgoutput_message(&type_message(16500, "public", "temper"));
    let insert =
        change(b'I', None, 1, &[row(b'N', &[value(b'b', b"happy"), b"n".to_vec(), value(b'b', &7i32.to_be_bytes()), b"n".to_vec()])]);
    let spans = walked(&session, &insert);
    assert_eq!(all(&spans, "pgrepl.value.type"), ["public.mood", "public.mood[]", "integer (domain 16521)", "OID 16600"]);
    assert_eq!(all(&spans, "pgrepl.value.decoded"), ["happy", "7"]);
}

#[test]
fn client_encoding_is_followed() {
    let session = Session::new(c::PGREPL_PAYLOAD_UNKNOWN);
    let startup = [&[0, 3, 0, 0][..], b"user\0u\0client_encoding\0EUC_JP\0\0"].concat();
    let startup = [&(startup.len() as u32 + 4).to_be_bytes()[..], &startup].concat();
    session.message(c::PGREPL_DIRECTION_FRONTEND, &startup);
    session.pgoutput_message(&relation(None, 1, ("public", "t"), &[("c", TEXT, -1, true)]));
    let insert = |bytes: &[u8]| change(b'I', None, 1, &[row(b'N', &[value(b't', bytes)])]);
    let japanese = insert(b"\xc9\xbd\xff");
    let record = session.pgoutput_message(&japanese);
    let status = b"S\0\0\0\x1bclient_encoding\0LATIN1\0";
    session.message(c::PGREPL_DIRECTION_BACKEND, status);
    let spans = walked(&session, &insert(b"\xc9"));
    assert_eq!(all(&spans, "pgrepl.value.text"), ["É"]);
    // The record remembers the encoding of its place.
    assert_eq!(all(&named(&session, &record, &japanese), "pgrepl.value.text"), ["表\\xff"]);
    assert_eq!(all(&named(&session, &record, &japanese), "pgrepl.cell"), ["c=表\\xff"]);
}

#[test]
fn decoding_messages_show_text_where_it_is_text() {
    let session = Session::pgoutput();
    let message = |content: &[u8]| [&b"M\x01"[..], &[0; 8], b"p\0", &(content.len() as u32).to_be_bytes(), content].concat();
    assert_eq!(all(&walked(&session, &message("grüße\n".as_bytes())), "pgrepl.decoding_message.text"), ["grüße\n"]);
    for content in [&b""[..], b"\0", b"\xff"] {
        assert!(all(&walked(&session, &message(content)), "pgrepl.decoding_message.text").is_empty());
    }
}

/// A table as wide as they come, long texts, little room: nothing is lost but what the marks say.
#[test]
fn wide_rows_and_long_values() {
    let session = Session::pgoutput();
    let names: Vec<String> = (0..1600).map(|i| format!("column_{i}")).collect();
    let columns: Vec<_> = names.iter().map(|name| (name.as_str(), TEXT, -1, false)).collect();
    session.pgoutput_message(&relation(None, 1, ("public", "wide"), &columns));
    let long = "ä".repeat(100_000);
    let values: Vec<_> = (0..1600).map(|i| text(if i == 7 { &long } else { "v" })).collect();
    let insert = change(b'I', None, 1, &[row(b'N', &values)]);
    let spans = walked(&session, &insert);
    assert_eq!(all(&spans, "pgrepl.value.column"), names);
    let cells = all(&spans, "pgrepl.cell");
    assert_eq!(cells.len(), 1600);
    assert_eq!(cells[1599], "column_1599=v");
    assert!(cells[7].starts_with("column_7=ää") && cells[7].ends_with('…') && cells[7].len() < 10_000);
    assert_eq!(all(&spans, "pgrepl.value.text")[7], long);
    assert!(labels(&spans)[1].len() < 400 && labels(&spans)[1].ends_with('…'));
    // Small rooms.
    let record = session.pgoutput_message(&insert);
    for room in [12, 64] {
        for words in [0, 1, 64, 1024] {
            let spans = walk_with(Some(&session), &record, &insert, insert.len(), room, words, c::PGREPL_WALK_LABELS);
            tiles(&spans, &insert).unwrap();
            assert_eq!(all(&spans, "pgrepl.value.column"), names);
        }
    }
}

#[test]
fn sessions_do_not_mix() {
    let (one, two) = (orders(), Session::pgoutput());
    two.pgoutput_message(&relation(None, ORDERS_OID, ("other", "table"), ORDERS));
    let insert = change(b'I', None, ORDERS_OID, &[row(b'N', &[text("1"), text("1"), text("a")])]);
    assert_eq!(all(&walked(&one, &insert), "pgrepl.table"), ["public.orders"]);
    assert_eq!(all(&walked(&two, &insert), "pgrepl.table"), ["other.table"]);
}

/// A Relation that cannot be read makes its table unknown, rather than wrong.
#[test]
fn a_broken_relation_is_not_guessed() {
    let session = orders();
    let whole = relation(None, ORDERS_OID, ("public", "new"), ORDERS);
    session.pgoutput_message(&whole[..whole.len() - 3]);
    let insert = change(b'I', None, ORDERS_OID, &[row(b'N', &[text("1"), text("1"), text("a")])]);
    assert!(all(&walked(&session, &insert), "pgrepl.table").is_empty());
}

/// What was said of a table after the stream's Relation stays when the stream commits.
#[test]
fn a_commit_does_not_bring_back_older_names() {
    let session = Session::pgoutput();
    session.pgoutput_message(&stream_start(700));
    session.pgoutput_message(&relation(Some(700), ORDERS_OID, ("s1", "orders"), ORDERS));
    session.pgoutput_message(b"E");
    session.pgoutput_message(&relation(None, ORDERS_OID, ("s2", "orders"), ORDERS));
    session.pgoutput_message(&[&b"c"[..], &700u32.to_be_bytes(), &[0; 25]].concat());
    let insert = change(b'I', None, ORDERS_OID, &[row(b'N', &[text("1"), text("1"), text("a")])]);
    assert_eq!(all(&walked(&session, &insert), "pgrepl.table"), ["s2.orders"]);
}

/// A schema with a type of its own for each table, and more: all stay known.
#[test]
fn many_types_and_tables() {
    let session = Session::pgoutput();
    for i in 0..9_000 {
        session.pgoutput_message(&type_message(100_000 + i, "public", &format!("kind_{i}")));
        session.pgoutput_message(&relation(None, 200_000 + i, ("public", &format!("t{i}")), &[("k", 100_000 + i, -1, true)]));
    }
    for i in [0, 2474, 8_999] {
        let spans = walked(&session, &change(b'I', None, 200_000 + i, &[row(b'N', &[text("x")])]));
        assert_eq!(all(&spans, "pgrepl.value.type"), [format!("public.kind_{i}")]);
    }
}

/// An encoding that nothing converts stays so in the record; the row's own encoding counts, for text and binary alike.
#[test]
fn each_row_has_its_encoding() {
    let set = |session: &Session, encoding: &str| {
        let body = [&b"client_encoding\0"[..], encoding.as_bytes(), b"\0"].concat();
        let status = [&b"S"[..], &(body.len() as u32 + 4).to_be_bytes(), &body].concat();
        session.message(c::PGREPL_DIRECTION_BACKEND, &status);
    };
    let session = Session::pgoutput();
    set(&session, "EUC_TW");
    session.pgoutput_message(&relation(None, 1, ("public", "t"), &[("a", TEXT, -1, true), ("b", TEXT, -1, false)]));
    let insert = |bytes: &[u8]| change(b'I', None, 1, &[row(b'N', &[value(b't', bytes), value(b'b', bytes)])]);
    assert_eq!(all(&walked(&session, &insert(b"\xc4\xa1")), "pgrepl.cell"), ["a=\\xc4\\xa1", "b=\\xc4\\xa1"]);
    set(&session, "LATIN1");
    assert_eq!(all(&walked(&session, &insert(b"\xc9")), "pgrepl.cell"), ["a=É", "b=É"]);
    // Cut by the capture: not taken.
    let cut = b"S\0\0\0\x1bclient_encoding\0UT";
    session.message(c::PGREPL_DIRECTION_BACKEND, cut);
    assert_eq!(all(&walked(&session, &insert(b"\xc9")), "pgrepl.cell"), ["a=É", "b=É"]);
}

#[test]
fn a_type_that_cannot_be_kept_is_unknown() {
    let session = Session::pgoutput();
    let type_name = |session: &Session| {
        session.pgoutput_message(&relation(None, 1, ("public", "t"), &[("m", 16500, -1, true)]));
        all(&walked(session, &change(b'I', None, 1, &[row(b'N', &[text("x")])])), "pgrepl.value.type").concat()
    };
    session.pgoutput_message(&type_message(16500, "public", "mood"));
    assert_eq!(type_name(&session), "public.mood");
    let renamed = type_message(16500, "public", "temper");
    session.pgoutput_message(&renamed[..renamed.len() - 3]);
    assert_eq!(type_name(&session), "OID 16500");
    session.pgoutput_message(&type_message(16500, "public", &"x".repeat(100_000)));
    assert_eq!(type_name(&session), "OID 16500");
}

/// A label speaks of the tuple alone, and nothing else is called a change.
#[test]
fn labels_and_changes_keep_to_the_tuple() {
    let session = orders();
    let insert = [change(b'I', None, ORDERS_OID, &[row(b'N', &[text("1")])]), b"n".to_vec(), text("wrong")].concat();
    let record = session.pgoutput_message(&insert);
    assert_eq!(labels(&walk_named(&session, &record, &insert, c::PGREPL_WALK_LABELS))[1], "New row: id=1");
    let old = row(b'O', &[value(b'b', &1i32.to_be_bytes()), b"u".to_vec(), text("\u{202e}x\u{2028}")]);
    let new = row(b'N', &[text("1"), text("2"), text("\u{202e}x\u{2028}")]);
    let spans = walked(&session, &change(b'U', None, ORDERS_OID, &[old, new]));
    assert!(all(&spans, "pgrepl.value.changed").is_empty());
    assert!(labels(&spans).iter().all(|label| !label.contains(['\u{202e}', '\u{2028}'])));
}

/// The caller says how long; nothing else changes.
#[test]
fn labels_are_as_long_as_asked() {
    let session = orders();
    let insert = change(b'I', None, ORDERS_OID, &[row(b'N', &[text("1"), text("2"), text(&"0123456789".repeat(10_000))])]);
    let record = session.pgoutput_message(&insert);
    let limited = |length: Option<u32>| {
        walk_prepared(Some(&session), &record, &insert, insert.len(), 64, 1 << 16, c::PGREPL_WALK_LABELS, |walk| {
            let Some(length) = length else { return };
            assert_eq!(unsafe { c::pgrepl_walk_limit_labels(walk, length) }, c::PGREPL_STATUS_OK);
        })
    };
    let fields = |spans: &[Span]| spans.iter().filter(|span| span.kind != c::PGREPL_KIND_GROUP).map(Span::words).collect::<Vec<_>>();
    let default = limited(None);
    for (length, spans) in [(80, &default), (0, &limited(Some(0))), (10, &limited(Some(10))), (1000, &limited(Some(1000)))] {
        let cut = |length: usize| "0123456789".repeat(100)[..length].to_string() + "…";
        let labels = labels(spans);
        assert!(labels[1].ends_with(&format!("note={}", cut(length / 2))), "{}", labels[1]);
        assert_eq!(labels[4], format!("note text: {}", cut(length)));
        assert_eq!(fields(spans), fields(&default));
    }
    assert_eq!(limited(Some(80)).iter().map(Span::words).collect::<Vec<_>>(), default.iter().map(Span::words).collect::<Vec<_>>());
    // A length beyond all bounds is cut by the room for text.
    let longest = labels(&limited(Some(u32::MAX))).swap_remove(4);
    assert_eq!(longest.len(), (1 << 16) / 8 + "…".len());
}
