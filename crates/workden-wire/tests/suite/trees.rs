//! Trees go and come as archives, and other programs read and write the same.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tempfile::TempDir;
use workden_core::{ContentStream, Error, ErrorKind};
use workden_files::{Durability, LocalBackend};
use workden_wire::{RemoteSandbox, tree::TreeReport};

use crate::{
    pipes::{connected, path},
    scripted::Scripted,
};

async fn over(directory: &Path) -> RemoteSandbox {
    let files = LocalBackend::options().durability(Durability::None).open(directory).unwrap();
    connected(Scripted::over(files)).await
}

fn pieces(archive: &[u8], size: usize) -> ContentStream {
    let pieces: Vec<_> = archive.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    Box::pin(stream::iter(pieces))
}

async fn downloaded(remote: &RemoteSandbox, at: &str) -> (Vec<u8>, TreeReport) {
    let mut download = remote.download_tree(&path(at)).await.unwrap();
    let mut archive = Vec::new();
    while let Some(piece) = download.next().await {
        archive.extend_from_slice(&piece.unwrap());
    }
    (archive, download.report().expect("a report after the end"))
}

fn run(program: &str, arguments: &[&str], directory: &Path) -> Vec<u8> {
    let output = Command::new(program).args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn make_tree(directory: &Path) {
    let long = "long/".repeat(30);
    fs::create_dir_all(directory.join(&long)).unwrap();
    fs::create_dir_all(directory.join("empty dir")).unwrap();
    for (name, size) in [
        ("a", 0),
        ("b", 1),
        ("c", 512),
        ("ü \n%41 🦀", 513),
        ("large", 1_500_000),
        ("even", 256 * 1024 * 4),
        (&format!("{long}{}", "ü".repeat(120)), 700),
        (&format!("{long}{}", "x".repeat(100)), 3),
    ] {
        fs::write(directory.join(name), (0..size).map(|at| (at % 251) as u8).collect::<Vec<_>>()).unwrap();
    }
}

fn same(one: &Path, other: &Path) {
    run("diff", &["-r", "--no-dereference", &one.to_string_lossy(), &other.to_string_lossy()], one);
}

#[tokio::test]
async fn a_tree_comes_and_goes_whole() {
    let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    make_tree(from.path());
    let (archive, packed) = downloaded(&over(from.path()).await, "/").await;
    assert_eq!((packed.files, packed.directories), (8, 31));
    for size in [101, 511, 70_000] {
        let at = format!("/into/{size}");
        let unpacked = over(to.path()).await.upload_tree(&path(&at), pieces(&archive, size)).await.unwrap();
        assert_eq!(unpacked, packed);
        same(from.path(), &to.path().join(&at[1..]));
    }
}

#[tokio::test]
async fn tar_reads_what_was_packed() {
    let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    make_tree(from.path());
    let (archive, _) = downloaded(&over(from.path()).await, "/").await;
    fs::write(to.path().join("x.tar"), archive).unwrap();
    fs::create_dir(to.path().join("x")).unwrap();
    run("tar", &["-xf", "x.tar", "-C", "x"], to.path());
    same(from.path(), &to.path().join("x"));
}

#[tokio::test]
async fn what_tar_packed_is_unpacked() {
    for format in ["gnu", "pax", "posix"] {
        let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        make_tree(from.path());
        let archive = run("tar", &["-cf", "-", "--format", format, "."], from.path());
        let report = over(to.path()).await.upload_tree(&path("/x/y"), pieces(&archive, 10_000)).await.unwrap();
        assert_eq!((report.files, report.directories), (8, 31), "{format}");
        same(from.path(), &to.path().join("x/y"));
    }
}

#[tokio::test]
async fn one_file_is_a_tree_too() {
    let from = TempDir::new().unwrap();
    make_tree(from.path());
    let (archive, report) = downloaded(&over(from.path()).await, "/large").await;
    assert_eq!((report.files, report.directories, report.bytes), (1, 0, 1_500_000));
    fs::write(from.path().join("x.tar"), archive).unwrap();
    assert_eq!(run("tar", &["-tf", "x.tar"], from.path()), b"large\n");
}

#[tokio::test]
async fn links_and_special_files_are_passed_over_and_counted() {
    let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(from.path().join("a"), "x").unwrap();
    symlink("a", from.path().join("link")).unwrap();
    symlink("/nowhere", from.path().join("broken")).unwrap();
    fs::hard_link(from.path().join("a"), from.path().join("second")).unwrap();
    run("mkfifo", &["fifo"], from.path());
    let (_, packed) = downloaded(&over(from.path()).await, "/").await;
    assert_eq!((packed.files, packed.skipped_links, packed.skipped_special), (2, 2, 1));

    let archive = run("tar", &["-cf", "-", "."], from.path());
    let report = over(to.path()).await.upload_tree(&path("/"), pieces(&archive, 10_000)).await.unwrap();
    assert_eq!((report.files, report.skipped_links, report.skipped_special), (1, 3, 1));
}

/// What was asked for may be a link; what is below it is named from there all the same.
#[tokio::test]
async fn a_directory_behind_a_link_is_packed_under_its_own_names() {
    let from = TempDir::new().unwrap();
    fs::create_dir_all(from.path().join("real/d")).unwrap();
    fs::write(from.path().join("real/d/f"), "x").unwrap();
    symlink("real", from.path().join("link")).unwrap();
    symlink("real/d/f", from.path().join("file")).unwrap();
    let remote = over(from.path()).await;
    for (at, names) in [("/link", &b"d/\nd/f\n"[..]), ("/link/d", b"f\n"), ("/file", b"file\n")] {
        let (archive, _) = downloaded(&remote, at).await;
        fs::write(from.path().join("x.tar"), archive).unwrap();
        assert_eq!(run("tar", &["-tf", "x.tar"], from.path()), names, "{at}");
    }
}

#[tokio::test]
async fn an_archive_that_breaks_off_says_why() {
    let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    make_tree(from.path());
    let (archive, _) = downloaded(&over(from.path()).await, "/").await;
    let remote = over(to.path()).await;
    for cut in [0, 1, 100, 511, 512, 2_000, archive.len() - 1_200_000, archive.len() - 1_024] {
        let error = remote.upload_tree(&path("/"), pieces(&archive[..cut], 10_000)).await.unwrap_err();
        assert_eq!((error.kind(), error.sentence()), (ErrorKind::InvalidArgument, "the archive is cut off"), "{cut}");
    }
    let failure = Error::new(ErrorKind::TimedOut, "the sender was slow").hint("wait");
    let broken = pieces(&archive[..90_000], 10_000).chain(stream::iter([Err(failure.clone())]));
    assert_eq!(remote.upload_tree(&path("/"), Box::pin(broken)).await.unwrap_err(), failure);
}

#[tokio::test]
async fn what_is_not_there_cannot_be_packed() {
    let from = TempDir::new().unwrap();
    let error = over(from.path()).await.download_tree(&path("/nothing")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// The body cannot take back what it said; the error comes after it, and is the last word.
#[tokio::test]
async fn an_error_in_the_middle_of_a_download_is_told() {
    let from = TempDir::new().unwrap();
    // More than can be on its way without a reader.
    fs::write(from.path().join("a"), vec![0; 32 << 20]).unwrap();
    let remote = over(from.path()).await;
    let mut download = remote.download_tree(&path("/")).await.unwrap();
    download.next().await.unwrap().unwrap();
    fs::write(from.path().join("a"), "now it is short").unwrap();
    let error = loop {
        match download.next().await {
            Some(Ok(_)) => {}
            last => break last.expect("not a whole archive").unwrap_err(),
        }
    };
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(download.next().await.is_none() && download.report().is_none());
}
