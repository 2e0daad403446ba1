//! The replication commands that decide what a stream is (manual: "Streaming Replication Protocol").

/// A replication command, as far as it says what follows on the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    StartReplication(StartReplication),
    CreateReplicationSlot {
        slot: Vec<u8>,
        plugin: Option<Vec<u8>>,
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
            Some(Word::Plain(b"BASE_BACKUP")) => Command::BaseBackup,
            _ => Command::Other,
        }
    }
}

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

#[derive(Debug, PartialEq, Eq)]
enum Word<'t> {
    /// A keyword, an identifier or a number.
    Plain(&'t [u8]),
    /// "identifier"
    Quoted(Vec<u8>),
    /// 'string'
    String(Vec<u8>),
    Sign(u8),
}

impl Word<'_> {
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
