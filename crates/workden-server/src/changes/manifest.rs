//! `Manifest`: what an archive of files holds, by name.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use bytes::Bytes;
use futures_util::Stream;
use sha2::{Digest, Sha256};
use workden::Result;

use super::entries::{Flow, each, plain_name};

/// The most files that are compared.
const MOST: usize = 500_000;
/// A zero byte in this many first bytes makes a file binary, as for git.
const HEAD: usize = 8000;

/// A file or a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) kind: ItemKind,
    /// Bytes; of a link, those of its target.
    pub(crate) size: u64,
    digest: [u8; 32],
    pub(crate) is_binary: bool,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    File,
    Executable,
    Link,
}

/// The files and links of an archive. Directories are not told: those with files are seen by them.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    pub(super) items: BTreeMap<String, Item>,
    /// Whether the archive was larger than what is compared.
    pub(super) is_cut: bool,
}

impl Manifest {
    /// Reads an archive of at most this many bytes.
    pub(super) async fn read(archive: impl Stream<Item = Result<Bytes>> + Send + 'static, most: u64) -> Result<Self> {
        each(archive, most, Self::default(), |manifest, name, entry| {
            if manifest.items.len() == MOST {
                manifest.is_cut = true;
                return Ok(Flow::Enough);
            }
            let header = entry.header();
            let item = match header.entry_type() {
                tar::EntryType::Symlink => {
                    let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                    Item::of(ItemKind::Link, &mut target.as_slice())?
                }
                // Another name of a file that came before.
                tar::EntryType::Link => {
                    let target = entry.link_name_bytes().as_deref().and_then(plain_name);
                    match target.and_then(|target| manifest.items.get(&target).cloned()) {
                        Some(item) => item,
                        None => return Ok(Flow::Next),
                    }
                }
                kind if kind.is_file() => {
                    let is_executable = header.mode().unwrap_or(0) & 0o100 != 0;
                    Item::of(if is_executable { ItemKind::Executable } else { ItemKind::File }, entry)?
                }
                _ => return Ok(Flow::Next),
            };
            manifest.items.insert(name, item);
            Ok(Flow::Next)
        })
        .await
        .map(|(manifest, is_cut)| Self { is_cut: manifest.is_cut || is_cut, ..manifest })
    }
}

impl Item {
    fn of(kind: ItemKind, content: &mut impl Read) -> io::Result<Self> {
        let (mut digest, mut size, mut is_binary) = (Sha256::new(), 0, false);
        let mut piece = vec![0; 64 << 10];
        loop {
            let count = content.read(&mut piece)?;
            if count == 0 {
                break;
            }
            let bytes = &piece[..count];
            let head = HEAD.saturating_sub(usize::try_from(size).unwrap_or(HEAD)).min(count);
            is_binary |= bytes[..head].contains(&0);
            digest.update(bytes);
            size += count as u64;
        }
        Ok(Self { kind, size, digest: digest.finalize().into(), is_binary })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use workden::{Error, ErrorKind};

    use super::{super::entries::contents, *};

    fn archive(files: &[(&str, &[u8], u32)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content, mode) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(*mode);
            builder.append_data(&mut header, name, *content).unwrap();
        }
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_entry_type(tar::EntryType::Symlink);
        builder.append_link(&mut header, "link", "/etc/passwd").unwrap();
        header.set_entry_type(tar::EntryType::Link);
        builder.append_link(&mut header, "hard", files[0].0).unwrap();
        header.set_entry_type(tar::EntryType::Fifo);
        builder.append_data(&mut header, "pipe", io::empty()).unwrap();
        builder.into_inner().unwrap()
    }

    fn pieces(bytes: Vec<u8>) -> impl Stream<Item = Result<Bytes>> + Send + 'static {
        stream::iter(bytes.chunks(777).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect::<Vec<_>>())
    }

    #[tokio::test]
    async fn an_archive_is_told_by_what_it_holds() {
        let long = "d/".repeat(80) + "long";
        let files: [(&str, &[u8], u32); 3] =
            [("a.txt", b"one", 0o644), ("run", b"#!/bin/sh\n", 0o755), (&long, b"\0", 0o600)];
        let manifest = Manifest::read(pieces(archive(&files)), u64::MAX).await.unwrap();
        let kinds = manifest.items.iter().map(|(name, item)| (name.as_str(), item.kind, item.size)).collect::<Vec<_>>();
        let expected = [
            ("a.txt", ItemKind::File, 3),
            (&long, ItemKind::File, 1),
            ("hard", ItemKind::File, 3),
            ("link", ItemKind::Link, 11),
            ("run", ItemKind::Executable, 10),
        ];
        assert_eq!(kinds, expected);
        assert!(manifest.items[&long].is_binary && !manifest.items["run"].is_binary && !manifest.is_cut);
        assert!(Manifest::read(pieces(archive(&files)), 100).await.unwrap().is_cut);

        let names = ["a.txt", "hard", "link", "missing"].map(str::to_owned).into();
        let contents = contents(pieces(archive(&files)), names, 100).await.unwrap();
        assert_eq!(contents["a.txt"], contents["hard"]);
        assert_eq!((&contents["link"][..], contents.len()), (&b"/etc/passwd"[..], 3));
    }

    #[tokio::test]
    async fn a_broken_archive_is_an_error() {
        let mut bytes = archive(&[("a.txt", &[b'x'; 5000], 0o644)]);
        bytes.truncate(3000);
        assert!(Manifest::read(pieces(bytes), u64::MAX).await.is_err());
        let gone = stream::iter([Err(Error::new(ErrorKind::Gone, "the snapshot was deleted"))]);
        let error = Manifest::read(gone, u64::MAX).await.unwrap_err();
        assert_eq!((error.kind(), error.sentence()), (ErrorKind::Gone, "the snapshot was deleted"));
    }
}
