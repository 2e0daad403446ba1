//! Data types: what is built in, and how the server writes a type's name.

use std::fmt::{self, Write};

use Form::*;

/// What the session knows about types that are not built in, and about text.
pub trait Context {
    /// Namespace and name that the last Type message of this OID had.
    fn user_type(&self, oid: u32) -> Option<(&[u8], &[u8])>;

    /// Writes text that is in client_encoding.
    fn write_text(&self, bytes: &[u8], out: &mut dyn Write) -> fmt::Result;

    /// Whether all bytes are text in client_encoding.
    fn is_text(&self, bytes: &[u8]) -> bool {
        std::str::from_utf8(bytes).is_ok()
    }
}

/// A context with a list of types (OID, namespace, name) and client_encoding UTF8.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utf8<'t> {
    pub types: &'t [(u32, &'t [u8], &'t [u8])],
}

impl Context for Utf8<'_> {
    fn user_type(&self, oid: u32) -> Option<(&[u8], &[u8])> {
        self.types.iter().find(|(there, ..)| *there == oid).map(|(_, namespace, name)| (*namespace, *name))
    }

    fn write_text(&self, bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
        for chunk in bytes.utf8_chunks() {
            out.write_str(chunk.valid())?;
            for byte in chunk.invalid() {
                write!(out, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Layout of a type's binary form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Bool,
    Bytea,
    Char,
    /// The characters, to the end of the value.
    Text,
    /// A version byte, 1, and text.
    VersionedText,
    Int2,
    Int4,
    Int8,
    Unsigned4,
    Unsigned8,
    Float4,
    Float8,
    Numeric,
    Money,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
    AbsTime,
    RelTime,
    TInterval,
    Uuid,
    Inet,
    Cidr,
    Mac,
    Mac8,
    Bits,
    TsVector,
    TsQuery,
    Point,
    Lseg,
    Path,
    Box,
    Polygon,
    Line,
    Circle,
    Lsn,
    Tid,
    Snapshot,
    /// An array of this type, written without braces.
    Vector(u32),
    /// A range over this type.
    Range(u32),
    /// Several of these ranges.
    Multirange(u32),
    /// A composite value.
    Record,
    Void,
    /// No send function: the value comes as text always.
    NoBinary,
    /// Internal bytes that no text can be made of.
    Opaque,
}

/// How `format_type` writes a type modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Modifier {
    /// As a number in parentheses.
    Plain,
    /// A number of characters plus 4, after this name.
    Characters(&'static str),
    /// A number of bits, after this name.
    Bits(&'static str),
    /// Precision and scale.
    Numeric,
    /// Digits of the seconds, after the first word.
    Seconds,
    /// Fields and digits of the seconds.
    Interval,
}

/// A built-in type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    pub oid: u32,
    /// Name in pg_catalog.
    pub name: &'static str,
    /// Name as SQL writes it: `format_type(oid, -1)`.
    pub sql: &'static str,
    /// OID of the arrays of this type; 0 when there is no fixed one.
    pub array_oid: u32,
    pub form: Form,
    modifier: Modifier,
}

const fn row(oid: u32, name: &'static str, array_oid: u32, form: Form) -> Type {
    Type { oid, name, sql: name, array_oid, form, modifier: Modifier::Plain }
}

impl Type {
    const fn sql(self, sql: &'static str) -> Type {
        Type { sql, ..self }
    }

    const fn modifier(self, modifier: Modifier) -> Type {
        Type { modifier, ..self }
    }
}

/// All built-in types with a fixed OID that a value can have, by OID. Those of OID 71 to 83 have an array since 14 only.
pub static TYPES: &[Type] = &[
    row(16, "bool", 1000, Bool).sql("boolean"),
    row(17, "bytea", 1001, Bytea),
    row(18, "char", 1002, Char).sql("\"char\""),
    row(19, "name", 1003, Text),
    row(20, "int8", 1016, Int8).sql("bigint"),
    row(21, "int2", 1005, Int2).sql("smallint"),
    row(22, "int2vector", 1006, Vector(21)),
    row(23, "int4", 1007, Int4).sql("integer"),
    row(24, "regproc", 1008, Unsigned4),
    row(25, "text", 1009, Text),
    row(26, "oid", 1028, Unsigned4),
    row(27, "tid", 1010, Tid),
    row(28, "xid", 1011, Unsigned4),
    row(29, "cid", 1012, Unsigned4),
    row(30, "oidvector", 1013, Vector(26)),
    row(71, "pg_type", 210, Record),
    row(75, "pg_attribute", 270, Record),
    row(81, "pg_proc", 272, Record),
    row(83, "pg_class", 273, Record),
    row(114, "json", 199, Text),
    row(142, "xml", 143, Text),
    row(194, "pg_node_tree", 0, Text),
    row(600, "point", 1017, Point),
    row(601, "lseg", 1018, Lseg),
    row(602, "path", 1019, Path),
    row(603, "box", 1020, Box),
    row(604, "polygon", 1027, Polygon),
    row(628, "line", 629, Line),
    row(650, "cidr", 651, Cidr),
    row(700, "float4", 1021, Float4).sql("real"),
    row(701, "float8", 1022, Float8).sql("double precision"),
    row(702, "abstime", 1023, AbsTime),
    row(703, "reltime", 1024, RelTime),
    row(704, "tinterval", 1025, TInterval),
    row(705, "unknown", 0, Text),
    row(718, "circle", 719, Circle),
    row(774, "macaddr8", 775, Mac8),
    row(790, "money", 791, Money),
    row(829, "macaddr", 1040, Mac),
    row(869, "inet", 1041, Inet),
    row(1033, "aclitem", 1034, NoBinary),
    row(1042, "bpchar", 1014, Text).modifier(Modifier::Characters("character")),
    row(1043, "varchar", 1015, Text).sql("character varying").modifier(Modifier::Characters("character varying")),
    row(1082, "date", 1182, Date),
    row(1083, "time", 1183, Time).sql("time without time zone").modifier(Modifier::Seconds),
    row(1114, "timestamp", 1115, Timestamp).sql("timestamp without time zone").modifier(Modifier::Seconds),
    row(1184, "timestamptz", 1185, TimestampTz).sql("timestamp with time zone").modifier(Modifier::Seconds),
    row(1186, "interval", 1187, Interval).modifier(Modifier::Interval),
    row(1248, "pg_database", 0, Record),
    row(1266, "timetz", 1270, TimeTz).sql("time with time zone").modifier(Modifier::Seconds),
    row(1560, "bit", 1561, Bits).sql("\"bit\"").modifier(Modifier::Bits("bit")),
    row(1562, "varbit", 1563, Bits).sql("bit varying").modifier(Modifier::Bits("bit varying")),
    row(1700, "numeric", 1231, Numeric).modifier(Modifier::Numeric),
    row(1790, "refcursor", 2201, Text),
    row(2202, "regprocedure", 2207, Unsigned4),
    row(2203, "regoper", 2208, Unsigned4),
    row(2204, "regoperator", 2209, Unsigned4),
    row(2205, "regclass", 2210, Unsigned4),
    row(2206, "regtype", 2211, Unsigned4),
    row(2249, "record", 2287, Record),
    row(2275, "cstring", 1263, Text),
    row(2278, "void", 0, Void),
    row(2842, "pg_authid", 0, Record),
    row(2843, "pg_auth_members", 0, Record),
    row(2950, "uuid", 2951, Uuid),
    row(2970, "txid_snapshot", 2949, Snapshot),
    row(3220, "pg_lsn", 3221, Lsn),
    row(3361, "pg_ndistinct", 0, Opaque),
    row(3402, "pg_dependencies", 0, Opaque),
    row(3614, "tsvector", 3643, TsVector),
    row(3615, "tsquery", 3645, TsQuery),
    row(3642, "gtsvector", 3644, NoBinary),
    row(3734, "regconfig", 3735, Unsigned4),
    row(3769, "regdictionary", 3770, Unsigned4),
    row(3802, "jsonb", 3807, VersionedText),
    row(3904, "int4range", 3905, Range(23)),
    row(3906, "numrange", 3907, Range(1700)),
    row(3908, "tsrange", 3909, Range(1114)),
    row(3910, "tstzrange", 3911, Range(1184)),
    row(3912, "daterange", 3913, Range(1082)),
    row(3926, "int8range", 3927, Range(20)),
    row(4066, "pg_shseclabel", 0, Record),
    row(4072, "jsonpath", 4073, VersionedText),
    row(4089, "regnamespace", 4090, Unsigned4),
    row(4096, "regrole", 4097, Unsigned4),
    row(4191, "regcollation", 4192, Unsigned4),
    row(4451, "int4multirange", 6150, Multirange(3904)),
    row(4532, "nummultirange", 6151, Multirange(3906)),
    row(4533, "tsmultirange", 6152, Multirange(3908)),
    row(4534, "tstzmultirange", 6153, Multirange(3910)),
    row(4535, "datemultirange", 6155, Multirange(3912)),
    row(4536, "int8multirange", 6157, Multirange(3926)),
    row(4600, "pg_brin_bloom_summary", 0, Opaque),
    row(4601, "pg_brin_minmax_multi_summary", 0, Opaque),
    row(5017, "pg_mcv_list", 0, Opaque),
    row(5038, "pg_snapshot", 5039, Snapshot),
    row(5069, "xid8", 271, Unsigned8),
    row(6101, "pg_subscription", 0, Record),
    row(6437, "oid8", 6442, Unsigned8),
    row(6490, "regdatabase", 6491, Unsigned4),
];

/// A built-in type or the array of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    pub element: &'static Type,
    pub array: bool,
}

/// The built-in type with this OID.
pub fn by_oid(oid: u32) -> Option<Builtin> {
    if let Ok(at) = TYPES.binary_search_by_key(&oid, |t| t.oid) {
        return Some(Builtin { element: &TYPES[at], array: false });
    }
    let element = TYPES.iter().find(|t| t.array_oid == oid && oid != 0)?;
    Some(Builtin { element, array: true })
}

/// The built-in type with this name in pg_catalog. A Type message of a domain tells the base type so.
pub fn by_name(name: &[u8]) -> Option<Builtin> {
    let named = |name: &[u8]| TYPES.iter().find(|t| t.name.as_bytes() == name);
    if let Some(element) = named(name) {
        return Some(Builtin { element, array: false });
    }
    let element = named(name.strip_prefix(b"_")?).filter(|t| t.array_oid != 0)?;
    Some(Builtin { element, array: true })
}

/// The name of a user's array type begins with this.
pub(crate) fn names_array(name: &[u8]) -> Option<&[u8]> {
    name.strip_prefix(b"_").filter(|element| !element.is_empty())
}

/// Writes what the server's `format_type(oid, typmod)` says when search_path is empty.
///
/// The wire does not tell everything: a domain is written as its base type with `(domain OID)`, a type that is neither
/// built in nor told by a Type message as `OID 16521`, the modifier of a user's type as a number.
pub fn write_format_type(out: &mut dyn Write, oid: u32, typmod: i32, context: &dyn Context) -> fmt::Result {
    if let Some(builtin) = by_oid(oid) {
        return builtin.write(out, typmod);
    }
    let Some((namespace, name)) = context.user_type(oid) else { return write!(out, "OID {oid}") };
    if namespace.is_empty() {
        // A Type message with a built-in type's name is that of a domain; catalogs have row types of their own.
        if let Some(base) = by_name(name) {
            base.write(out, typmod)?;
            return write!(out, " (domain {oid})");
        }
    } else {
        write_identifier(out, namespace, context)?;
        out.write_char('.')?;
    }
    match names_array(name) {
        Some(element) => {
            write_identifier(out, element, context)?;
            out.write_str("[]")?;
        }
        None => write_identifier(out, name, context)?,
    }
    if typmod >= 0 {
        write!(out, " (type modifier {typmod})")?;
    }
    Ok(())
}

impl Builtin {
    fn write(self, out: &mut dyn Write, typmod: i32) -> fmt::Result {
        let sql = self.element.sql;
        match self.element.modifier {
            _ if typmod < 0 => out.write_str(sql)?,
            Modifier::Plain => write!(out, "{sql}({typmod})")?,
            Modifier::Bits(name) => write!(out, "{name}({typmod})")?,
            Modifier::Characters(name) if typmod > 4 => write!(out, "{name}({})", typmod - 4)?,
            Modifier::Characters(name) => out.write_str(name)?,
            Modifier::Numeric if typmod >= 4 => {
                // 11 bits of scale with sign since 15; before, it was 0 to 1000 and reads the same.
                let (precision, scale) = ((typmod - 4) >> 16, (typmod - 4) & 0x7ff);
                write!(out, "{sql}({},{})", precision & 0xffff, (scale ^ 0x400) - 0x400)?;
            }
            Modifier::Numeric => out.write_str(sql)?,
            Modifier::Seconds => {
                let (first, rest) = sql.split_once(' ').unwrap_or((sql, ""));
                write!(out, "{first}({typmod}) {rest}")?;
            }
            Modifier::Interval => {
                out.write_str(sql)?;
                out.write_str(interval_fields(typmod >> 16))?;
                if typmod & 0xffff != 0xffff {
                    write!(out, "({})", typmod & 0xffff)?;
                }
            }
        }
        out.write_str(if self.array { "[]" } else { "" })
    }
}

/// The fields that the upper half of an interval's modifier names, one bit for each.
fn interval_fields(bits: i32) -> &'static str {
    const MONTH: i32 = 1 << 1;
    const YEAR: i32 = 1 << 2;
    const DAY: i32 = 1 << 3;
    const HOUR: i32 = 1 << 10;
    const MINUTE: i32 = 1 << 11;
    const SECOND: i32 = 1 << 12;
    const TO_MINUTE: i32 = HOUR | MINUTE;
    const TO_SECOND: i32 = HOUR | MINUTE | SECOND;
    const WORDS: &[(i32, &str)] = &[
        (YEAR, " year"),
        (MONTH, " month"),
        (DAY, " day"),
        (HOUR, " hour"),
        (MINUTE, " minute"),
        (SECOND, " second"),
        (YEAR | MONTH, " year to month"),
        (DAY | HOUR, " day to hour"),
        (DAY | TO_MINUTE, " day to minute"),
        (DAY | TO_SECOND, " day to second"),
        (TO_MINUTE, " hour to minute"),
        (TO_SECOND, " hour to second"),
        (MINUTE | SECOND, " minute to second"),
    ];
    WORDS.iter().find(|(fields, _)| *fields == bits).map_or("", |(_, words)| words)
}

/// Writes a name as the server's `quote_identifier` does.
fn write_identifier(out: &mut dyn Write, name: &[u8], context: &dyn Context) -> fmt::Result {
    let first = name.first().is_some_and(|b| b.is_ascii_lowercase() || *b == b'_');
    let plain = first && name.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_');
    if plain && !std::str::from_utf8(name).is_ok_and(|word| KEYWORDS.binary_search(&word).is_ok()) {
        return context.write_text(name, out);
    }
    out.write_char('"')?;
    context.write_text(name, &mut Doubled { out, quote: '"' })?;
    out.write_char('"')
}

/// Writes this character twice.
struct Doubled<'o> {
    out: &'o mut dyn Write,
    quote: char,
}

impl Write for Doubled<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for piece in text.split_inclusive(self.quote) {
            self.out.write_str(piece)?;
            if piece.ends_with(self.quote) {
                self.out.write_char(self.quote)?;
            }
        }
        Ok(())
    }
}

/// Key words that are quoted when they are names: all but the unreserved ones, as of 17 and 18. Older servers have none
/// that is not here; they do not quote json, merge_action and system_user, nor json_* and normalize.
#[rustfmt::skip]
static KEYWORDS: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization", "between",
    "bigint", "binary", "bit", "boolean", "both", "case", "cast", "char", "character", "check", "coalesce",
    "collate", "collation", "column", "concurrently", "constraint", "create", "cross", "current_catalog",
    "current_date", "current_role", "current_schema", "current_time", "current_timestamp", "current_user", "dec",
    "decimal", "default", "deferrable", "desc", "distinct", "do", "else", "end", "except", "exists", "extract",
    "false", "fetch", "float", "for", "foreign", "freeze", "from", "full", "grant", "greatest", "group",
    "grouping", "having", "ilike", "in", "initially", "inner", "inout", "int", "integer", "intersect", "interval",
    "into", "is", "isnull", "join", "json", "json_array", "json_arrayagg", "json_exists", "json_object",
    "json_objectagg", "json_query", "json_scalar", "json_serialize", "json_table", "json_value", "lateral",
    "leading", "least", "left", "like", "limit", "localtime", "localtimestamp", "merge_action", "national",
    "natural", "nchar", "none", "normalize", "not", "notnull", "null", "nullif", "numeric", "offset", "on", "only",
    "or", "order", "out", "outer", "overlaps", "overlay", "placing", "position", "precision", "primary", "real",
    "references", "returning", "right", "row", "select", "session_user", "setof", "similar", "smallint", "some",
    "substring", "symmetric", "system_user", "table", "tablesample", "then", "time", "timestamp", "to", "trailing",
    "treat", "trim", "true", "union", "unique", "user", "using", "values", "varchar", "variadic", "verbose",
    "when", "where", "window", "with", "xmlattributes", "xmlconcat", "xmlelement", "xmlexists", "xmlforest",
    "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable",
];
