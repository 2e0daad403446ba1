//! What Relation and Type messages said: tables, columns and their types, each from its place in the stream on.

use std::collections::HashMap;
use std::fmt::Write;
use std::rc::Rc;

use crate::encoding::Encoding;
use crate::types::{self, Context};

/// Relation messages of a connection that are remembered, types, and bytes of all of them together. What comes after
/// that stays unknown: its rows are shown by position.
pub(crate) const MAX_VERSIONS: usize = 1_000_000;
pub(crate) const MAX_TYPES: usize = 10_000;
/// Open streamed transactions, bytes of a type's name (the server allows 63), that are remembered.
const MAX_STREAMS: usize = 10_000;
const MAX_NAME: usize = 1024;
pub(crate) const MAX_BYTES: usize = 256 << 20;

/// A column, as its Relation message describes it. Texts are UTF-8.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub type_oid: u32,
    /// The type as SQL writes it, with its modifier.
    pub type_name: String,
    /// Part of the replica identity.
    pub key: bool,
}

/// A table, as a Relation message describes it.
#[derive(Debug)]
pub struct Relation {
    pub oid: u32,
    /// `namespace.name`
    pub table: String,
    pub columns: Vec<Column>,
    /// The Type messages of the columns' types, as they were at that place.
    types: Vec<(u32, TypeName)>,
}

/// Namespace and name of a type on the wire.
type TypeName = (Vec<u8>, Vec<u8>);

/// A Relation and the encoding of a row: all that decoding a value needs.
pub struct RowContext<'r> {
    pub relation: &'r Relation,
    pub encoding: Encoding,
}

impl Context for RowContext<'_> {
    fn user_type(&self, oid: u32) -> Option<(&[u8], &[u8])> {
        let (_, (namespace, name)) = self.relation.types.iter().find(|(known, _)| *known == oid)?;
        Some((namespace, name))
    }

    fn write_text(&self, bytes: &[u8], out: &mut dyn Write) -> std::fmt::Result {
        self.encoding.write(bytes, out)
    }

    fn is_text(&self, bytes: &[u8]) -> bool {
        self.encoding.fits(bytes)
    }
}

impl Relation {
    /// Bytes that it takes, about.
    fn size(&self) -> usize {
        let columns = self.columns.iter().map(|column| 64 + column.name.capacity() + column.type_name.capacity());
        let types = self.types.iter().map(|(_, (namespace, name))| 64 + namespace.len() + name.len());
        128 + self.table.capacity() + columns.sum::<usize>() + types.sum::<usize>()
    }
}

/// A Relation message: where it was, and what it said.
#[derive(Debug)]
pub struct Version {
    pub position: u32,
    pub relation: Rc<Relation>,
}

/// Types by OID, while a Relation message is read.
struct TypesNow<'m> {
    types: &'m HashMap<u32, TypeName>,
    encoding: Encoding,
}

impl Context for TypesNow<'_> {
    fn user_type(&self, oid: u32) -> Option<(&[u8], &[u8])> {
        self.types.get(&oid).map(|(namespace, name)| (&namespace[..], &name[..]))
    }

    fn write_text(&self, bytes: &[u8], out: &mut dyn Write) -> std::fmt::Result {
        self.encoding.write(bytes, out)
    }
}

/// The memory of one connection.
#[derive(Default)]
pub struct Memory {
    /// All Relation messages in stream order; records hold indexes. Nothing is ever taken out.
    versions: Vec<Version>,
    /// The one in force, by OID.
    current: HashMap<u32, u32>,
    /// The ones in force in a streamed transaction that has not ended, by its xid and OID. They count for all from its
    /// commit on, and no more after its abort: the server then sends them again.
    streamed: HashMap<u32, HashMap<u32, u32>>,
    /// The last of those, by OID.
    last_streamed: HashMap<u32, u32>,
    types: HashMap<u32, TypeName>,
    bytes: usize,
}

/// The parts of a Relation or Type message, after tag and xid.
struct Parts<'m>(&'m [u8]);

impl<'m> Parts<'m> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, left) = self.0.split_first_chunk::<N>()?;
        self.0 = left;
        Some(*bytes)
    }

    fn oid(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn string(&mut self) -> Option<&'m [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let (text, left) = self.0.split_at(end);
        self.0 = &left[1..];
        Some(text)
    }
}

fn text(encoding: Encoding, bytes: &[u8]) -> String {
    let mut text = String::new();
    let _ = encoding.write(bytes, &mut text);
    text
}

impl Memory {
    /// A Type message, from its OID on.
    pub fn add_type(&mut self, bytes: &[u8]) {
        let mut parts = Parts(bytes);
        let Some(oid) = parts.oid() else { return };
        // What cannot be kept must not leave the name before it in force.
        self.types.remove(&oid);
        let (Some(namespace), Some(name)) = (parts.string(), parts.string()) else { return };
        if self.types.len() < MAX_TYPES && namespace.len() <= MAX_NAME && name.len() <= MAX_NAME {
            self.types.insert(oid, (namespace.to_vec(), name.to_vec()));
        }
    }

    /// A Relation message, from its OID on; gives its index and one more, 0 when it is not remembered.
    pub fn add_relation(&mut self, bytes: &[u8], position: u32, encoding: Encoding, stream: Option<u32>) -> u32 {
        if self.versions.len() >= MAX_VERSIONS || self.bytes >= MAX_BYTES {
            // The one before would be wrong from here on.
            self.forget(bytes);
            return 0;
        }
        let Some(relation) = self.read_relation(bytes, encoding) else {
            self.forget(bytes);
            return 0;
        };
        let oid = relation.oid;
        let relation = match self.version(self.index_in_force(oid, stream)) {
            // Often nothing has changed.
            Some(before) if same(&before.relation, &relation) => before.relation.clone(),
            _ => {
                self.bytes += relation.size();
                Rc::new(relation)
            }
        };
        self.bytes += std::mem::size_of::<Version>();
        self.versions.push(Version { position, relation });
        let index = self.versions.len() as u32;
        match stream {
            Some(xid) if self.streamed.len() < MAX_STREAMS || self.streamed.contains_key(&xid) => {
                self.streamed.entry(xid).or_default().insert(oid, index);
                self.last_streamed.insert(oid, index);
            }
            Some(_) => {
                self.forget(bytes);
                return 0;
            }
            None => _ = self.current.insert(oid, index),
        };
        index
    }

    fn forget(&mut self, bytes: &[u8]) {
        if let Some(oid) = Parts(bytes).oid() {
            self.current.remove(&oid);
            self.last_streamed.remove(&oid);
            self.streamed.values_mut().for_each(|relations| _ = relations.remove(&oid));
        }
    }

    fn read_relation(&self, bytes: &[u8], encoding: Encoding) -> Option<Relation> {
        let now = TypesNow { types: &self.types, encoding };
        let mut types: Vec<(u32, TypeName)> = Vec::new();
        let mut parts = Parts(bytes);
        let oid = parts.oid()?;
        let (namespace, name) = (parts.string()?, parts.string()?);
        let [_identity] = parts.take()?;
        let count = u16::from_be_bytes(parts.take()?);
        let mut columns = Vec::new();
        for _ in 0..count {
            let [flags] = parts.take()?;
            let name = text(encoding, parts.string()?);
            let type_oid = parts.oid()?;
            let modifier = i32::from_be_bytes(parts.take()?);
            let mut type_name = String::new();
            let _ = types::write_format_type(&mut type_name, type_oid, modifier, &now);
            if let Some(user_type) = self.types.get(&type_oid) {
                if types.len() < MAX_TYPES && !types.iter().any(|(oid, _)| *oid == type_oid) {
                    types.push((type_oid, user_type.clone()));
                }
            }
            columns.push(Column { name, type_oid, type_name, key: flags & 1 != 0 });
        }
        let namespace = if namespace.is_empty() { "pg_catalog".into() } else { text(encoding, namespace) };
        let table = format!("{namespace}.{}", text(encoding, name));
        Some(Relation { oid, table, columns, types })
    }

    /// Index and one more of the Relation in force for a table; 0: none is known.
    #[inline]
    pub fn index_in_force(&self, oid: u32, stream: Option<u32>) -> u32 {
        if let Some(xid) = stream {
            if let Some(index) = self.streamed.get(&xid).and_then(|relations| relations.get(&oid)) {
                return *index;
            }
        }
        // A table that only streamed transactions have described so far is better known from them than not at all.
        self.current.get(&oid).or_else(|| self.last_streamed.get(&oid)).copied().unwrap_or(0)
    }

    /// The version of such an index.
    pub fn version(&self, index: u32) -> Option<&Version> {
        self.versions.get((index as usize).checked_sub(1)?)
    }

    /// A streamed transaction has ended; what it said of tables holds for all when it is kept.
    pub fn end_stream(&mut self, xid: u32, keep: bool) {
        let Some(relations) = self.streamed.remove(&xid) else { return };
        for (oid, index) in relations {
            if self.last_streamed.get(&oid) == Some(&index) {
                self.last_streamed.remove(&oid);
            }
            // What was said later, outside the stream, stays.
            if keep && self.current.get(&oid).is_none_or(|later| *later < index) {
                self.current.insert(oid, index);
            }
        }
    }

    /// A new stream begins: the server describes every table again.
    pub fn reset(&mut self) {
        self.current.clear();
        self.streamed.clear();
        self.last_streamed.clear();
        self.types.clear();
    }
}

fn same(a: &Relation, b: &Relation) -> bool {
    a.oid == b.oid && a.table == b.table && a.columns == b.columns && a.types == b.types
}
