//! The tables in `src/formats.rs` against the specification in `tests/spec`.

use std::collections::HashSet;

use pgrepl::fields::{Field, FIELDS};
use pgrepl::formats::{Item, Layer, Message, Presence, MESSAGES};
use serde_json::Value;

fn specification() -> Vec<Value> {
    let text = include_str!("spec/messages.json");
    let all: Value = serde_json::from_str(text).expect("JSON");
    all["messages"].as_array().expect("messages").clone()
}

fn layer(name: &str) -> Layer {
    match name {
        "walsender-backend" => Layer::WalsenderBackend,
        "walsender-frontend" => Layer::WalsenderFrontend,
        "basebackup" => Layer::BaseBackup,
        "pgoutput" => Layer::Pgoutput,
        "pgoutput-part" => Layer::Part,
        other => panic!("layer {other}"),
    }
}

fn table(name: &str, layer: Layer) -> &'static Message {
    MESSAGES.iter().find(|m| m.name == name && m.layer == layer).unwrap_or_else(|| panic!("no table for {name}"))
}

/// The items of a table; TupleData stands in one list in the manual.
fn items(message: &'static Message) -> Vec<&'static Item> {
    let mut items: Vec<_> = message.items.iter().collect();
    if message.name == "TupleData" {
        items.extend(message.part.expect("columns").items);
    }
    items
}

fn filter(field: Field) -> &'static str {
    field.info().name.trim_end_matches('\0')
}

#[test]
fn every_message_has_its_table() {
    let spec = specification();
    assert_eq!(spec.len() + 1, MESSAGES.len(), "the columns of TupleData have a table of their own");
    let pgoutput = MESSAGES.iter().filter(|m| m.layer == Layer::Pgoutput).count();
    assert_eq!(pgoutput, 19);
    for message in &spec {
        let name = message["name"].as_str().unwrap();
        let table = table(name, layer(message["layer"].as_str().unwrap()));
        assert_eq!(message["tag"].as_str().unwrap_or("\0").as_bytes(), [table.tag], "{name}");
        assert_eq!(message["protocol_version_since"].as_u64().unwrap_or(0), table.since_protocol as u64, "{name}");
        assert_eq!(message["pg_version_since"].as_u64(), Some(table.since_server as u64), "{name}");
        if let Some(length) = message["min_length"].as_u64() {
            assert_eq!(length as usize, table.min_length(), "{name}");
        }
        let fields = message["fields"].as_array().unwrap();
        assert_eq!(fields.len(), items(table).len(), "{name}");
        for (field, item) in fields.iter().zip(items(table)) {
            let at = format!("{name}.{}", item.name);
            assert_eq!(field["name"], item.name, "{at}");
            assert_eq!(field["format"], item.format.notation(), "{at}");
            assert_eq!(field["presence"] == "always", matches!(item.presence, Presence::Always | Presence::Repeated), "{at}");
            let streamed = field["presence"].as_str().unwrap().starts_with("only inside a streamed transaction");
            assert_eq!(streamed, item.presence == Presence::Streamed, "{at}");
        }
    }
}

#[test]
fn filter_names_are_the_settled_ones() {
    let mut seen = HashSet::new();
    for line in include_str!("spec/fields.tsv").lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [name_of_layer, message, tag, position, format, name, wireshark_type] = cells[..7] else { panic!("{line}") };
        let table = table(message, layer(name_of_layer));
        let items = items(table);
        let item = items[position.parse::<usize>().unwrap() - 1];
        let at = format!("{message}.{}", item.name);
        assert_eq!(tag.as_bytes().first().copied().unwrap_or(0), table.tag);
        assert_eq!(format, item.format.notation(), "{at}");
        match name {
            "(TupleData)" => assert_eq!(item.field, Field::TupleGroup, "{at}"),
            "pgrepl.value.text ('t') / pgrepl.value.binary ('b')" => {
                assert_eq!(item.field, Field::ValueText, "{at}");
                seen.extend(["pgrepl.value.text", "pgrepl.value.binary"]);
            }
            name => {
                assert_eq!(name, filter(item.field), "{at}");
                seen.insert(name);
            }
        }
        use pgrepl::fields::Kind::*;
        let info = item.field.info();
        let kind = match wireshark_type {
            "FT_CHAR" => Some((Char, 1)),
            "FT_STRING X/X, hidden FT_UINT64 twin .pos" => Some((Lsn, 8)),
            "FT_ABSOLUTE_TIME (UTC)" => Some((Time, 8)),
            "FT_BOOLEAN (1 byte)" => Some((Bool, 1)),
            "FT_UINT8" => Some((Uint, 1)),
            "FT_UINT16" => Some((Uint, 2)),
            "FT_UINT32" => Some((Uint, 4)),
            "FT_UINT64" => Some((Uint, 8)),
            "FT_INT32" => Some((Int, 4)),
            "FT_STRINGZ (UTF-8)" => Some((String, 0)),
            "FT_STRING (UTF-8) / FT_BYTES" => Some((Text, 0)),
            "FT_BYTES" => Some((Bytes, 0)),
            "-" => None,
            other => panic!("{other}"),
        };
        if let Some(kind) = kind {
            assert_eq!(kind, (info.kind, info.width), "{at}");
        }
    }
    // What is on the list and not in the specification has no place in a well-formed message, is of a command, is a bit, or
    // divides what the manual calls WAL.
    for field in FIELDS {
        let name = field.name.trim_end_matches('\0');
        let is_within = ["pgrepl.command", "pgrepl.start.", "pgrepl.expert.", "pgrepl.wal."].iter().any(|of| name.starts_with(of));
        let extra = name.is_empty() || field.mask != 0 || field.generated || is_within;
        assert_eq!(seen.contains(name), !extra && !["pgrepl.undecoded", "pgrepl.trailing"].contains(&name), "{name}");
    }
}

#[test]
fn tags_are_unique_within_a_layer() {
    let mut seen = HashSet::new();
    for message in MESSAGES.iter().filter(|m| m.tag != 0) {
        assert!(seen.insert((message.layer as u8, message.tag)), "{}", message.name);
        assert!(std::ptr::eq(pgrepl::formats::find(message.layer, message.tag).unwrap(), *message));
    }
    assert!(pgrepl::formats::find(Layer::Pgoutput, 0xff).is_none());
}
