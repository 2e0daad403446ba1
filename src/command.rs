//! The replication commands (manual: "Streaming Replication Protocol"): what they decide, and their parts.

use std::fmt::Write;
use std::ops::Range;

use crate::fields::Field;
use crate::value::Lsn;

/// A replication command, as far as it says what follows on the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    StartReplication(StartReplication),
    CreateReplicationSlot {
        slot: Vec<u8>,
        plugin: Option<Vec<u8>>,
    },
    DropReplicationSlot {
        slot: Vec<u8>,
    },
    BaseBackup,
    /// Anything else, SQL included.
    Other,
}

/// `START_REPLICATION [SLOT slot] [PHYSICAL] X/X [TIMELINE n]` or
/// `START_REPLICATION SLOT slot LOGICAL X/X [( option ['value'] [, ...] )]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartReplication {
    pub slot: Option<Vec<u8>>,
    pub logical: bool,
    /// Options of the output plugin, in order; names without quotes are folded to lower case.
    pub options: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl StartReplication {
    pub fn has_option(&self, name: &str) -> bool {
        self.options.iter().any(|(option, _)| option == name.as_bytes())
    }

    /// Only pgoutput knows these options.
    pub fn is_for_pgoutput(&self) -> bool {
        self.logical && (self.has_option("proto_version") || self.has_option("publication_names"))
    }
}

/// Options and bytes of one command that are remembered at most; the rest is passed over.
pub(crate) const MAX_OPTIONS: usize = 64;
pub(crate) const MAX_COMMAND: usize = 64 * 1024;

impl Command {
    /// Reads the text of a Query message, without its terminating zero.
    pub fn parse(text: &[u8]) -> Command {
        let mut words = Words { left: &text[..text.len().min(MAX_COMMAND)] };
        match words.next() {
            Some(Word::Plain(b"START_REPLICATION")) => start_replication(&mut words).map_or(Command::Other, Command::StartReplication),
            Some(Word::Plain(b"CREATE_REPLICATION_SLOT")) => create_slot(&mut words).unwrap_or(Command::Other),
            Some(Word::Plain(b"DROP_REPLICATION_SLOT")) => {
                words.next().and_then(Word::name).map_or(Command::Other, |slot| Command::DropReplicationSlot { slot })
            }
            Some(Word::Plain(b"BASE_BACKUP")) => Command::BaseBackup,
            _ => Command::Other,
        }
    }
}

/// All replication commands that are no SQL; keywords are upper case.
const COMMANDS: &[&[u8]] = &[
    b"IDENTIFY_SYSTEM",
    b"TIMELINE_HISTORY",
    b"READ_REPLICATION_SLOT",
    b"CREATE_REPLICATION_SLOT",
    b"ALTER_REPLICATION_SLOT",
    b"DROP_REPLICATION_SLOT",
    b"START_REPLICATION",
    b"BASE_BACKUP",
    b"UPLOAD_MANIFEST",
];

/// The text of a Query message without its terminating zero.
pub fn without_zero(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr(0, text).unwrap_or(text.len())]
}

/// Whether the text of a Query message is a replication command.
pub fn is_command(text: &[u8]) -> bool {
    matches!(Words { left: without_zero(text) }.next(), Some(Word::Plain(word)) if COMMANDS.contains(&word))
}

/// What a part of a command says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'t> {
    /// The text as it stands there.
    Text(&'t [u8]),
    /// A name or string in quotes.
    Quoted(Word<'t>),
    Words(&'static str),
    Number(u64),
    /// An option and its value, as `name=value`.
    Option(Word<'t>, Option<Word<'t>>),
}

impl Value<'_> {
    /// Writes it with the help of `write`, which knows the encoding.
    pub fn write<W: Write>(&self, out: &mut W, write: impl Fn(&[u8], &mut W) -> std::fmt::Result) -> std::fmt::Result {
        match self {
            Value::Text(text) => write(text, out),
            Value::Quoted(word) => write(word.bytes(), out),
            Value::Words(words) => out.write_str(words),
            Value::Number(number) => write!(out, "{number}"),
            Value::Option(name, value) => {
                write(name.bytes(), out)?;
                let Some(value) = value else { return Ok(()) };
                out.write_char('=')?;
                write(value.bytes(), out)
            }
        }
    }
}

/// A part of a command and where it stands in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'t> {
    pub field: Field,
    pub range: Range<usize>,
    pub value: Value<'t>,
}

/// What comes next in a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expect {
    #[default]
    Keyword,
    Slot,
    Timeline,
    Plugin,
    Words,
    Options,
}

/// Where a reader of the parts is; plain memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    at: usize,
    expect: Expect,
    is_start: bool,
    is_logical: bool,
}

impl Reader {
    /// The next part of the command. None: there is no more, or no more that can be read.
    pub fn next<'t>(&mut self, text: &'t [u8]) -> Option<Part<'t>> {
        loop {
            let (word, range) = self.word(text)?;
            let part = |field: Field, value: Value<'t>| Some(Part { field, range: range.clone(), value });
            let of = |word: Word<'t>| match word {
                Word::Plain(text) => Value::Text(text),
                word => Value::Quoted(word),
            };
            match (self.expect, word) {
                (Expect::Keyword, Word::Plain(keyword)) if COMMANDS.contains(&keyword) => {
                    self.is_start = keyword == b"START_REPLICATION";
                    self.expect = match keyword {
                        b"TIMELINE_HISTORY" => Expect::Timeline,
                        b"START_REPLICATION" | b"BASE_BACKUP" => Expect::Words,
                        _ => Expect::Slot,
                    };
                    return part(Field::Command, Value::Text(keyword));
                }
                (Expect::Keyword, _) => return None,
                (Expect::Slot, word @ (Word::Plain(_) | Word::Quoted(_))) => {
                    self.expect = Expect::Words;
                    return part(if self.is_start { Field::StartSlot } else { Field::CommandSlot }, of(word));
                }
                (Expect::Plugin, word @ (Word::Plain(_) | Word::Quoted(_))) => {
                    self.expect = Expect::Words;
                    return part(Field::CommandPlugin, of(word));
                }
                (Expect::Timeline, Word::Plain(digits)) => {
                    self.expect = Expect::Words;
                    let number = std::str::from_utf8(digits).ok()?.parse::<u32>().ok()?;
                    return part(if self.is_start { Field::StartTimeline } else { Field::CommandTimeline }, Value::Number(number.into()));
                }
                (_, Word::Sign(b'(')) => self.expect = Expect::Options,
                (_, Word::Sign(_)) => {}
                (Expect::Words, Word::Plain(b"SLOT")) if self.is_start => self.expect = Expect::Slot,
                (Expect::Words, Word::Plain(b"TIMELINE")) if self.is_start => self.expect = Expect::Timeline,
                (Expect::Words, Word::Plain(mode @ (b"PHYSICAL" | b"LOGICAL"))) => {
                    self.is_logical = mode == b"LOGICAL";
                    if self.is_logical && !self.is_start {
                        self.expect = Expect::Plugin;
                    }
                    let words = Value::Words(if self.is_logical { "logical" } else { "physical" });
                    return part(if self.is_start { Field::StartMode } else { Field::CommandMode }, words);
                }
                (Expect::Words, Word::Plain(position)) if self.is_start => {
                    let lsn = std::str::from_utf8(position).ok().and_then(Lsn::parse)?;
                    return part(Field::StartLsn, Value::Number(lsn.0));
                }
                (Expect::Words | Expect::Options, name) => return Some(self.option(text, name, range)),
                _ => return None,
            }
        }
    }

    fn word<'t>(&mut self, text: &'t [u8]) -> Option<(Word<'t>, Range<usize>)> {
        let left = text.get(self.at..)?;
        let start = self.at + left.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let mut words = Words { left };
        let word = words.next()?;
        self.at = text.len() - words.left.len();
        Some((word, start..self.at))
    }

    /// An option, with its value where it has one.
    fn option<'t>(&mut self, text: &'t [u8], name: Word<'t>, range: Range<usize>) -> Part<'t> {
        let mut look = *self;
        let value = match look.word(text) {
            // In the old form without parentheses only a string can be a value.
            Some((word @ Word::String(_), _)) => Some(word),
            Some((word @ (Word::Plain(_) | Word::Quoted(_)), _)) if self.expect == Expect::Options => Some(word),
            _ => None,
        };
        let mut range = range;
        if value.is_some() {
            *self = look;
            range.end = look.at;
        }
        let known = START_OPTIONS.iter().find(|(option, _)| self.is_start && name.bytes().eq_ignore_ascii_case(option));
        let Some((_, field)) = known else {
            let field = if self.is_start { Field::StartOption } else { Field::CommandOption };
            return Part { field, range, value: Value::Option(name, value) };
        };
        let number = value.as_ref().and_then(|word| std::str::from_utf8(word.bytes()).ok()?.parse::<u32>().ok());
        match (*field, number, value) {
            (Field::StartProtoVersion, Some(number), _) => Part { field: *field, range, value: Value::Number(number.into()) },
            (Field::StartProtoVersion, None, value) => Part { field: Field::StartOption, range, value: Value::Option(name, value) },
            // Without a value an option is on.
            (field, _, None) => Part { field, range, value: Value::Words("true") },
            (field, _, Some(value)) => Part { field, range, value: Value::Quoted(value) },
        }
    }
}

/// The options of pgoutput.
const START_OPTIONS: &[(&[u8], Field)] = &[
    (b"proto_version", Field::StartProtoVersion),
    (b"publication_names", Field::StartPublicationNames),
    (b"binary", Field::StartBinary),
    (b"messages", Field::StartMessages),
    (b"streaming", Field::StartStreaming),
    (b"two_phase", Field::StartTwoPhase),
    (b"origin", Field::StartOrigin),
];

fn start_replication(words: &mut Words) -> Option<StartReplication> {
    let mut start = StartReplication::default();
    let mut word = words.next()?;
    if word == Word::Plain(b"SLOT") {
        start.slot = Some(words.next()?.name()?);
        word = words.next()?;
    }
    match word {
        Word::Plain(b"PHYSICAL") => word = words.next()?,
        Word::Plain(b"LOGICAL") => {
            start.logical = true;
            word = words.next()?;
        }
        _ => {}
    }
    // The position stands here in every form.
    if !matches!(word, Word::Plain(position) if position.contains(&b'/')) {
        return None;
    }
    if start.logical && words.next() == Some(Word::Sign(b'(')) {
        while let Some(name) = words.next().and_then(Word::name) {
            let mut next = words.next();
            let mut value = None;
            if let Some(Word::String(text)) = next {
                value = Some(text);
                next = words.next();
            }
            if start.options.len() < MAX_OPTIONS {
                start.options.push((name, value));
            }
            if next != Some(Word::Sign(b',')) {
                break;
            }
        }
    }
    Some(start)
}

fn create_slot(words: &mut Words) -> Option<Command> {
    let slot = words.next()?.name()?;
    let mut word = words.next()?;
    if word == Word::Plain(b"TEMPORARY") {
        word = words.next()?;
    }
    let plugin = match word {
        Word::Plain(b"LOGICAL") => Some(words.next()?.name()?),
        Word::Plain(b"PHYSICAL") => None,
        _ => return None,
    };
    Some(Command::CreateReplicationSlot { slot, plugin })
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word<'t> {
    /// A keyword, an identifier or a number.
    Plain(&'t [u8]),
    /// "identifier"
    Quoted(Vec<u8>),
    /// 'string'
    String(Vec<u8>),
    Sign(u8),
}

impl Word<'_> {
    /// Its text without quotes.
    fn bytes(&self) -> &[u8] {
        match self {
            Word::Plain(text) => text,
            Word::Quoted(text) | Word::String(text) => text,
            Word::Sign(sign) => std::slice::from_ref(sign),
        }
    }

    fn name(self) -> Option<Vec<u8>> {
        match self {
            Word::Plain(name) => Some(name.to_ascii_lowercase()),
            Word::Quoted(name) => Some(name),
            _ => None,
        }
    }
}

/// The words of a replication command; it knows no comments.
struct Words<'t> {
    left: &'t [u8],
}

impl<'t> Words<'t> {
    fn next(&mut self) -> Option<Word<'t>> {
        let start = self.left.iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.left = &self.left[start..];
        match self.left[0] {
            b'"' => self.quoted(b'"').map(Word::Quoted),
            b'\'' => self.quoted(b'\'').map(Word::String),
            sign @ (b'(' | b')' | b',' | b';') => {
                self.left = &self.left[1..];
                Some(Word::Sign(sign))
            }
            _ => {
                let end = self.left.iter().position(|byte| byte.is_ascii_whitespace() || b"\"'(),;".contains(byte));
                let (word, left) = self.left.split_at(end.unwrap_or(self.left.len()));
                self.left = left;
                Some(Word::Plain(word))
            }
        }
    }

    /// Up to the closing quote; a doubled one stands for itself.
    fn quoted(&mut self, quote: u8) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let mut left = &self.left[1..];
        loop {
            let end = memchr::memchr(quote, left)?;
            text.extend_from_slice(&left[..end]);
            left = &left[end + 1..];
            if left.first() != Some(&quote) {
                break;
            }
            text.push(quote);
            left = &left[1..];
        }
        self.left = left;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(text: &str) -> StartReplication {
        match Command::parse(text.as_bytes()) {
            Command::StartReplication(start) => start,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn physical_forms() {
        for text in ["START_REPLICATION 0/3000000", "START_REPLICATION PHYSICAL 0/3000000 TIMELINE 1", "START_REPLICATION 0/3000000;"] {
            assert_eq!(start(text), StartReplication::default(), "{text}");
        }
        let with_slot = start("START_REPLICATION SLOT \"Sl\"\"ot\" 0/3000000 TIMELINE 1");
        assert_eq!(with_slot.slot.as_deref(), Some(&b"Sl\"ot"[..]));
        assert!(!with_slot.logical);
    }

    #[test]
    fn logical_options() {
        let options = start(
            "START_REPLICATION SLOT s LOGICAL 0/0 (\"proto_version\" '4', Streaming 'parallel',publication_names '\"p,q\",\"it''s\"', messages)",
        );
        assert!(options.is_for_pgoutput());
        assert_eq!(options.options.len(), 4);
        assert_eq!(options.options[1], (b"streaming".to_vec(), Some(b"parallel".to_vec())));
        assert_eq!(options.options[2].1.as_deref(), Some(&b"\"p,q\",\"it's\""[..]));
        assert_eq!(options.options[3], (b"messages".to_vec(), None));
        assert!(!start("START_REPLICATION SLOT t LOGICAL 0/0").is_for_pgoutput());
        assert!(!start("START_REPLICATION SLOT t LOGICAL 0/0 (\"include-xids\" 'on')").is_for_pgoutput());
    }

    #[test]
    fn slots_and_their_plugins() {
        let parse = |text: &str| Command::parse(text.as_bytes());
        let slot = |name: &str, plugin: Option<&str>| Command::CreateReplicationSlot {
            slot: name.into(),
            plugin: plugin.map(|plugin| plugin.as_bytes().to_vec()),
        };
        assert_eq!(parse("CREATE_REPLICATION_SLOT \"A b\" TEMPORARY LOGICAL pgoutput (SNAPSHOT 'nothing')"), slot("A b", Some("pgoutput")));
        assert_eq!(parse("CREATE_REPLICATION_SLOT Ab LOGICAL \"wal2json\" NOEXPORT_SNAPSHOT"), slot("ab", Some("wal2json")));
        assert_eq!(parse("CREATE_REPLICATION_SLOT p PHYSICAL RESERVE_WAL"), slot("p", None));
        assert_eq!(parse("BASE_BACKUP (LABEL 'x')"), Command::BaseBackup);
    }

    fn parts(text: &str) -> Vec<(Field, String, &str)> {
        let mut reader = Reader::default();
        let mut parts = Vec::new();
        while let Some(part) = reader.next(text.as_bytes()) {
            let mut value = String::new();
            part.value.write(&mut value, |bytes, out| out.write_str(std::str::from_utf8(bytes).unwrap())).unwrap();
            parts.push((part.field, value, &text[part.range]));
        }
        parts
    }

    #[test]
    fn parts_of_a_start() {
        use Field::*;
        let found = parts("START_REPLICATION SLOT \"s1\" LOGICAL 1/16B3748 (\"proto_version\" '4', streaming 'parallel', publication_names 'p', binary, x 'y''z')");
        let wanted = [
            (Command, "START_REPLICATION", "START_REPLICATION"),
            (StartSlot, "s1", "\"s1\""),
            (StartMode, "logical", "LOGICAL"),
            (StartLsn, "4318771016", "1/16B3748"),
            (StartProtoVersion, "4", "\"proto_version\" '4'"),
            (StartStreaming, "parallel", "streaming 'parallel'"),
            (StartPublicationNames, "p", "publication_names 'p'"),
            (StartBinary, "true", "binary"),
            (StartOption, "x=y'z", "x 'y''z'"),
        ];
        assert_eq!(found, wanted.map(|(field, value, text)| (field, value.to_string(), text)));
        let found = parts("START_REPLICATION PHYSICAL 0/3000000 TIMELINE 2;");
        assert_eq!(found[1..].iter().map(|(field, ..)| *field).collect::<Vec<_>>(), [StartMode, StartLsn, StartTimeline]);
        assert_eq!(found[3].1, "2");
    }

    #[test]
    fn parts_of_other_commands() {
        use Field::*;
        let fields = |text: &str| parts(text).into_iter().map(|(field, value, _)| (field, value)).collect::<Vec<_>>();
        let is = |text: &str, wanted: &[(Field, &str)]| {
            let wanted: Vec<_> = wanted.iter().map(|(field, value)| (*field, value.to_string())).collect();
            assert_eq!(fields(text)[1..], wanted, "{text}");
        };
        is("IDENTIFY_SYSTEM", &[]);
        is("TIMELINE_HISTORY 3", &[(CommandTimeline, "3")]);
        is("READ_REPLICATION_SLOT s", &[(CommandSlot, "s")]);
        is("DROP_REPLICATION_SLOT s WAIT", &[(CommandSlot, "s"), (CommandOption, "WAIT")]);
        is("ALTER_REPLICATION_SLOT s (FAILOVER true)", &[(CommandSlot, "s"), (CommandOption, "FAILOVER=true")]);
        is(
            "CREATE_REPLICATION_SLOT s TEMPORARY LOGICAL pgoutput (SNAPSHOT 'nothing', TWO_PHASE)",
            &[
                (CommandSlot, "s"),
                (CommandOption, "TEMPORARY"),
                (CommandMode, "logical"),
                (CommandPlugin, "pgoutput"),
                (CommandOption, "SNAPSHOT=nothing"),
                (CommandOption, "TWO_PHASE"),
            ],
        );
        is("BASE_BACKUP LABEL 'x y' FAST", &[(CommandOption, "LABEL=x y"), (CommandOption, "FAST")]);
        is("BASE_BACKUP (LABEL 'x', MAX_RATE 32)", &[(CommandOption, "LABEL=x"), (CommandOption, "MAX_RATE=32")]);
        // What is not complete gives what is there.
        is("CREATE_REPLICATION_SLOT \"s", &[]);
        is("TIMELINE_HISTORY x", &[]);
        assert!(
            fields("SELECT 1").is_empty()
                && !is_command(b"SELECT 1")
                && is_command(b"IDENTIFY_SYSTEM;")
                && is_command(b"IDENTIFY_SYSTEM\0")
        );
    }

    #[test]
    fn keywords_are_upper_case_and_complete() {
        let other = [
            "",
            "start_replication 0/0",
            "START_REPLICATIONS 0/0",
            "START_REPLICATION",
            "START_REPLICATION SLOT",
            "START_REPLICATION SLOT \"s",
            "START_REPLICATION SLOT s LOGICAL",
            "SELECT 'START_REPLICATION'",
        ];
        for text in other {
            assert_eq!(Command::parse(text.as_bytes()), Command::Other, "{text}");
        }
    }
}
