//! Values and type names against what real servers say: `tests/values`, written by
//! `tests/recorder/write_value_vectors.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;

use pgrepl::decode::decode;
use pgrepl::types::{by_name, by_oid, write_format_type, Form, Utf8, TYPES};
use serde_json::Value;

/// A line of a value, without hex and text for a type that has no binary form.
struct Vector {
    column: String,
    oid: u32,
    typmod: i32,
    format_type: String,
    value: Option<(Vec<u8>, String)>,
}

/// What one server said.
struct Server {
    version: u32,
    /// OID, namespace and name as in a Type message; the base type of a domain.
    types: Vec<(u32, String, String, Option<String>)>,
    vectors: Vec<Vector>,
}

impl Server {
    fn all() -> Vec<Server> {
        let directory = std::env::var("PGREPL_VALUES").unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/values").into());
        let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| Server::read(path)).collect()
    }

    fn read(path: &Path) -> Server {
        let mut server = Server { version: 0, types: Vec::new(), vectors: Vec::new() };
        for line in fs::read_to_string(path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| line[key].as_str().map(str::to_string);
            if let Some(version) = text("server") {
                server.version = version.split('.').next().unwrap().parse().unwrap();
            } else if let Some(oid) = line["type"].as_u64() {
                server.types.push((oid as u32, text("namespace").unwrap(), text("name").unwrap(), text("domain_over")));
            } else {
                server.vectors.push(Vector {
                    column: text("column").unwrap(),
                    oid: line["oid"].as_u64().unwrap() as u32,
                    typmod: line["typmod"].as_i64().unwrap() as i32,
                    format_type: text("format_type").unwrap(),
                    value: text("hex").map(|hex| (unhex(&hex), text("text").unwrap())),
                });
            }
        }
        server
    }

    /// Gives a context that knows the types of all columns.
    fn with_context<R>(&self, f: impl FnOnce(&Utf8) -> R) -> R {
        let types: Vec<_> = self.types.iter().map(|(oid, namespace, name, _)| (*oid, namespace.as_bytes(), name.as_bytes())).collect();
        f(&Utf8 { types: &types })
    }
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn decoded(oid: u32, bytes: &[u8], context: &Utf8) -> Result<String, String> {
    let mut text = String::new();
    match decode(oid, bytes, context, &mut text) {
        Ok(()) => Ok(text),
        Err(error) => {
            assert!(text.is_empty(), "{error}, but {text:?} was written");
            Err(error.to_string())
        }
    }
}

fn type_name(oid: u32, typmod: i32, context: &Utf8) -> String {
    let mut text = String::new();
    write_format_type(&mut text, oid, typmod, context).unwrap();
    text
}

/// What cannot be as the server writes it, because the wire does not tell enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// lc_monetary decides what a unit is and how it is written.
    Money,
    /// Names of functions, tables, types ... are not sent, only their OID.
    ObjectName,
    /// A range over an unknown type, or several of them: an error, and the caller shows bytes.
    UserRange,
}

fn difference(oid: u32, column: &str) -> Option<Difference> {
    let name = by_oid(oid).map_or("", |builtin| builtin.element.name);
    match column {
        _ if name == "money" => Some(Difference::Money),
        _ if name.starts_with("reg") => Some(Difference::ObjectName),
        column if column.starts_with("v_user_range.") && by_oid(oid).is_none() => Some(Difference::UserRange),
        _ => None,
    }
}

/// Whether our text is the server's, or differs as it must.
fn agrees(differs: Option<Difference>, ours: &Result<String, String>, servers: &str) -> bool {
    match (differs, ours) {
        (None, Ok(ours)) => ours == servers,
        (Some(Difference::Money), Ok(ours)) => is_money(ours, servers),
        (Some(Difference::ObjectName), Ok(ours)) => ours.chars().all(|c| c.is_ascii_digit() || "{,}".contains(c)),
        (Some(Difference::UserRange), Err(error)) => error.starts_with("OID "),
        // An array without elements is told.
        (Some(Difference::UserRange), Ok(ours)) => ours == "{}" && servers == "{}",
        _ => false,
    }
}

#[test]
fn values_are_written_as_the_servers_write_them() {
    let mut differences = BTreeMap::new();
    let mut wrong = Vec::new();
    for server in Server::all() {
        let mut compared = 0;
        server.with_context(|context| {
            for vector in &server.vectors {
                let Some((bytes, text)) = &vector.value else {
                    let error = decoded(vector.oid, b"x", context).unwrap_err();
                    assert!(by_oid(vector.oid).is_some_and(|b| b.element.form == Form::NoBinary), "{}: {error}", vector.column);
                    continue;
                };
                let ours = decoded(vector.oid, bytes, context);
                let differs = difference(vector.oid, &vector.column);
                compared += differs.is_none() as usize;
                if let Some(difference) = differs {
                    *differences.entry((server.version, difference)).or_insert(0) += 1;
                }
                if !agrees(differs, &ours, text) {
                    wrong.push(format!("{} {}: {text:?} is {ours:?}, {differs:?}", server.version, vector.column));
                }
            }
        });
        println!("server {}: {compared} values are the same", server.version);
        assert!(server.version < 14 || compared >= 700, "{compared}");
    }
    println!("{differences:?}");
    assert!(wrong.is_empty(), "{} values:\n{}", wrong.len(), wrong.join("\n"));
}

/// `$1,234.50` and `{$1.50,-$2.00}` with their digits in order.
fn is_money(ours: &str, servers: &str) -> bool {
    let digits = |text: &str| text.chars().filter(|c| c.is_ascii_digit()).collect::<String>();
    let strip = |text: String| text.trim_start_matches('0').to_string();
    ours.contains("lc_monetary units") == (servers != "{}")
        && strip(digits(ours)) == strip(digits(servers))
        && ours.contains('-') == servers.contains('-')
}

#[test]
fn type_names_are_written_as_the_servers_write_them() {
    for server in Server::all() {
        let mut names = BTreeSet::new();
        server.with_context(|context| {
            for vector in &server.vectors {
                let ours = type_name(vector.oid, vector.typmod, context);
                let told = server.types.iter().find(|(oid, ..)| *oid == vector.oid);
                let expected = match told {
                    // The Type message of a domain has the base type's name; one over a user type looks like that type.
                    Some((oid, namespace, _, Some(base))) if namespace.is_empty() => format!("{base} (domain {oid})"),
                    Some((_, _, _, Some(base))) => base.clone(),
                    // A key word since 16; the wire does not tell the version.
                    _ if vector.format_type == "public.system_user" => "public.\"system_user\"".into(),
                    _ => vector.format_type.clone(),
                };
                assert_eq!(ours, expected, "{} {} typmod {}", server.version, vector.column, vector.typmod);
                names.insert(ours);
            }
        });
        println!("server {}: {} type names", server.version, names.len());
    }
}

#[test]
fn every_type_of_the_specification_is_in_the_table() {
    assert!(TYPES.is_sorted_by_key(|t| t.oid));
    for t in TYPES {
        assert_eq!(by_oid(t.oid).map(|b| (b.element.oid, b.array)), Some((t.oid, false)));
        assert_eq!(by_name(t.name.as_bytes()).map(|b| (b.element.oid, b.array)), Some((t.oid, false)));
        if t.array_oid != 0 {
            assert_eq!(by_oid(t.array_oid).map(|b| (b.element.oid, b.array)), Some((t.oid, true)), "{}", t.name);
            assert_eq!(by_name(format!("_{}", t.name).as_bytes()).map(|b| (b.element.oid, b.array)), Some((t.oid, true)));
        }
    }
    assert!(by_oid(0).is_none());
    assert!(by_name(b"_pg_database").is_none());
    // Each type that a server's table has is tested with a value, a few are in no table.
    let tested: BTreeSet<u32> = Server::all().iter().flat_map(|s| &s.vectors).filter_map(|v| Some(by_oid(v.oid)?.element.oid)).collect();
    let untested: Vec<_> = TYPES.iter().filter(|t| !tested.contains(&t.oid)).map(|t| t.name).collect();
    println!("without values: {untested:?}");
    for name in untested {
        let form = by_name(name.as_bytes()).unwrap().element.form;
        let no_table = ["unknown", "cstring", "void", "pg_node_tree", "gtsvector"].contains(&name);
        let since_19 = ["oid8", "regdatabase"].contains(&name);
        assert!(no_table || since_19 || matches!(form, Form::Record | Form::Opaque), "{name}");
    }
}

#[test]
fn what_the_wire_does_not_tell_is_not_guessed() {
    let none = Utf8::default();
    assert_eq!(type_name(16521, -1, &none), "OID 16521");
    assert_eq!(type_name(0, -1, &none), "OID 0");
    let types: &[(u32, &[u8], &[u8])] = &[
        (16521, b"", b"int4"),
        (16522, b"", b"_int4"),
        (16523, b"public", b"_mood"),
        (16524, b"gis", b"geometry"),
        (16525, b"", b"no_such"),
        (16526, b"public", b"_"),
        (12345, b"", b"pg_stat_activity"),
        (16527, b"a\"b", b"\xff"),
    ];
    let context = Utf8 { types };
    for (oid, typmod, name) in [
        (16521, -1, "integer (domain 16521)"),
        (16522, -1, "integer[] (domain 16522)"),
        (16523, -1, "public.mood[]"),
        (16524, 1107460, "gis.geometry (type modifier 1107460)"),
        (16525, -1, "no_such"),
        (16526, -1, "public._"),
        (12345, -1, "pg_stat_activity"),
        (16527, -1, "\"a\"\"b\".\"\\xff\""),
    ] {
        assert_eq!(type_name(oid, typmod, &context), name);
    }
    // A composite value without columns looks like an empty hstore or multirange, a range like nothing at all.
    for bytes in [&[0, 0, 0, 0][..], &[1], &[2, 0, 0, 0, 1, b'a'], b"\n", &[0; 12], b"\xff"] {
        let error = decoded(16524, bytes, &context).unwrap_err();
        assert_eq!(error, "OID 16524: needs text, or exactly an array or a composite value; neither is there");
    }
    assert_eq!(decoded(16524, b"label", &context).unwrap(), "label");
    // A column of a composite value whose OID is that of no type.
    assert!(decoded(16524, &[0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, b'a'], &context).is_err());
    assert_eq!(decoded(9, b"text", &context).unwrap_err(), "OID 9 is no type that is known");
    assert_eq!(decoded(16521, &[0, 0, 0, 5], &context).unwrap(), "5");
    // Elements of a user type's array have an OID of a user type.
    let empty_array = |oid: u32| [&[0; 8][..], &oid.to_be_bytes()].concat();
    assert_eq!(decoded(16523, &empty_array(16530), &context).unwrap(), "{}");
    assert!(decoded(16523, &empty_array(23), &context).is_err());
    // The name says that it is no array.
    assert!(decoded(16524, &empty_array(16530), &context).is_err());
    assert_eq!(decoded(16599, &empty_array(16530), &context).unwrap(), "{}");
}

#[test]
fn errors_say_what_is_needed_and_what_is_there() {
    let none = Utf8::default();
    for (name, bytes, error) in [
        ("int4", &[0, 0, 0][..], "int4 needs 4 bytes, 3 are there"),
        ("bool", &[2], "bool: byte needs 0 or 1, 2 is there"),
        ("numeric", &[0, 3, 0, 0, 0, 0, 0, 0, 0, 1], "numeric: digits needs 6 bytes, 2 are there"),
        ("numeric", &[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10], "numeric: digit needs 0 to 9999, 10000 is there"),
        ("jsonb", &[2, b'{', b'}'], "jsonb: version needs 1, 2 is there"),
        ("tsvector", &[0, 0, 0, 1, b'a', b'b', b'c'], "tsvector: lexeme needs a terminating zero, none in 3 bytes"),
        ("int4range", &[1, 0], "int4range: 1 bytes follow the end of the value"),
        ("_int4", &[0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 23], "int4: dimensions needs 0 to 6, 7 is there"),
        ("_int4", &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25], "int4: element type needs that of the array, 25 is there"),
        ("date", &[0x7f, 0xff, 0xff, 0xfe], "date: date needs a day from 4714-11-24 BC to 5874897-12-31, 2147483646 is there"),
        ("aclitem", b"=r/x", "aclitem has no binary form"),
        ("pg_mcv_list", b"", "pg_mcv_list has internal bytes that are not documented"),
    ] {
        let builtin = by_name(name.as_bytes()).unwrap();
        let oid = if builtin.array { builtin.element.array_oid } else { builtin.element.oid };
        assert_eq!(decoded(oid, bytes, &none).unwrap_err(), error);
    }
}

#[test]
fn cases() {
    let mut number = 0;
    for line in include_str!("cases/cases.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["layer"] != "value" {
            continue;
        }
        number += 1;
        let id = case["id"].as_str().unwrap();
        let name = case["state"]["pg_type"].as_str().unwrap();
        let name = match name.strip_suffix("[]") {
            Some(element) => format!("_{element}"),
            None => name.replace("money_cents", "money"),
        };
        let builtin = by_name(name.as_bytes()).unwrap_or_else(|| panic!("{name}"));
        let oid = if builtin.array { builtin.element.array_oid } else { builtin.element.oid };
        let ours = decoded(oid, &unhex(case["bytes_hex"].as_str().unwrap()), &Utf8::default()).unwrap();
        // Some cases are not written as a server would.
        let value = &case["expect"]["value"];
        let expected = match id {
            "interval-months-max-is-finite" => "178956970 years 7 mons",
            "ts-julian-zero" => "4713-01-01 00:00:00 BC",
            "array-empty" => "{}",
            "array-2d" => "{{1,2},{3,4}}",
            "money-negative" => "-1234 (lc_monetary units)",
            _ => value.as_str().or(value["text"].as_str()).unwrap(),
        };
        assert_eq!(ours, expected, "{id}");
    }
    assert_eq!(number, 16);
}

/// On the wire only columns have Type messages. What is inside other values is told only if a column has its type too.
#[test]
fn types_without_a_type_message_give_their_text_or_an_error() {
    let (mut same, mut errors) = (0, BTreeMap::new());
    for server in Server::all() {
        for vector in &server.vectors {
            let Some((bytes, text)) = &vector.value else { continue };
            if difference(vector.oid, &vector.column).is_some() {
                continue;
            }
            // Only the type of this column is known.
            let told = server.types.iter().filter(|(oid, ..)| *oid == vector.oid);
            let types: Vec<_> = told.map(|(oid, namespace, name, _)| (*oid, namespace.as_bytes(), name.as_bytes())).collect();
            match decoded(vector.oid, bytes, &Utf8 { types: &types }) {
                Ok(ours) => {
                    assert_eq!(&ours, text, "{} {}", server.version, vector.column);
                    same += 1;
                }
                Err(_) => *errors.entry(vector.column.clone()).or_insert(0) += 1,
            }
        }
    }
    println!("{same} values are the same; errors: {errors:?}");
    let with_domains_inside = ["v_domain_array.b", "v_domain_array.c", "v_numbered.v"];
    assert!(errors.keys().eq(with_domains_inside), "{errors:?}");
}

/// A message of pgoutput, protocol version 1, that is still to be read.
struct Message<'m>(&'m [u8]);

impl<'m> Message<'m> {
    fn take(&mut self, length: usize) -> &'m [u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn number(&mut self, length: usize) -> i64 {
        self.take(length).iter().fold(0, |number, byte| number << 8 | *byte as i64)
    }

    fn string(&mut self) -> &'m str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap();
        let string = std::str::from_utf8(self.take(end)).unwrap();
        self.take(1);
        string
    }
}

/// What a recorded capture of the workload `values` has: its values in order, with what the stream told until then.
#[derive(Default)]
struct Stream {
    /// OID and modifier of the columns' types by table and column.
    columns: BTreeMap<String, (u32, i32)>,
    values: Vec<(String, Option<Result<String, String>>)>,
    types: Vec<(u32, Vec<u8>, Vec<u8>)>,
    binary: usize,
}

impl Stream {
    fn with_context<R>(&self, f: impl FnOnce(&Utf8) -> R) -> R {
        let types: Vec<_> = self.types.iter().map(|(oid, namespace, name)| (*oid, &namespace[..], &name[..])).collect();
        f(&Utf8 { types: &types })
    }

    fn read(lines: &[Value]) -> Stream {
        let mut stream = Stream::default();
        let mut relations: BTreeMap<i64, Vec<(String, u32)>> = BTreeMap::new();
        for data in lines.iter().filter_map(|line| line["data_hex"].as_str()) {
            let data = unhex(data);
            let mut message = Message(&data[1..]);
            match data[0] {
                b'Y' => {
                    let oid = message.number(4) as u32;
                    let told = (oid, message.string().into(), message.string().into());
                    if !stream.types.contains(&told) {
                        stream.types.push(told);
                    }
                }
                b'R' => {
                    let relation = message.number(4);
                    let (_, table, _) = (message.string(), message.string(), message.number(1));
                    let columns = (0..message.number(2)).map(|_| {
                        message.number(1);
                        let column = format!("{table}.{}", message.string());
                        let oid = message.number(4) as u32;
                        stream.columns.insert(column.clone(), (oid, message.number(4) as i32));
                        (column, oid)
                    });
                    relations.insert(relation, columns.collect());
                }
                b'I' => {
                    let columns = &relations[&message.number(4)];
                    assert_eq!((message.number(1), message.number(2)), (b'N' as i64, columns.len() as i64));
                    for (column, oid) in columns {
                        let kind = message.number(1) as u8;
                        if kind == b'n' {
                            stream.values.push((column.clone(), None));
                            continue;
                        }
                        let length = message.number(4) as usize;
                        let bytes = message.take(length);
                        let text = match kind {
                            b'b' => stream.with_context(|context| decoded(*oid, bytes, context)),
                            _ => Ok(String::from_utf8(bytes.into()).unwrap()),
                        };
                        stream.binary += (kind == b'b') as usize;
                        stream.values.push((column.clone(), Some(text)));
                    }
                    assert!(message.0.is_empty());
                }
                _ => {}
            }
        }
        stream
    }
}

/// The workload was recorded twice on each server, as text and in binary form, with the same values in the same order.
#[test]
fn binary_captures_say_what_text_captures_say() {
    for version in [15, 18] {
        let [(text_lines, text), (_, binary)] = ["text", "binary"].map(|form| {
            let path = format!("{}/tests/captures/pg{version}_values_{form}.server.jsonl", env!("CARGO_MANIFEST_DIR"));
            let text = fs::read_to_string(path).unwrap();
            let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let stream = Stream::read(&lines);
            (lines, stream)
        });
        assert_eq!((text.binary, text.values.len()), (0, binary.values.len()));
        let mut compared = 0;
        for ((column, servers), (same_column, ours)) in text.values.iter().zip(&binary.values) {
            assert_eq!(column, same_column);
            let (Some(Ok(servers)), Some(ours)) = (servers, ours) else {
                assert_eq!(servers, ours);
                continue;
            };
            let differs = difference(binary.columns[column].0, column);
            assert!(agrees(differs, ours, servers), "{version} {column}: {servers:?} is {ours:?}");
            compared += differs.is_none() as usize;
        }
        println!("server {version}: {compared} values of the captures are the same, {} of them came in binary form", binary.binary);
        assert!(compared >= 700);

        let domains = |name: &str| name.starts_with("information_schema.");
        let mut names = 0;
        for table in text_lines.iter().filter(|line| line["columns"].is_array()) {
            for column in table["columns"].as_array().unwrap() {
                let place = format!("{}.{}", table["name"].as_str().unwrap(), column["name"].as_str().unwrap());
                let Some((oid, typmod)) = text.columns.get(&place) else { panic!("no Relation for {place}") };
                assert_eq!((Some(*oid as u64), Some(*typmod as i64)), (column["type_oid"].as_u64(), column["typmod"].as_i64()));
                let servers = column["format_type"].as_str().unwrap();
                let is_domain = domains(servers) || text_lines.iter().any(|line| line["oid"] == *oid && line["kind"] == "d");
                if !is_domain && servers != "public.system_user" {
                    assert_eq!(text.with_context(|context| type_name(*oid, *typmod, context)), servers, "{place}");
                    names += 1;
                }
            }
        }
        println!("server {version}: {names} type names of the captures are the same");
    }
}

/// Has enough after some bytes.
struct Room(usize);

impl Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

#[test]
fn enough_is_no_error() {
    for server in Server::all() {
        server.with_context(|context| {
            for vector in &server.vectors {
                let Some((bytes, _)) = &vector.value else { continue };
                let whole = decoded(vector.oid, bytes, context);
                for room in [0, 1, 7, 100] {
                    assert_eq!(decode(vector.oid, bytes, context, &mut Room(room)).is_ok(), whole.is_ok(), "{}", vector.column);
                }
            }
        });
    }
}

/// Truncations and mutations give a value or an error, and always the same.
#[test]
fn hostile_bytes_do_no_harm() {
    // `PGREPL_MUTATIONS=100000 cargo test --release --test values hostile` takes some minutes.
    let mutations: u32 = std::env::var("PGREPL_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let (mut ok, mut errors) = (0u64, 0u64);
    for server in Server::all() {
        server.with_context(|context| {
            for vector in &server.vectors {
                let Some((bytes, _)) = &vector.value else { continue };
                let mut try_it = |bytes: &[u8]| match decode(vector.oid, bytes, context, &mut Room(10_000)) {
                    Ok(()) => ok += 1,
                    Err(_) => errors += 1,
                };
                for length in 0..bytes.len() {
                    try_it(&bytes[..length]);
                }
                let mut changed = Vec::new();
                for _ in 0..mutations {
                    changed.clear();
                    changed.extend_from_slice(bytes);
                    for _ in 0..1 + next() % 4 {
                        let at = next() as usize % (changed.len() + 1);
                        match next() % 5 {
                            0 => changed.insert(at, next() as u8),
                            1 if at < changed.len() => drop(changed.remove(at)),
                            2 if at < changed.len() => changed[at] = [0, 1, 0x7f, 0x80, 0xff][next() as usize % 5],
                            3 if at < changed.len() => changed[at] ^= 1 << (next() % 8),
                            _ if at < changed.len() => changed[at] = next() as u8,
                            _ => {}
                        }
                    }
                    try_it(&changed);
                }
            }
        });
    }
    println!("{ok} values, {errors} errors");
    assert!(ok > 1000 && errors > 1000);
}

/// Values inside values as deep as they may be, all of them full of quotes, take no long time.
#[test]
fn deep_values_stay_cheap() {
    let record = |bytes: &[u8], oid: u32| [&[0, 0, 0, 1][..], &oid.to_be_bytes(), &(bytes.len() as u32).to_be_bytes(), bytes].concat();
    let mut bytes = record(&[b'"'; 10_000], 25);
    for depth in 2..=8 {
        bytes = record(&bytes, 2249);
        let mut text = String::new();
        decode(2249, &bytes, &Utf8::default(), &mut text).unwrap();
        assert!(text.len() < 20_000 << depth, "{depth}: {}", text.len());
    }
    let error = decoded(2249, &record(&bytes, 2249), &Utf8::default()).unwrap_err();
    assert_eq!(error, "value: more than 8 values inside each other");
    // Counts that are larger than the value, and a weight that makes long text of few bytes.
    assert!(
        decode(1007, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0x7f, 0xff, 0xff, 0xfe, 0, 0, 0, 1], &Utf8::default(), &mut Room(9)).is_err()
    );
    let huge = [0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1];
    assert_eq!(decoded(1700, &huge, &Utf8::default()).unwrap().len(), 4 * 32767 + 1);
}
