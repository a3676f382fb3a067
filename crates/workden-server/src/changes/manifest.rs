//! `Manifest`: the files of an archive, by name.

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
const MOST: usize = 200_000;
/// A zero byte in this many first bytes makes a file binary, as for git.
const HEAD: usize = 8000;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) size: u64,
    digest: [u8; 32],
    pub(crate) is_binary: bool,
}

/// The files of an archive. Directories are seen by their files; links and special files are not compared.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    pub(super) items: BTreeMap<String, Item>,
    /// Whether the archive has more.
    pub(super) is_cut: bool,
}

impl Manifest {
    /// Reads an archive of at most this many bytes.
    pub(super) async fn read(archive: impl Stream<Item = Result<Bytes>> + Send + 'static, most: u64) -> Result<Self> {
        let (manifest, is_cut) = each(archive, most, Self::default(), |manifest, name, entry| {
            if manifest.items.len() == MOST {
                manifest.is_cut = true;
                return Ok(Flow::Enough);
            }
            let item = match entry.header().entry_type() {
                // Another name of a file that came before.
                tar::EntryType::Link => {
                    let target = entry.link_name_bytes().as_deref().and_then(plain_name);
                    target.and_then(|target| manifest.items.get(&target).cloned())
                }
                kind if kind.is_file() => Some(Item::of(entry)?),
                _ => None,
            };
            manifest.items.extend(item.map(|item| (name, item)));
            Ok(Flow::Next)
        })
        .await?;
        Ok(Self { is_cut: manifest.is_cut || is_cut, ..manifest })
    }
}

impl Item {
    /// Reads a content.
    pub(super) fn of(content: &mut impl Read) -> io::Result<Self> {
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
        Ok(Self { size, digest: digest.finalize().into(), is_binary })
    }

    /// Whether this is the content that was compared.
    pub(super) fn is_of(&self, content: &[u8]) -> bool {
        Self::of(&mut &*content).is_ok_and(|item| item == *self)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};
    use workden::{Error, ErrorKind};

    use super::{super::entries::contents, *};

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
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
    async fn an_archive_is_told_by_its_files() {
        let long = "d/".repeat(80) + "long";
        let files: [(&str, &[u8]); 3] = [("a.txt", b"one"), ("run", b"#!/bin/sh\n"), (&long, b"\0")];
        let manifest = Manifest::read(pieces(archive(&files)), u64::MAX).await.unwrap();
        let sizes = manifest.items.iter().map(|(name, item)| (name.as_str(), item.size)).collect::<Vec<_>>();
        assert_eq!(sizes, [("a.txt", 3), (long.as_str(), 1), ("hard", 3), ("run", 10)]);
        assert!(manifest.items[&long].is_binary && !manifest.items["run"].is_binary && !manifest.is_cut);
        assert!(manifest.items["run"].is_of(b"#!/bin/sh\n") && !manifest.items["run"].is_of(b"#!/bin/su\n"));
        let cut = Manifest::read(pieces(archive(&files)), 1500).await.unwrap();
        assert!(cut.is_cut && cut.items.len() == 1, "{cut:?}");

        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let read = async |names: &[&str], most| contents(pieces(archive(&files)), of(names), 100, most).await.unwrap();
        let found = read(&["a.txt", "hard", "link", "missing"], 100).await;
        assert_eq!((found.len(), &found["hard"][..]), (2, &b"one"[..]));
        assert!(read(&["a.txt"], 2).await.is_empty());
    }

    #[tokio::test]
    async fn a_broken_archive_is_an_error() {
        let mut bytes = archive(&[("a.txt", &[b'x'; 5000])]);
        bytes.truncate(3000);
        assert!(Manifest::read(pieces(bytes.clone()), u64::MAX).await.is_err());
        let gone = || stream::iter([Err(Error::new(ErrorKind::Gone, "the snapshot was deleted"))]);
        let error = Manifest::read(gone(), u64::MAX).await.unwrap_err();
        assert_eq!((error.kind(), error.sentence()), (ErrorKind::Gone, "the snapshot was deleted"));
        // Also after what looks like its end.
        let error = Manifest::read(pieces(archive(&[("a", b"")])).chain(gone()), u64::MAX).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Gone);
    }

    #[tokio::test]
    async fn a_header_cannot_fill_the_memory_and_an_archive_that_waits_ends_with_its_reader() {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(1 << 40);
        header.set_cksum();
        let head = Ok(Bytes::copy_from_slice(header.as_bytes()));
        let filling = stream::repeat_with(|| Ok(Bytes::from_static(&[b'a'; 65536])));
        assert!(Manifest::read(stream::iter([head]).chain(filling), u64::MAX).await.is_err());

        let (told, dropped) = tokio::sync::oneshot::channel::<()>();
        let waits = stream::once(async move {
            let _told = told;
            std::future::pending::<Result<Bytes>>().await
        });
        let reading = Manifest::read(waits, u64::MAX);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), reading).await.is_err());
        assert!(dropped.await.is_err());
    }
}
