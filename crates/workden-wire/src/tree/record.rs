//! One entry of an archive, with the data from the records before it.
//!
//! Invariant: the length of an entry is unambiguous. An archive that could be read in two ways (a directory with
//! content, a length for all entries, a sparse file) is refused.

use bytes::Bytes;
use tar::{EntryType, Header};
use workden_core::{Error, ErrorKind, Result};

use super::source::{Source, cut_off};
use crate::limits::TREE_RECORD_BYTES;

const BLOCK: u64 = 512;

/// An entry whose content follows.
pub(super) struct Record {
    /// The name as written in the archive.
    pub(super) name: Vec<u8>,
    pub(super) kind: Kind,
    /// Bytes of content, without the padding of the last block.
    pub(super) size: u64,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Link,
    Special,
}

impl Record {
    /// Reads the next entry; `None` at the end of the archive.
    pub(super) async fn read(source: &mut Source) -> Result<Option<Self>> {
        let mut long_name: Option<Vec<u8>> = None;
        let mut long_size: Option<u64> = None;
        loop {
            let block = source.exactly(BLOCK as usize).await?;
            if block.iter().all(|byte| *byte == 0) {
                return if long_name.is_none() && long_size.is_none() { Ok(None) } else { Err(cut_off()) };
            }
            let header = checked(&block)?;
            let size = header.entry_size().map_err(|_| refused("an invalid length"))?;
            match header.entry_type() {
                EntryType::GNULongName => {
                    let mut name = record(source, size).await?.to_vec();
                    name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
                    long_name = Some(name);
                }
                EntryType::GNULongLink => drop(record(source, size).await?),
                EntryType::XHeader => {
                    let said = record(source, size).await?;
                    for (key, value) in pairs(&said)? {
                        match key {
                            b"path" => long_name = Some(value.to_vec()),
                            b"size" => long_size = Some(number(value)?),
                            _ if key.starts_with(b"GNU.sparse.") => return Err(refused("a sparse file")),
                            _ => {}
                        }
                    }
                }
                EntryType::XGlobalHeader => {
                    let said = record(source, size).await?;
                    if pairs(&said)?.iter().any(|(key, _)| matches!(*key, b"path" | b"size")) {
                        return Err(refused("one name or length for all entries"));
                    }
                }
                EntryType::GNUSparse => return Err(refused("a sparse file")),
                kind => {
                    let name = long_name.unwrap_or_else(|| header.path_bytes().into_owned());
                    return Self::of(name, kind, long_size.unwrap_or(size)).map(Some);
                }
            }
        }
    }

    fn of(name: Vec<u8>, kind: EntryType, size: u64) -> Result<Self> {
        let kind = match kind {
            // Before the format had types, a directory was recognised by its name.
            EntryType::Regular | EntryType::Continuous if name.ends_with(b"/") => Kind::Directory,
            EntryType::Regular | EntryType::Continuous => Kind::File,
            EntryType::Directory => Kind::Directory,
            EntryType::Link | EntryType::Symlink => Kind::Link,
            EntryType::Char | EntryType::Block | EntryType::Fifo => Kind::Special,
            _ => return Err(refused("an entry of unknown kind")),
        };
        if kind != Kind::File && size != 0 {
            return Err(refused("content of an entry that is not a file"));
        }
        Ok(Self { name, kind, size })
    }

    /// Returns the number of padding bytes after the content.
    pub(super) fn filling(&self) -> u64 {
        filling(self.size)
    }
}

fn filling(size: u64) -> u64 {
    (BLOCK - size % BLOCK) % BLOCK
}

/// Reads the content of a record that describes the next entry.
async fn record(source: &mut Source, size: u64) -> Result<Bytes> {
    if size > TREE_RECORD_BYTES {
        return Err(refused("a name that is too long"));
    }
    let said = source.exactly(size as usize).await?;
    source.skip(filling(size)).await?;
    Ok(said)
}

fn checked(block: &[u8]) -> Result<&Header> {
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(at, byte)| match at {
            // The checksum field itself counts as blanks.
            148..156 => u32::from(b' '),
            _ => u32::from(*byte),
        })
        .sum();
    let header = Header::from_byte_slice(block);
    match header.cksum() {
        Ok(said) if said == sum => Ok(header),
        _ => Err(Error::new(ErrorKind::InvalidArgument, "this is not a tar archive, or a damaged one")
            .hint("archives must not be compressed")),
    }
}

/// A key and a value for the next entry.
type Pair<'a> = (&'a [u8], &'a [u8]);

fn pairs(said: &[u8]) -> Result<Vec<Pair<'_>>> {
    let mut pairs = Vec::new();
    let mut rest = said;
    while !rest.is_empty() {
        let (found, after) = one_pair(rest).ok_or_else(|| refused("a record that cannot be read"))?;
        pairs.push(found);
        rest = after;
    }
    Ok(pairs)
}

/// Parses `12 path=a/b\n`, where 12 is the length of the whole record.
fn one_pair(rest: &[u8]) -> Option<(Pair<'_>, &[u8])> {
    let blank = rest.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&rest[..blank]).ok()?.parse().ok()?;
    let body = rest.get(blank + 1..length)?.strip_suffix(b"\n")?;
    let equals = body.iter().position(|byte| *byte == b'=')?;
    Some(((&body[..equals], &body[equals + 1..]), &rest[length..]))
}

fn number(value: &[u8]) -> Result<u64> {
    let text = std::str::from_utf8(value).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| refused("an invalid length"))
}

fn refused(what: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("cannot unpack the archive: it has {what}"))
}
