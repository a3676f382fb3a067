//! Archives made by an attacker.

use std::{fs, os::unix::fs::symlink};

use bytes::Bytes;
use futures_util::stream;
use proptest::prelude::*;
use tar::{EntryType, Header};
use tempfile::TempDir;
use workden_core::{Backend, ContentStream, ErrorKind, Result};
use workden_files::{Durability, LocalBackend};
use workden_wire::tree::{TreeReport, unpack};

use crate::pipes::{in_memory_files, path};

fn entry(name: &str, kind: EntryType, size: u64, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_cksum();
    let mut blocks = header.as_bytes().to_vec();
    blocks.extend_from_slice(content);
    blocks.resize(blocks.len().next_multiple_of(512), 0);
    blocks
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    entry(name, EntryType::Regular, content.len() as u64, content)
}

fn said(kind: EntryType, content: &[u8]) -> Vec<u8> {
    entry("said", kind, content.len() as u64, content)
}

fn pair(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let length = (1..4).map(|digits| digits + rest.len()).find(|all| all.to_string().len() + rest.len() == *all);
    format!("{}{rest}", length.unwrap()).into_bytes()
}

fn archive(entries: &[Vec<u8>]) -> ContentStream {
    let mut all = entries.concat();
    all.extend_from_slice(&[0; 1024]);
    Box::pin(stream::iter([Ok(Bytes::from(all))]))
}

async fn unpacked(files: &dyn Backend, entries: &[Vec<u8>]) -> Result<TreeReport> {
    unpack(files, &path("/at"), archive(entries)).await
}

#[tokio::test]
async fn entries_that_escape_are_refused() {
    let long = |name: &str| [said(EntryType::GNULongName, name.as_bytes()), file("x", b"")].concat();
    let pax = |name: &str| [said(EntryType::XHeader, &pair("path", name)), file("x", b"")].concat();
    for name in ["../x", "a/../../x", "..", "/etc/passwd", "//x", "a/..", "./../x"] {
        let directory = entry(name, EntryType::Directory, 0, b"");
        for hostile in [file(name, b"x"), directory, long(name), pax(name)] {
            let root = TempDir::new().unwrap();
            let files = LocalBackend::options().durability(Durability::None).open(root.path()).unwrap();
            let error = unpacked(&files, &[hostile]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Escapes, "{name}");
            let left: Vec<_> = fs::read_dir(root.path()).unwrap().map(|name| name.unwrap().file_name()).collect();
            assert_eq!(left, ["at"]);
        }
    }
}

#[tokio::test]
async fn a_link_that_is_there_leads_nowhere_else() {
    let root = TempDir::new().unwrap();
    fs::create_dir_all(root.path().join("at")).unwrap();
    fs::create_dir_all(root.path().join("other")).unwrap();
    symlink("/other", root.path().join("at/link")).unwrap();
    symlink("../other/file", root.path().join("at/to-file")).unwrap();
    let files = LocalBackend::open(root.path()).unwrap();
    for hostile in [file("link/x", b"x"), file("to-file", b"x"), entry("link", EntryType::Directory, 0, b"")] {
        assert_eq!(unpacked(&files, &[hostile]).await.unwrap_err().kind(), ErrorKind::Escapes);
    }
    assert!(fs::read_dir(root.path().join("other")).unwrap().next().is_none());
}

/// An archive cannot bring a link and then write through it: links do not travel.
#[tokio::test]
async fn a_link_in_an_archive_is_not_made() {
    let files = in_memory_files();
    let mut header = Header::new_gnu();
    header.set_path("link").unwrap();
    header.set_entry_type(EntryType::Symlink);
    header.set_link_name("/").unwrap();
    header.set_size(0);
    header.set_cksum();
    let report = unpacked(&files, &[header.as_bytes().to_vec(), file("link/x", b"x")]).await.unwrap();
    assert_eq!((report.files, report.skipped_links), (1, 1));
}

#[tokio::test]
async fn what_could_be_read_in_two_ways_is_refused() {
    let hidden = file("hidden", b"x");
    for entries in [
        vec![entry("d", EntryType::Directory, hidden.len() as u64, &hidden)],
        vec![entry("l", EntryType::Symlink, 512, &hidden[..512])],
        vec![entry("f", EntryType::Fifo, 1, b"x")],
        vec![entry("s", EntryType::GNUSparse, 1, b"x")],
        vec![entry("?", EntryType::new(b'Z'), 0, b"")],
        vec![said(EntryType::XGlobalHeader, &pair("size", "0")), file("f", b"x")],
        vec![said(EntryType::XGlobalHeader, &pair("path", "g")), file("f", b"x")],
        vec![said(EntryType::XHeader, &pair("GNU.sparse.major", "1")), file("f", b"x")],
        vec![said(EntryType::XHeader, b"garbage"), file("f", b"x")],
        vec![said(EntryType::XHeader, b"99999999999999999999 a=b\n"), file("f", b"x")],
        vec![said(EntryType::XHeader, b"0 a=b\n"), file("f", b"x")],
        vec![said(EntryType::XHeader, &pair("size", "many")), file("f", b"x")],
        vec![entry("name", EntryType::GNULongName, u64::MAX, b"")],
        vec![vec![b'x'; 512]],
        vec![b"\x1f\x8b\x08 compressed".repeat(50)],
    ] {
        let error = unpacked(&in_memory_files(), &entries).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

/// The length that counts is the one that readers of the format agree on.
#[tokio::test]
async fn a_length_in_a_record_is_the_length() {
    let inner = file("smuggled", b"x");
    let outer =
        [said(EntryType::XHeader, &pair("size", &inner.len().to_string())), entry("f", EntryType::Regular, 0, &inner)];
    let report = unpacked(&in_memory_files(), &outer).await.unwrap();
    assert_eq!((report.files, report.bytes), (1, inner.len() as u64));
}

#[tokio::test]
async fn sizes_are_bounded_before_anything_is_taken() {
    for size in [u64::MAX, 1 << 60, workden_wire::limits::TREE_BYTES + 1] {
        let error = unpacked(&in_memory_files(), &[entry("f", EntryType::Regular, size, b"")]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_damage_makes_it_panic_or_leave_the_directory(
        at in 0..4_000usize, with in proptest::collection::vec(any::<u8>(), 1..40), mend: bool,
    ) {
        let long = said(EntryType::GNULongName, "n".repeat(200).as_bytes());
        let pax = said(EntryType::XHeader, &pair("path", "p/q"));
        let mut all = [file("a", b"x"), long, file("b", &[1; 600]), pax, file("c", b"y")].concat();
        all.extend_from_slice(&[0; 1024]);
        let at = at % all.len();
        for (byte, new) in all[at..].iter_mut().zip(&with) {
            *byte = *new;
        }
        let block = at / 512 * 512;
        if mend {
            let mut header = Header::from_byte_slice(&all[block..block + 512]).clone();
            header.set_cksum();
            all[block..block + 512].copy_from_slice(header.as_bytes());
        }
        let files = in_memory_files();
        let content: ContentStream = Box::pin(stream::iter([Ok(Bytes::from(all))]));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        drop(runtime.block_on(unpack(&files, &path("/at"), content)));
        let listing = runtime.block_on(workden_core::BackendExt::list_path(
            &files, &path("/"), &workden_core::search::ListRequest::default(),
        )).unwrap();
        prop_assert_eq!(listing.entries.len(), 1);
    }
}
