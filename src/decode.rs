//! Values in binary form, written as the server's own text output writes them.
//!
//! The settings of a server decide how it writes a value; here they are DateStyle ISO, IntervalStyle postgres, TimeZone
//! UTC, bytea_output hex and extra_float_digits 1. The wire does not tell everything a server knows:
//!
//! * money: the number of units and `(lc_monetary units)`, because lc_monetary decides what a unit is;
//! * regclass and its like: the OID, there is no name;
//! * a "char" above 127 as an octal escape, as it is since 16;
//! * xml: with the declaration that the send function puts in front when client_encoding is not UTF8;
//! * an interval with all fields at their extreme is an infinity, as it is since 17;
//! * user types: [`Context`] knows names at most, no kinds. Printable text is an enum's label, or what an extension
//!   sends as text; arrays and composite values are told by their layout. Anything else is an [`Error`]: a user's
//!   range, or a value with a domain inside that no Type message told. (Such a domain over integer can only be taken
//!   for text, if all its values have four printable bytes.)

use std::fmt::{self, Write};

use crate::types::{by_name, by_oid, names_array, Builtin, Context, Form, Type};
use crate::value::Lsn;

/// Values inside values, at most.
const DEEPEST: u8 = 8;
/// Dimensions of an array, at most.
const DIMENSIONS: usize = 6;
/// User types have larger OIDs, and so have the row types of most catalogs.
const FIRST_NOT_FIXED: u32 = 10_000;

/// Writes the value of the type with this OID as text.
///
/// Bytes that are not exactly one value of the type give an error and nothing is written. `out` may give an error
/// itself when it has enough; this is not an error of the value.
pub fn decode(oid: u32, bytes: &[u8], context: &dyn Context, out: &mut dyn Write) -> Result<(), Error> {
    let decoder = Decoder { context, pass: Pass::Check, depth: 0 };
    let kind = decoder.kind(oid);
    for (pass, out) in [(Pass::Check, &mut Nothing as &mut dyn Write), (Pass::Write, out)] {
        if let Err(Stop::Error(error)) = (Decoder { pass, ..decoder }).value(kind, bytes, out) {
            return Err(error);
        }
    }
    Ok(())
}

/// Why bytes are not a value: what was expected, what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Name of the type.
    name: &'static str,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The type has one length, and there is another.
    Length {
        need: usize,
        there: usize,
    },
    Short {
        item: &'static str,
        need: usize,
        there: usize,
    },
    Left(usize),
    Wrong {
        item: &'static str,
        need: &'static str,
        there: i64,
    },
    Unterminated {
        item: &'static str,
        there: usize,
    },
    TooDeep,
    NoBinary,
    Opaque,
    UserType(u32),
    /// An OID that no user type can have, and no type that is known has.
    UnknownType(u32),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match self.fault {
            Fault::Length { need, there } => write!(f, "{name} needs {need} bytes, {there} are there"),
            Fault::Short { item, need, there } => write!(f, "{name}: {item} needs {need} bytes, {there} are there"),
            Fault::Left(left) => write!(f, "{name}: {left} bytes follow the end of the value"),
            Fault::Wrong { item, need, there } => write!(f, "{name}: {item} needs {need}, {there} is there"),
            Fault::Unterminated { item, there } => write!(f, "{name}: {item} needs a terminating zero, none in {there} bytes"),
            Fault::TooDeep => write!(f, "{name}: more than {DEEPEST} values inside each other"),
            Fault::NoBinary => write!(f, "{name} has no binary form"),
            Fault::Opaque => write!(f, "{name} has internal bytes that are not documented"),
            Fault::UnknownType(oid) => write!(f, "OID {oid} is no type that is known"),
            Fault::UserType(oid) => write!(f, "OID {oid}: needs text, or exactly an array or a composite value; neither is there"),
        }
    }
}

impl std::error::Error for Error {}

/// Why decoding ends early.
enum Stop {
    Error(Error),
    /// `out` has enough, or has found out what it wanted to.
    Enough,
}

impl From<fmt::Error> for Stop {
    fn from(_: fmt::Error) -> Stop {
        Stop::Enough
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

type Done = Result<(), Stop>;

/// What a value is decoded for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// To know whether it is exact.
    Check,
    /// To know whether it needs quotes inside another one: digits that cannot matter may be left out.
    Scan,
    Write,
}

/// What is known about the type of a value.
#[derive(Clone, Copy)]
enum Kind<'c> {
    Builtin(Builtin),
    /// A type without a fixed OID, and its name if a Type message told it.
    User(u32, Option<&'c [u8]>),
}

/// Quotes around values inside values.
#[derive(Clone, Copy)]
struct Quoting {
    /// What needs quotes, apart from white space, quotes and backslashes.
    special: &'static [u8],
    /// The word NULL needs them.
    null: bool,
    escape: Escape,
}

/// Quotes and backslashes inside quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    Doubled,
    Backslash,
}

const IN_ARRAY: Quoting = Quoting { special: b"{},", null: true, escape: Escape::Backslash };
/// The only type with another delimiter than the comma is box.
const IN_BOX_ARRAY: Quoting = Quoting { special: b"{};", ..IN_ARRAY };
const IN_RECORD: Quoting = Quoting { special: b"(),", null: false, escape: Escape::Doubled };
const IN_RANGE: Quoting = Quoting { special: b"()[],", null: false, escape: Escape::Doubled };

#[derive(Clone, Copy)]
struct Decoder<'c> {
    context: &'c dyn Context,
    pass: Pass,
    depth: u8,
}

impl<'c> Decoder<'c> {
    fn kind(self, oid: u32) -> Kind<'c> {
        if let Some(builtin) = by_oid(oid) {
            return Kind::Builtin(builtin);
        }
        match self.context.user_type(oid) {
            // A domain: its Type message has the name of the base type.
            Some((b"", name)) => by_name(name).map_or(Kind::User(oid, Some(name)), Kind::Builtin),
            Some((_, name)) => Kind::User(oid, Some(name)),
            None => Kind::User(oid, None),
        }
    }

    fn value(self, kind: Kind, bytes: &[u8], out: &mut dyn Write) -> Done {
        match kind {
            Kind::Builtin(Builtin { element, array: true }) => self.array(element.name, Some(element), bytes, out),
            Kind::Builtin(Builtin { element, array: false }) => self.builtin(element, bytes, out),
            Kind::User(oid, name) => match self.user(oid, name, bytes, out) {
                Err(Stop::Error(_)) if oid >= FIRST_NOT_FIXED => Err(Error { name: "", fault: Fault::UserType(oid) }.into()),
                done => done,
            },
        }
    }

    /// Text, array and composite value cannot be mistaken for each other: the latter two begin with a small number,
    /// then an array has 0 or 1, a composite value an OID, and both must come out even.
    ///
    /// A composite value without columns would be four zero bytes, which many other types have too.
    fn user(self, oid: u32, name: Option<&[u8]>, bytes: &[u8], out: &mut dyn Write) -> Done {
        if oid < FIRST_NOT_FIXED {
            return Err(Error { name: "", fault: Fault::UnknownType(oid) }.into());
        }
        if !bytes.iter().any(u8::is_ascii_control) && self.context.is_text(bytes) {
            return self.text(bytes, out);
        }
        let mut head = Reader { name: "", bytes };
        let (count, second) = (head.i32("")?, head.u32("")?);
        if second <= 1 && name.is_none_or(|name| names_array(name).is_some()) {
            return self.array("", None, bytes, out);
        }
        if count == 0 {
            return Err(Error { name: "", fault: Fault::UserType(oid) }.into());
        }
        self.record("", bytes, out)
    }

    fn builtin(self, ty: &'static Type, bytes: &[u8], out: &mut dyn Write) -> Done {
        let mut reader = Reader { name: ty.name, bytes };
        let r = &mut reader;
        match ty.form {
            Form::Bool => match r.all::<1>()? {
                [0] => out.write_char('f')?,
                [1] => out.write_char('t')?,
                [other] => return Err(r.wrong("byte", "0 or 1", other as i64)),
            },
            Form::Bytea => {
                out.write_str("\\x")?;
                self.hex(bytes, out)?;
            }
            Form::Char => match r.all::<1>()? {
                [0] => {}
                [byte @ ..=0x7f] => out.write_char(byte as char)?,
                [byte] => write!(out, "\\{byte:03o}")?,
            },
            Form::Text => self.text(bytes, out)?,
            Form::VersionedText => {
                r.one("version")?;
                self.text(r.bytes, out)?;
            }
            Form::Int2 => write!(out, "{}", i16::from_be_bytes(r.all()?))?,
            Form::Int4 => write!(out, "{}", i32::from_be_bytes(r.all()?))?,
            Form::Int8 => write!(out, "{}", i64::from_be_bytes(r.all()?))?,
            Form::Unsigned4 => write!(out, "{}", u32::from_be_bytes(r.all()?))?,
            Form::Unsigned8 => write!(out, "{}", u64::from_be_bytes(r.all()?))?,
            Form::Float4 => self.float(f32::from_be_bytes(r.all()?), out)?,
            Form::Float8 => self.float(f64::from_be_bytes(r.all()?), out)?,
            Form::Numeric => self.numeric(r, out)?,
            Form::Money => write!(out, "{} (lc_monetary units)", i64::from_be_bytes(r.all()?))?,
            Form::Date => self.date(r, out)?,
            Form::Time => time(r.micros_of_day()?, out)?,
            Form::TimeTz => self.time_tz(r, out)?,
            Form::Timestamp => timestamp(r, "", out)?,
            Form::TimestampTz => timestamp(r, "+00", out)?,
            Form::Interval => self.interval(r, out)?,
            Form::AbsTime => abs_time(i32::from_be_bytes(r.all()?), out)?,
            Form::RelTime => {
                let seconds = i32::from_be_bytes(r.all()?) as i64;
                // A year has 365.25 days here, a month 30.
                let (years, rest) = (seconds / 31_557_600, seconds % 31_557_600);
                let (months, rest) = (rest / 2_592_000, rest % 2_592_000);
                interval(years * 12 + months, rest / 86_400, rest % 86_400 * 1_000_000, out)?;
            }
            Form::TInterval => self.t_interval(r, out)?,
            Form::Uuid => {
                let all = r.all::<16>()?;
                for (i, byte) in all.iter().enumerate() {
                    let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
                    write!(out, "{dash}{byte:02x}")?;
                }
            }
            Form::Inet => self.inet(r, false, out)?,
            Form::Cidr => self.inet(r, true, out)?,
            Form::Mac => mac(&r.all::<6>()?, out)?,
            Form::Mac8 => mac(&r.all::<8>()?, out)?,
            Form::Bits => self.bits(r, out)?,
            Form::TsVector => self.ts_vector(r, out)?,
            Form::TsQuery => self.ts_query(r, out)?,
            Form::Point => {
                r.length(16)?;
                self.points(r, 1, ["", ""], out)?;
            }
            Form::Lseg => {
                r.length(32)?;
                self.points(r, 2, ["[", "]"], out)?;
            }
            Form::Box => {
                r.length(32)?;
                self.points(r, 2, ["", ""], out)?;
            }
            Form::Path => {
                let ends = match r.u8("closed")? {
                    0 => ["[", "]"],
                    1 => ["(", ")"],
                    other => return Err(r.wrong("closed", "0 or 1", other as i64)),
                };
                let count = r.count("points", 16)?;
                self.points(r, count, ends, out)?;
            }
            Form::Polygon => {
                let count = r.count("points", 16)?;
                self.points(r, count, ["(", ")"], out)?;
            }
            Form::Line => {
                r.length(24)?;
                for before in ["{", ",", ","] {
                    out.write_str(before)?;
                    self.float(r.f64("number")?, out)?;
                }
                out.write_char('}')?;
            }
            Form::Circle => {
                r.length(24)?;
                self.points(&mut Reader { name: ty.name, bytes: &bytes[..16] }, 1, ["<", ","], out)?;
                r.take(16, "centre")?;
                self.float(r.f64("radius")?, out)?;
                out.write_char('>')?;
            }
            Form::Lsn => write!(out, "{}", Lsn(u64::from_be_bytes(r.all()?)))?,
            Form::Tid => {
                r.length(6)?;
                write!(out, "({},{})", r.u32("block")?, r.u16("offset")?)?;
            }
            Form::Snapshot => self.snapshot(r, out)?,
            Form::Vector(element) => self.vector(r, element, out)?,
            Form::Range(element) => self.range(r, element, out)?,
            Form::Multirange(range) => self.multirange(r, range, out)?,
            Form::Record => self.record(ty.name, bytes, out)?,
            Form::Void => r.length(0)?,
            Form::NoBinary => return Err(Error { name: ty.name, fault: Fault::NoBinary }.into()),
            Form::Opaque => return Err(Error { name: ty.name, fault: Fault::Opaque }.into()),
        }
        Ok(())
    }

    fn text(self, bytes: &[u8], out: &mut dyn Write) -> Done {
        if self.pass != Pass::Check {
            self.context.write_text(bytes, out)?;
        }
        Ok(())
    }

    fn hex(self, bytes: &[u8], out: &mut dyn Write) -> Done {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        if self.pass != Pass::Write {
            return Ok(());
        }
        for chunk in bytes.chunks(32) {
            let mut digits = Small::<64>::default();
            for byte in chunk {
                digits.push(DIGITS[(byte >> 4) as usize]);
                digits.push(DIGITS[(byte & 15) as usize]);
            }
            out.write_str(digits.as_str())?;
        }
        Ok(())
    }

    fn float<F: Float>(self, value: F, out: &mut dyn Write) -> Done {
        match self.pass {
            Pass::Write => write_float(value, out)?,
            _ => out.write_char('0')?,
        }
        Ok(())
    }

    fn numeric(self, r: &mut Reader, out: &mut dyn Write) -> Done {
        let count = r.u16("digit count")? as usize;
        let weight = r.u16("weight")? as i16 as i32;
        let sign = r.u16("sign")?;
        let scale = r.u16("display scale")? as usize;
        let digits = r.take(2 * count, "digits")?;
        r.end()?;
        let word = match sign {
            0 => "",
            0x4000 => "-",
            0xC000 => "NaN",
            0xD000 => "Infinity",
            0xF000 => "-Infinity",
            _ => return Err(r.wrong("sign", "0, 16384, 49152, 53248 or 61440", sign as i64)),
        };
        // Digits that are not there are 0, on both sides.
        let digit = |at: i32| match usize::try_from(at).ok().and_then(|at| digits.chunks_exact(2).nth(at)) {
            Some(two) => u16::from_be_bytes([two[0], two[1]]),
            None => 0,
        };
        if let Some(bad) = (0..count as i32).map(digit).find(|d| *d > 9999) {
            return Err(r.wrong("digit", "0 to 9999", bad as i64));
        }
        if scale > 0x3fff {
            return Err(r.wrong("display scale", "0 to 16383", scale as i64));
        }
        if sign >= 0xC000 && count > 0 {
            return Err(r.wrong("digit count", "0 without a number", count as i64));
        }
        if self.pass != Pass::Write {
            // A weight makes many digits of few bytes; none of them needs quotes.
            return Ok(out.write_char('0')?);
        }
        out.write_str(word)?;
        if sign >= 0xC000 {
            return Ok(());
        }
        match weight {
            ..0 => out.write_char('0')?,
            _ => write!(out, "{}", digit(0))?,
        }
        for at in 1..=weight {
            write!(out, "{:04}", digit(at))?;
        }
        if scale > 0 {
            out.write_char('.')?;
        }
        for group in 0..scale.div_ceil(4) {
            let mut four = Small::<4>::default();
            write!(four, "{:04}", digit(weight + 1 + group as i32))?;
            out.write_str(&four.as_str()[..4.min(scale - 4 * group)])?;
        }
        Ok(())
    }

    fn date(self, r: &mut Reader, out: &mut dyn Write) -> Done {
        match i32::from_be_bytes(r.all()?) {
            i32::MIN => out.write_str("-infinity")?,
            i32::MAX => out.write_str("infinity")?,
            days if !(FIRST_DAY..END_DAY).contains(&(days as i64)) => {
                return Err(r.wrong("date", "a day from 4714-11-24 BC to 5874897-12-31", days as i64));
            }
            days => {
                let before = day(days as i64, out)?;
                out.write_str(before)?;
            }
        }
        Ok(())
    }

    fn time_tz(self, r: &mut Reader, out: &mut dyn Write) -> Done {
        r.length(12)?;
        let clock = Reader { name: r.name, bytes: r.take(8, "time")? }.micros_of_day()?;
        let west = r.u32("zone")? as i32;
        if west <= -16 * 3600 || west >= 16 * 3600 {
            return Err(r.wrong("zone", "less than 16 hours", west as i64));
        }
        time(clock, out)?;
        let (sign, zone) = (if west <= 0 { '+' } else { '-' }, west.abs());
        write!(out, "{sign}{:02}", zone / 3600)?;
        if zone % 3600 != 0 {
            write!(out, ":{:02}", zone / 60 % 60)?;
        }
        if zone % 60 != 0 {
            write!(out, ":{:02}", zone % 60)?;
        }
        Ok(())
    }

    fn interval(self, r: &mut Reader, out: &mut dyn Write) -> Done {
        r.length(16)?;
        let micros = r.i64("time")?;
        let (days, months) = (r.i32("days")?, r.i32("months")?);
        match (micros, days, months) {
            (i64::MAX, i32::MAX, i32::MAX) => out.write_str("infinity")?,
            (i64::MIN, i32::MIN, i32::MIN) => out.write_str("-infinity")?,
            _ => interval(months as i64, days as i64, micros, out)?,
        }
        Ok(())
    }

    fn t_interval(self, r: &mut Reader, out: &mut dyn Write) -> Done {
        r.length(12)?;
        let (status, from, to) = (r.i32("status")?, r.i32("start")?, r.i32("end")?);
        match status {
            0 => out.write_str("[\"Undefined Range\"]")?,
            1 => {
                out.write_str("[\"")?;
                abs_time(from, out)?;
                out.write_str("\" \"")?;
                abs_time(to, out)?;
                out.write_str("\"]")?;
            }
            _ => return Err(r.wrong("status", "0 or 1", status as i64)),
        }
        Ok(())
    }

    fn inet(self, r: &mut Reader, always_bits: bool, out: &mut dyn Write) -> Done {
        let family = r.u8("family")?;
        let bits = r.u8("bits")?;
        let cidr = r.u8("is_cidr")?;
        let length = r.u8("length")?;
        let (need, most) = match family {
            2 => (4, 32),
            3 => (16, 128),
            _ => return Err(r.wrong("family", "2 or 3", family as i64)),
        };
        if bits > most {
            return Err(r.wrong("bits", if most == 32 { "0 to 32" } else { "0 to 128" }, bits as i64));
        }
        if cidr > 1 {
            return Err(r.wrong("is_cidr", "0 or 1", cidr as i64));
        }
        if length != need {
            return Err(r.wrong("length", if need == 4 { "4" } else { "16" }, length as i64));
        }
        let address = r.take(length as usize, "address")?;
        r.end()?;
        match <[u8; 16]>::try_from(address) {
            Ok(address) => ipv6(address, out)?,
            Err(_) => ipv4(address, out)?,
        }
        // A bare address is written without them; a network never is.
        if bits < most || always_bits {
            write!(out, "/{bits}")?;
        }
        Ok(())
    }

    fn bits(self, r: &mut Reader, out: &mut dyn Write) -> Done {
        let count = r.i32("bit count")?;
        if count < 0 {
            return Err(r.wrong("bit count", "0 or more", count as i64));
        }
        let count = count as usize;
        let bytes = r.take(count.div_ceil(8), "bits")?;
        r.end()?;
        if self.pass != Pass::Write {
            return Ok(out.write_str(if count > 0 { "0" } else { "" })?);
        }
        for (i, byte) in bytes.iter().enumerate() {
            let mut digits = Small::<8>::default();
            write!(digits, "{byte:08b}")?;
            out.write_str(&digits.as_str()[..8.min(count - 8 * i)])?;
        }
        Ok(())
    }

    /// Points in parentheses with commas between.
    fn points(self, r: &mut Reader, count: usize, [open, close]: [&str; 2], out: &mut dyn Write) -> Done {
        out.write_str(open)?;
        for i in 0..count {
            out.write_str(if i == 0 { "(" } else { ",(" })?;
            self.float(r.f64("x")?, out)?;
            out.write_char(',')?;
            self.float(r.f64("y")?, out)?;
            out.write_char(')')?;
        }
        r.end()?;
        Ok(out.write_str(close)?)
    }

    fn snapshot(self, r: &mut Reader, out: &mut dyn Write) -> Done {
        let count = r.u32("count")? as usize;
        write!(out, "{}:{}:", r.i64("xmin")?, r.i64("xmax")?)?;
        for i in 0..r.fits(count, "xids", 8)? {
            write!(out, "{}{}", if i == 0 { "" } else { "," }, r.i64("xid")?)?;
        }
        r.end()
    }

    fn ts_vector(self, r: &mut Reader, out: &mut dyn Write) -> Done {
        for i in 0..r.count("lexemes", 3)? {
            out.write_str(if i == 0 { "'" } else { " '" })?;
            self.lexeme(r, out)?;
            out.write_char('\'')?;
            let positions = r.u16("position count")?;
            for j in 0..positions {
                let position = r.u16("position")?;
                let weight = ["", "C", "B", "A"][(position >> 14) as usize];
                write!(out, "{}{}{weight}", if j == 0 { ':' } else { ',' }, position & 0x3fff)?;
            }
        }
        r.end()
    }

    fn lexeme(self, r: &mut Reader, out: &mut dyn Write) -> Done {
        let lexeme = r.string("lexeme")?;
        self.text(lexeme, &mut Escaped { out, quote: '\'', escape: Escape::Doubled })
    }

    /// Items in prefix order, the right operand before the left. They are written the other way round, with
    /// parentheses where a weaker operator is inside a stronger one, or a phrase is to the right of `<->`.
    fn ts_query(self, r: &mut Reader, out: &mut dyn Write) -> Done {
        #[derive(Clone, Copy)]
        enum Do {
            Item { at: usize, parent: u8, right_of_phrase: bool },
            Operator(usize),
            Close,
        }
        struct Item<'b> {
            bytes: &'b [u8],
            /// 0 for a lexeme.
            operator: u8,
            /// The number of items from here to the end of the last operand.
            size: usize,
        }
        const NOT: u8 = 1;
        const PHRASE: u8 = 4;
        /// By operator: none, NOT, AND, OR, PHRASE.
        const STRENGTH: [u8; 5] = [0, 4, 2, 1, 3];

        let mut items = Vec::new();
        for _ in 0..r.count("items", 2)? {
            let bytes = r.bytes;
            let operator = match r.u8("item type")? {
                1 => {
                    let weights = r.u8("weights")?;
                    if weights > 15 {
                        return Err(r.wrong("weights", "0 to 15", weights as i64));
                    }
                    let prefix = r.u8("prefix")?;
                    if prefix > 1 {
                        return Err(r.wrong("prefix", "0 or 1", prefix as i64));
                    }
                    r.string("lexeme")?;
                    0
                }
                2 => {
                    let operator = r.u8("operator")?;
                    if !(NOT..=PHRASE).contains(&operator) {
                        return Err(r.wrong("operator", "1 to 4", operator as i64));
                    }
                    if operator == PHRASE {
                        r.u16("distance")?;
                    }
                    operator
                }
                other => return Err(r.wrong("item type", "1 or 2", other as i64)),
            };
            items.push(Item { bytes, operator, size: 1 });
        }
        r.end()?;
        for at in (0..items.len()).rev() {
            let mut end = at + 1;
            for _ in 0..[0, 1, 2, 2, 2][items[at].operator as usize] {
                let Some(operand) = items.get(end) else { return Err(r.wrong("items", "an operand", items.len() as i64)) };
                end += operand.size;
            }
            items[at].size = end - at;
        }
        let Some(root) = items.first() else { return Ok(()) };
        if root.size != items.len() {
            return Err(r.wrong("items", "one expression", items.len() as i64));
        }
        if self.pass == Pass::Check {
            return Ok(());
        }
        let mut todo = vec![Do::Item { at: 0, parent: 0, right_of_phrase: false }];
        while let Some(next) = todo.pop() {
            let (at, parent, right_of_phrase) = match next {
                Do::Item { at, parent, right_of_phrase } => (at, parent, right_of_phrase),
                Do::Close => {
                    out.write_str(" )")?;
                    continue;
                }
                Do::Operator(at) => {
                    match (items[at].operator, &items[at].bytes[2..]) {
                        (2, _) => out.write_str(" & ")?,
                        (3, _) => out.write_str(" | ")?,
                        (_, [0, 1, ..]) => out.write_str(" <-> ")?,
                        (_, rest) => write!(out, " <{}> ", i16::from_be_bytes([rest[0], rest[1]]))?,
                    }
                    continue;
                }
            };
            let item = &items[at];
            if item.operator == 0 {
                let (weights, prefix) = (item.bytes[1], item.bytes[2]);
                out.write_char('\'')?;
                self.lexeme(&mut Reader { name: r.name, bytes: &item.bytes[3..] }, out)?;
                out.write_char('\'')?;
                out.write_str(if weights != 0 || prefix != 0 { ":" } else { "" })?;
                out.write_str(if prefix != 0 { "*" } else { "" })?;
                for (bit, letter) in [(8, 'A'), (4, 'B'), (2, 'C'), (1, 'D')] {
                    if weights & bit != 0 {
                        out.write_char(letter)?;
                    }
                }
                continue;
            }
            let strength = STRENGTH[item.operator as usize];
            if strength < parent || (item.operator == PHRASE && right_of_phrase) {
                out.write_str("( ")?;
                todo.push(Do::Close);
            }
            let right = at + 1;
            if item.operator == NOT {
                out.write_char('!')?;
                todo.push(Do::Item { at: right, parent: strength, right_of_phrase: false });
            } else {
                let left = right + items[right].size;
                todo.push(Do::Item { at: right, parent: strength, right_of_phrase: item.operator == PHRASE });
                todo.push(Do::Operator(at));
                todo.push(Do::Item { at: left, parent: strength, right_of_phrase: false });
            }
        }
        Ok(())
    }

    // Values with values inside

    /// One value inside another. The server puts quotes around it when its text has something special in it.
    fn element(self, kind: Kind, bytes: &[u8], quoting: Quoting, out: &mut dyn Write) -> Done {
        let inner = self.deeper()?;
        match self.pass {
            Pass::Check => inner.value(kind, bytes, out),
            Pass::Scan => {
                // What needs quotes inside needs them outside: they are special themselves.
                let mut special = Special { out, quoting, seen: 0, null: 0 };
                inner.value(kind, bytes, &mut special)?;
                special.end()
            }
            Pass::Write => {
                let mut special = Special { out: &mut Nothing, quoting, seen: 0, null: 0 };
                let scanned = Decoder { pass: Pass::Scan, ..inner }.value(kind, bytes, &mut special);
                match scanned.and_then(|()| special.end()) {
                    Ok(()) => inner.value(kind, bytes, out),
                    Err(Stop::Enough) => {
                        out.write_char('"')?;
                        inner.value(kind, bytes, &mut Escaped { out, quote: '"', escape: quoting.escape })?;
                        Ok(out.write_char('"')?)
                    }
                    error => error,
                }
            }
        }
    }

    fn deeper(self) -> Result<Self, Error> {
        if self.depth == DEEPEST {
            return Err(Error { name: "value", fault: Fault::TooDeep });
        }
        Ok(Decoder { depth: self.depth + 1, ..self })
    }

    /// An array of a built-in type, or of a user type that only the value tells.
    fn array(self, name: &'static str, element: Option<&'static Type>, bytes: &[u8], out: &mut dyn Write) -> Done {
        let r = &mut Reader { name, bytes };
        let rank = r.u32("dimensions")? as usize;
        if rank > DIMENSIONS {
            return Err(r.wrong("dimensions", "0 to 6", rank as i64));
        }
        let nulls = r.u32("has-nulls flag")?;
        if nulls > 1 {
            return Err(r.wrong("has-nulls flag", "0 or 1", nulls as i64));
        }
        let oid = r.u32("element type")?;
        match element {
            Some(element) if element.oid != oid => return Err(r.wrong("element type", "that of the array", oid as i64)),
            None if oid < FIRST_NOT_FIXED => return Err(r.wrong("element type", "a user type", oid as i64)),
            _ => {}
        }
        let mut sizes = [0u32; DIMENSIONS];
        let mut total = (rank > 0) as u64;
        let mut bounds = Small::<{ DIMENSIONS * 26 + 1 }>::default();
        let mut usual = true;
        for size in &mut sizes[..rank] {
            *size = r.u32("size")?;
            let lower = r.u32("lower bound")? as i32 as i64;
            let upper = lower + *size as i64 - 1;
            if *size > i32::MAX as u32 || upper > i32::MAX as i64 {
                return Err(r.wrong("size", "a last index below 2147483648", *size as i64));
            }
            usual &= lower == 1;
            write!(bounds, "[{lower}:{upper}]")?;
            total = total.saturating_mul(*size as u64);
        }
        let total = r.fits(usize::try_from(total).unwrap_or(usize::MAX), "elements", 4)?;
        if total == 0 {
            out.write_str("{}")?;
            return r.end();
        }
        if !usual {
            write!(out, "{}=", bounds.as_str())?;
        }
        let kind = self.kind(oid);
        let (quoting, delimiter) = match element {
            Some(Type { form: Form::Box, .. }) => (IN_BOX_ARRAY, ';'),
            _ => (IN_ARRAY, ','),
        };
        let mut index = [0u32; DIMENSIONS];
        let mut open = rank;
        for _ in 0..total {
            for _ in 0..open {
                out.write_char('{')?;
            }
            self.sized(r, kind, quoting, "NULL", out)?;
            open = 0;
            for at in (0..rank).rev() {
                index[at] += 1;
                if index[at] < sizes[at] {
                    break;
                }
                index[at] = 0;
                open += 1;
                out.write_char('}')?;
            }
            if open < rank {
                out.write_char(delimiter)?;
            }
        }
        r.end()
    }

    /// Length, or -1 for NULL, and value.
    fn sized(self, r: &mut Reader, kind: Kind, quoting: Quoting, null: &str, out: &mut dyn Write) -> Done {
        match r.i32("value length")? {
            -1 => Ok(out.write_str(null)?),
            length @ ..-1 => Err(r.wrong("value length", "-1 or more", length as i64)),
            length => self.element(kind, r.take(length as usize, "value")?, quoting, out),
        }
    }

    fn record(self, name: &'static str, bytes: &[u8], out: &mut dyn Write) -> Done {
        let r = &mut Reader { name, bytes };
        out.write_char('(')?;
        for i in 0..r.count("columns", 8)? {
            out.write_str(if i == 0 { "" } else { "," })?;
            let kind = self.kind(r.u32("column type")?);
            self.sized(r, kind, IN_RECORD, "", out)?;
        }
        out.write_char(')')?;
        r.end()
    }

    fn vector(self, r: &mut Reader, element: u32, out: &mut dyn Write) -> Done {
        let head = [r.u32("dimensions")?, r.u32("has-nulls flag")?, r.u32("element type")?];
        if head != [1, 0, element] {
            return Err(r.wrong("array", "one dimension of the type's numbers", head[0] as i64));
        }
        let count = r.count("size", 0)?;
        let lower = r.u32("lower bound")?;
        if lower != 0 {
            return Err(r.wrong("lower bound", "0", lower as i64));
        }
        for i in 0..r.fits(count, "numbers", 4)? {
            out.write_str(if i == 0 { "" } else { " " })?;
            let length = r.count("value length", 1)?;
            let bytes = r.take(length, "value")?;
            if let Some(builtin) = by_oid(element) {
                self.builtin(builtin.element, bytes, out)?;
            }
        }
        r.end()
    }

    fn range(self, r: &mut Reader, element: u32, out: &mut dyn Write) -> Done {
        const EMPTY: u8 = 1;
        const LOWER_INCLUSIVE: u8 = 2;
        const UPPER_INCLUSIVE: u8 = 4;
        const LOWER_INFINITE: u8 = 8;
        const UPPER_INFINITE: u8 = 16;
        let flags = r.u8("flags")?;
        if flags > 31 {
            return Err(r.wrong("flags", "0 to 31", flags as i64));
        }
        if flags & EMPTY != 0 {
            out.write_str("empty")?;
            return r.end();
        }
        let kind = self.kind(element);
        out.write_char(if flags & LOWER_INCLUSIVE != 0 { '[' } else { '(' })?;
        if flags & LOWER_INFINITE == 0 {
            let length = r.count("lower bound's length", 1)?;
            self.element(kind, r.take(length, "lower bound")?, IN_RANGE, out)?;
        }
        out.write_char(',')?;
        if flags & UPPER_INFINITE == 0 {
            let length = r.count("upper bound's length", 1)?;
            self.element(kind, r.take(length, "upper bound")?, IN_RANGE, out)?;
        }
        out.write_char(if flags & UPPER_INCLUSIVE != 0 { ']' } else { ')' })?;
        r.end()
    }

    fn multirange(self, r: &mut Reader, range: u32, out: &mut dyn Write) -> Done {
        let kind = self.kind(range);
        let inner = self.deeper()?;
        out.write_char('{')?;
        for i in 0..r.count("ranges", 4)? {
            out.write_str(if i == 0 { "" } else { "," })?;
            let length = r.count("range length", 1)?;
            inner.value(kind, r.take(length, "range")?, out)?;
        }
        out.write_char('}')?;
        r.end()
    }
}

// Reading

/// The bytes of a value that are still to be read.
struct Reader<'b> {
    /// Name of the type, for errors.
    name: &'static str,
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    fn wrong(&self, item: &'static str, need: &'static str, there: i64) -> Stop {
        Stop::Error(Error { name: self.name, fault: Fault::Wrong { item, need, there } })
    }

    /// The value has exactly this length.
    fn length(&self, need: usize) -> Done {
        match self.bytes.len() {
            there if there == need => Ok(()),
            there => Err(Error { name: self.name, fault: Fault::Length { need, there } }.into()),
        }
    }

    /// All of the value.
    fn all<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        self.length(N)?;
        self.bytes(self.name)
    }

    fn end(&self) -> Done {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err(Error { name: self.name, fault: Fault::Left(left) }.into()),
        }
    }

    fn take(&mut self, need: usize, item: &'static str) -> Result<&'b [u8], Stop> {
        let Some((taken, rest)) = self.bytes.split_at_checked(need) else {
            return Err(Error { name: self.name, fault: Fault::Short { item, need, there: self.bytes.len() } }.into());
        };
        self.bytes = rest;
        Ok(taken)
    }

    fn bytes<const N: usize>(&mut self, item: &'static str) -> Result<[u8; N], Stop> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N, item)?);
        Ok(bytes)
    }

    fn u8(&mut self, item: &'static str) -> Result<u8, Stop> {
        Ok(u8::from_be_bytes(self.bytes(item)?))
    }

    fn u16(&mut self, item: &'static str) -> Result<u16, Stop> {
        Ok(u16::from_be_bytes(self.bytes(item)?))
    }

    fn u32(&mut self, item: &'static str) -> Result<u32, Stop> {
        Ok(u32::from_be_bytes(self.bytes(item)?))
    }

    fn i32(&mut self, item: &'static str) -> Result<i32, Stop> {
        Ok(i32::from_be_bytes(self.bytes(item)?))
    }

    fn i64(&mut self, item: &'static str) -> Result<i64, Stop> {
        Ok(i64::from_be_bytes(self.bytes(item)?))
    }

    fn f64(&mut self, item: &'static str) -> Result<f64, Stop> {
        Ok(f64::from_be_bytes(self.bytes(item)?))
    }

    fn one(&mut self, item: &'static str) -> Done {
        match self.u8(item)? {
            1 => Ok(()),
            other => Err(self.wrong(item, "1", other as i64)),
        }
    }

    /// An Int32 count of things that have at least `each` bytes; not more than there can be.
    fn count(&mut self, item: &'static str, each: usize) -> Result<usize, Stop> {
        let count = self.i32(item)?;
        if count < 0 {
            return Err(self.wrong(item, "0 or more", count as i64));
        }
        self.fits(count as usize, item, each)
    }

    fn fits(&self, count: usize, item: &'static str, each: usize) -> Result<usize, Stop> {
        let (need, there) = (count.saturating_mul(each), self.bytes.len());
        if need > there {
            return Err(Error { name: self.name, fault: Fault::Short { item, need, there } }.into());
        }
        Ok(count)
    }

    /// The bytes to the next zero, without it.
    fn string(&mut self, item: &'static str) -> Result<&'b [u8], Stop> {
        let there = self.bytes.len();
        let Some(end) = memchr::memchr(0, self.bytes) else {
            return Err(Error { name: self.name, fault: Fault::Unterminated { item, there } }.into());
        };
        let (string, rest) = self.bytes.split_at(end);
        self.bytes = &rest[1..];
        Ok(string)
    }

    /// All of the value: microseconds since midnight.
    fn micros_of_day(&mut self) -> Result<i64, Stop> {
        match i64::from_be_bytes(self.all()?) {
            micros @ 0..=DAY => Ok(micros),
            other => Err(self.wrong("time", "0 to 86400000000", other)),
        }
    }
}

// Dates and times

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;
/// The first day that the server can store, and the first that it cannot any more, from 2000-01-01.
const FIRST_DAY: i64 = -2_451_545;
const END_DAY: i64 = 2_145_031_949;
/// The first timestamp that the server cannot store.
const END_TIMESTAMP: i64 = 9_223_371_331_200_000_000;

/// Writes a day counted from 2000-01-01 and gives what comes at the very end: ` BC` or nothing.
fn day(days: i64, out: &mut dyn Write) -> Result<&'static str, fmt::Error> {
    // Counted from 0000-03-01, in eras of 400 years with 146097 days.
    let days = days + 730_425;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + (month <= 2) as i64;
    let (shown, after) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    write!(out, "{shown:04}-{month:02}-{day:02}")?;
    Ok(after)
}

/// Writes microseconds since midnight.
fn time(micros: i64, out: &mut dyn Write) -> fmt::Result {
    let seconds = micros / 1_000_000;
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    fraction(micros % 1_000_000, out)
}

/// Writes microseconds without the zeros at their end.
fn fraction(micros: i64, out: &mut dyn Write) -> fmt::Result {
    let micros = micros.abs();
    if micros == 0 {
        return Ok(());
    }
    let mut digits = Small::<7>::default();
    write!(digits, ".{micros:06}")?;
    out.write_str(digits.as_str().trim_end_matches('0'))
}

fn timestamp(r: &mut Reader, zone: &str, out: &mut dyn Write) -> Done {
    match i64::from_be_bytes(r.all()?) {
        i64::MIN => out.write_str("-infinity")?,
        i64::MAX => out.write_str("infinity")?,
        micros if !(FIRST_DAY * DAY..END_TIMESTAMP).contains(&micros) => {
            return Err(r.wrong("timestamp", "a time from 4714-11-24 BC to 294276-12-31", micros));
        }
        micros => {
            let after = day(micros.div_euclid(DAY), out)?;
            out.write_char(' ')?;
            time(micros.rem_euclid(DAY), out)?;
            out.write_str(zone)?;
            out.write_str(after)?;
        }
    }
    Ok(())
}

/// Writes an abstime of servers before 12: seconds since 1970-01-01 UTC, some of them words.
fn abs_time(seconds: i32, out: &mut dyn Write) -> fmt::Result {
    match seconds {
        0x7fff_fffe => out.write_str("invalid"),
        0x7fff_fffc => out.write_str("infinity"),
        i32::MIN => out.write_str("-infinity"),
        _ => {
            let since_2000 = seconds as i64 - crate::value::EPOCH_SECONDS;
            let after = day(since_2000.div_euclid(86_400), out)?;
            out.write_char(' ')?;
            time(since_2000.rem_euclid(86_400) * 1_000_000, out)?;
            out.write_str("+00")?;
            out.write_str(after)
        }
    }
}

/// Writes an interval; after a negative part a positive one has a sign.
fn interval(months: i64, days: i64, micros: i64, out: &mut dyn Write) -> fmt::Result {
    let (mut first, mut before) = (true, false);
    for (number, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if number != 0 {
            let space = if first { "" } else { " " };
            let plus = if before && number > 0 { "+" } else { "" };
            let plural = if number == 1 { "" } else { "s" };
            write!(out, "{space}{plus}{number} {unit}{plural}")?;
            (first, before) = (false, number < 0);
        }
    }
    if first || micros != 0 {
        let space = if first { "" } else { " " };
        let sign = match micros {
            ..0 => "-",
            _ if before => "+",
            _ => "",
        };
        let seconds = (micros / 1_000_000).abs();
        write!(out, "{space}{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        fraction(micros % 1_000_000, out)?;
    }
    Ok(())
}

// Addresses

fn mac(bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
    for (i, byte) in bytes.iter().enumerate() {
        write!(out, "{}{byte:02x}", if i == 0 { "" } else { ":" })?;
    }
    Ok(())
}

fn ipv4(bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
    for (i, byte) in bytes.iter().enumerate() {
        write!(out, "{}{byte}", if i == 0 { "" } else { "." })?;
    }
    Ok(())
}

/// The first of the longest runs of zero words becomes `::`; addresses that hold one of IPv4 end with it.
fn ipv6(bytes: [u8; 16], out: &mut dyn Write) -> fmt::Result {
    let word = |at: usize| u16::from_be_bytes([bytes[2 * at], bytes[2 * at + 1]]);
    let (mut base, mut run) = (9, 1);
    for at in 0..8 {
        let zeros = (at..8).take_while(|at| word(*at) == 0).count();
        if zeros > run {
            (base, run) = (at, zeros);
        }
    }
    let holds_ipv4 = base == 0 && (run == 6 || (run == 5 && word(5) == 0xffff));
    for at in 0..8 {
        if (base..base + run).contains(&at) {
            out.write_str(if at == base { ":" } else { "" })?;
            continue;
        }
        out.write_str(if at == 0 { "" } else { ":" })?;
        if at == 6 && holds_ipv4 {
            return ipv4(&bytes[12..], out);
        }
        write!(out, "{:x}", word(at))?;
    }
    out.write_str(if base + run == 8 { ":" } else { "" })
}

// Floating point numbers

trait Float: Copy + PartialEq + fmt::Display + fmt::LowerExp + std::str::FromStr {
    /// Decimal digits that tell any two values apart.
    const DIGITS: usize;
    /// From this power of ten on the server writes an exponent.
    const EXPONENT_FROM: i32;

    /// Mantissa and power of two; whether the next smaller value is nearer than the next larger one.
    fn parts(self) -> (u64, i32, bool);
    fn is_number(self) -> bool;
    fn is_zero(self) -> bool;
    fn is_negative(self) -> bool;
}

impl Float for f64 {
    const DIGITS: usize = 17;
    const EXPONENT_FROM: i32 = 15;

    fn parts(self) -> (u64, i32, bool) {
        let (fraction, exponent) = (self.to_bits() & ((1 << 52) - 1), (self.to_bits() >> 52 & 0x7ff) as i32);
        match exponent {
            0 => (fraction, -1074, false),
            _ => (fraction | 1 << 52, exponent - 1075, fraction == 0 && exponent > 1),
        }
    }

    fn is_number(self) -> bool {
        self.is_finite()
    }

    fn is_zero(self) -> bool {
        self == 0.0
    }

    fn is_negative(self) -> bool {
        self.is_sign_negative()
    }
}

impl Float for f32 {
    const DIGITS: usize = 9;
    const EXPONENT_FROM: i32 = 6;

    fn parts(self) -> (u64, i32, bool) {
        let (fraction, exponent) = ((self.to_bits() & ((1 << 23) - 1)) as u64, (self.to_bits() >> 23 & 0xff) as i32);
        match exponent {
            0 => (fraction, -149, false),
            _ => (fraction | 1 << 23, exponent - 150, fraction == 0 && exponent > 1),
        }
    }

    fn is_number(self) -> bool {
        self.is_finite()
    }

    fn is_zero(self) -> bool {
        self == 0.0
    }

    fn is_negative(self) -> bool {
        self.is_sign_negative()
    }
}

fn write_float<F: Float>(value: F, out: &mut dyn Write) -> fmt::Result {
    if !value.is_number() {
        let mut word = Small::<4>::default();
        write!(word, "{value}")?;
        return out.write_str(match word.as_str() {
            "inf" => "Infinity",
            "-inf" => "-Infinity",
            _ => "NaN",
        });
    }
    out.write_str(if value.is_negative() { "-" } else { "" })?;
    if value.is_zero() {
        return out.write_char('0');
    }
    let (digits, exponent) = shortest(value);
    let mut text = Small::<20>::default();
    write!(text, "{digits}")?;
    let text = text.as_str();
    // The power of ten of the first digit.
    let first = exponent + text.len() as i32 - 1;
    if !(-4..F::EXPONENT_FROM).contains(&first) {
        let (lead, rest) = text.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if first < 0 { '-' } else { '+' };
        return write!(out, "{lead}{point}{rest}e{sign}{:02}", first.abs());
    }
    if exponent >= 0 {
        out.write_str(text)?;
        return (0..exponent).try_for_each(|_| out.write_char('0'));
    }
    if first < 0 {
        out.write_str("0.")?;
        (first..-1).try_for_each(|_| out.write_char('0'))?;
        return out.write_str(text);
    }
    let (whole, part) = text.split_at(first as usize + 1);
    write!(out, "{whole}.{part}")
}

/// The fewest decimal digits, and their power of ten, that are nearer to `value` than to its neighbours.
///
/// Rust's own shortest digits may be exactly in the middle between two neighbours, where reading rounds to the right
/// one; PostgreSQL does not rely on that and takes others. And of two equally near it takes the even one.
fn shortest<F: Float>(value: F) -> (u64, i32) {
    let own = scientific(value, None);
    for digits in own.0.ilog10() as usize + 1..=F::DIGITS {
        let (near, exponent) = scientific(value, Some(digits));
        // The nearest number of so many digits may be below, where the neighbour is nearer; then the next above counts.
        for candidate in [near, near + 1, near - 1] {
            if reads_as(candidate, exponent, value) && !is_middle(candidate, exponent, value) {
                return (candidate, exponent);
            }
        }
    }
    own
}

/// The digits of `value`, as few as possible or rounded to so many, and their power of ten.
fn scientific<F: Float>(value: F, digits: Option<usize>) -> (u64, i32) {
    let mut text = Small::<32>::default();
    let _ = match digits {
        Some(digits) => write!(text, "{value:.*e}", digits - 1),
        None => write!(text, "{value:e}"),
    };
    let (mantissa, exponent) = text.as_str().split_once('e').unwrap_or(("0", "0"));
    let (mut number, mut after_point, mut point) = (0, 0, false);
    for byte in mantissa.bytes() {
        match byte {
            b'.' => point = true,
            b'0'..=b'9' => {
                number = number * 10 + (byte - b'0') as u64;
                after_point += point as i32;
            }
            _ => {}
        }
    }
    (number, exponent.parse().unwrap_or(0) - after_point)
}

fn reads_as<F: Float>(digits: u64, exponent: i32, value: F) -> bool {
    let mut text = Small::<32>::default();
    let sign = if value.is_negative() { "-" } else { "" };
    let _ = write!(text, "{sign}{digits}e{exponent}");
    text.as_str().parse().is_ok_and(|read: F| read == value)
}

/// Whether these digits are exactly in the middle between `value` and one of its neighbours.
fn is_middle<F: Float>(digits: u64, exponent: i32, value: F) -> bool {
    let (mantissa, power, near_below) = value.parts();
    let below = if near_below { (4 * mantissa - 1, power - 2) } else { (2 * mantissa - 1, power - 1) };
    // As an odd number times a power of two; it has none if powers of five are left.
    let five = 5u128.checked_pow(exponent.unsigned_abs());
    let number = match five {
        Some(five) if exponent >= 0 => (digits as u128).checked_mul(five),
        Some(five) if digits as u128 % five == 0 => Some(digits as u128 / five),
        _ => None,
    };
    let Some(number) = number.filter(|number| *number > 0) else { return false };
    let twos = number.trailing_zeros();
    let (odd, power_of_two) = (number >> twos, exponent + twos as i32);
    [(2 * mantissa + 1, power - 1), below].iter().any(|(m, p)| *m as u128 == odd && *p == power_of_two)
}

// Writers

/// Takes everything.
struct Nothing;

impl Write for Nothing {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

/// A short text; what does not fit is an error.
struct Small<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Default for Small<N> {
    fn default() -> Self {
        Small { bytes: [0; N], length: 0 }
    }
}

impl<const N: usize> Small<N> {
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or("")
    }
}

impl<const N: usize> Write for Small<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let place = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

/// Passes a value inside another one on, and has enough as soon as it needs quotes.
struct Special<'o> {
    out: &'o mut dyn Write,
    quoting: Quoting,
    seen: usize,
    /// Letters that fit the word NULL.
    null: usize,
}

impl Special<'_> {
    fn end(&self) -> Done {
        let null = self.quoting.null && self.seen == 4 && self.null == 4;
        if self.seen == 0 || null {
            return Err(Stop::Enough);
        }
        Ok(())
    }
}

impl Write for Special<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let needs_quotes = |b: u8| matches!(b, b'"' | b'\\' | b' ' | b'\t'..=b'\r') || self.quoting.special.contains(&b);
        if text.bytes().any(needs_quotes) {
            return Err(fmt::Error);
        }
        for (letter, wanted) in text.bytes().zip(b"NULL".iter().skip(self.seen)) {
            self.null += letter.eq_ignore_ascii_case(wanted) as usize;
        }
        self.seen += text.len();
        self.out.write_str(text)
    }
}

/// Writes what is inside quotes.
struct Escaped<'o> {
    out: &'o mut dyn Write,
    quote: char,
    escape: Escape,
}

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut from = 0;
        for (at, found) in text.match_indices([self.quote, '\\']) {
            self.out.write_str(&text[from..at])?;
            self.out.write_str(if self.escape == Escape::Doubled { found } else { "\\" })?;
            from = at;
        }
        self.out.write_str(&text[from..])
    }
}
