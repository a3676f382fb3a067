//! What people, models and file systems get wrong: each has a clear answer, and nothing is lost.

use std::{
    ffi::OsStr,
    io::Write,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    time::{Duration, Instant},
};

use rustix::fs::{Mode, OFlags};
use workden_core::{
    Backend, BackendExt, ByteRange, EntryKind, ErrorKind, Expect, IfExists, NameForm, Removal, Symlink,
    search::{GlobRequest, GrepRequest, ListRequest},
    text::{Replacement, TextWindow},
};
use workden_files::LocalBackend;

use crate::local::{Until, block_on, path, places, refused, rounds};

#[test]
fn a_workspace_that_cannot_be_opened_is_told_in_our_words() {
    let directory = tempfile::tempdir().unwrap();
    let (file, gone) = (directory.path().join("file"), directory.path().join("gone"));
    std::fs::write(&file, "x").unwrap();
    let opened = |host: &std::path::Path| LocalBackend::open(host).unwrap_err().sentence().to_owned();
    assert_eq!(opened(&gone), "cannot open the directory of the workspace: there is no such directory");
    assert_eq!(opened(&file), "cannot open the directory of the workspace: it is not a directory");
    let several = LocalBackend::open_several([(path("/in"), directory.path()), (path("/out"), &gone)]).unwrap_err();
    assert_eq!(several.sentence(), "cannot open the directory to mount at `/out`: there is no such directory");
}

#[test]
fn names_that_are_not_utf8_are_listed_and_marked() {
    for place in places() {
        std::fs::write(place.root.join(OsStr::from_bytes(b"caf\xE9.txt")), "needle").unwrap();
        std::fs::create_dir(place.root.join(OsStr::from_bytes(b"d\xFF"))).unwrap();
        std::fs::write(place.root.join(OsStr::from_bytes(b"d\xFF/x")), "needle").unwrap();
        block_on(async {
            let listing = place.files.list_path(&path("/"), &ListRequest::default()).await.unwrap();
            let shown: Vec<_> = listing.entries.iter().map(|entry| (entry.path.as_str(), entry.name)).collect();
            assert_eq!(shown, [("/d\u{FFFD}", NameForm::NotUtf8), ("/caf\u{FFFD}.txt", NameForm::NotUtf8)]);
            let globbed = place.files.glob_path(&path("/"), &GlobRequest::new("**/*.txt")).await.unwrap();
            assert_eq!((globbed.entries.len(), globbed.entries[0].name), (1, NameForm::NotUtf8));
            let found = place.files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap();
            assert_eq!((found.matches, found.files[0].name), (1, NameForm::NotUtf8));
            let read = place.files.read_bytes(&listing.entries[1].path).await;
            assert_eq!(refused(&place, read).kind(), ErrorKind::NotFound);
        });
    }
}

#[test]
fn a_huge_sparse_file_costs_nothing() {
    for place in places() {
        let file = std::fs::File::create(place.root.join("sparse")).unwrap();
        file.set_len(2 << 30).unwrap();
        let started = Instant::now();
        let name = path("/sparse");
        block_on(async {
            let files = &place.files;
            assert_eq!(files.entry(&name).await.unwrap().size, Some(2 << 30));
            assert_eq!(refused(&place, files.read_bytes(&name).await).kind(), ErrorKind::TooLarge);
            assert_eq!(refused(&place, files.read_numbered(&name, 0, 1).await).kind(), ErrorKind::NotText);
            let edited = files.edit(&name, &[Replacement::once("a", "b")]).await;
            assert_eq!(refused(&place, edited).kind(), ErrorKind::TooLarge);
            let at = files.resolve(&name, Symlink::Follow).await.unwrap();
            let part = files.read(&at, ByteRange::Part { offset: (2 << 30) - 3, length: 10 }).await.unwrap();
            assert_eq!(part.bytes.as_ref(), [0; 3]);
            let past = files.read(&at, ByteRange::Part { offset: u64::MAX, length: u64::MAX }).await.unwrap();
            assert!(past.bytes.is_empty());
            let found = files.grep_path(&path("/"), &GrepRequest::literal("a")).await.unwrap();
            assert_eq!((found.matches, found.skipped.binary), (0, 1));
        });
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_is_read_as_it_was() {
    for place in places() {
        let file = place.root.join("log");
        std::fs::write(&file, "line\n".repeat(10_000)).unwrap();
        std::thread::scope(|scope| {
            let until = Until::default();
            let is_over = until.is_over();
            let file = &file;
            scope.spawn(move || {
                let mut log = std::fs::File::options().append(true).open(file).unwrap();
                // Bounded: on a busy machine the reader is slow, and what is read whole has a ceiling.
                for _ in (0..50_000).take_while(|_| !is_over()) {
                    log.write_all(&b"line\n".repeat(20)).unwrap();
                    std::thread::sleep(Duration::from_micros(50));
                }
            });
            block_on(async {
                let mut last = 0;
                for _ in 0..rounds(200) {
                    let read = place.files.read_bytes(&path("/log")).await.unwrap();
                    assert!(read.len() >= last, "{} after {last}", read.len());
                    // A record may be seen in part: the kernel appends page by page.
                    assert!(read.chunks(5).all(|record| b"line\n".starts_with(record)));
                    last = read.len();
                    let window = place.files.read_window(&path("/log"), TextWindow::lines(0, 5)).await.unwrap();
                    assert_eq!(window.text, "line\n".repeat(5));
                    let found = place.files.grep_path(&path("/log"), &GrepRequest::literal("lime")).await.unwrap();
                    assert_eq!(found.matches, 0);
                }
            });
        });
    }
}

#[test]
fn entries_that_come_and_go_do_not_spoil_a_listing() {
    for place in places() {
        for n in 0..100 {
            std::fs::write(place.root.join(format!("stays-{n}")), "needle").unwrap();
        }
        std::thread::scope(|scope| {
            let until = Until::default();
            let is_over = until.is_over();
            let root = &place.root;
            scope.spawn(move || {
                for n in 0.. {
                    if is_over() {
                        break;
                    }
                    let name = root.join(format!("comes-and-goes-{}", n % 50));
                    if n % 100 < 50 {
                        std::fs::write(&name, "").unwrap();
                    } else {
                        let _ = std::fs::remove_file(&name);
                    }
                }
            });
            block_on(async {
                for _ in 0..100 {
                    let stays = |name: &str| name.starts_with("/stays-");
                    let listing = place.files.list_path(&path("/"), &ListRequest::default()).await.unwrap();
                    assert_eq!(listing.entries.iter().filter(|entry| stays(entry.path.as_str())).count(), 100);
                    let globbed = place.files.glob_path(&path("/"), &GlobRequest::new("stays-*")).await.unwrap();
                    assert_eq!(globbed.entries.len(), 100);
                    let found = place.files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap();
                    assert_eq!(found.files_matched, 100);
                }
            });
        });
    }
}

#[test]
fn a_tree_deeper_than_one_path_can_say_is_read_and_removed() {
    for place in places() {
        let name = "n".repeat(200);
        // Made as an attacker would make it: step by step.
        let mut at = rustix::fs::open(&place.root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..30 {
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, &name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        let file = rustix::fs::openat(&at, "file.txt", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
        rustix::io::write(&file, b"needle").unwrap();
        let deep = path(&vec![name.as_str(); 30].join("/")).child("file.txt").unwrap();
        assert!(deep.as_str().len() > 6000);
        block_on(async {
            let files = &place.files;
            assert_eq!(files.read_bytes(&deep).await.unwrap(), "needle");
            assert_eq!(files.glob_path(&path("/"), &GlobRequest::new("**/*.txt")).await.unwrap().entries[0].path, deep);
            assert_eq!(files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap().matches, 1);
            let longer = files.write_path(&deep, "x".into(), Expect::Anything).await;
            assert_eq!(refused(&place, longer).kind(), ErrorKind::InvalidPath, "nothing is made or changed there");
            files.remove_path(&path(&name), Removal::Tree).await.unwrap();
        });
        assert_eq!(std::fs::read_dir(&place.root).unwrap().count(), 0);
    }
}

#[test]
fn a_read_only_file_is_not_written() {
    for place in places() {
        let file = place.root.join("file");
        std::fs::write(&file, "kept").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
        block_on(async {
            let files = &place.files;
            let name = path("/file");
            let written = refused(&place, files.write_path(&name, "x".into(), Expect::Anything).await);
            assert_eq!(written.kind(), ErrorKind::ReadOnly);
            assert!(written.to_string().contains("the file is read-only"), "{written}");
            let edited = files.edit(&name, &[Replacement::once("kept", "lost")]).await;
            assert_eq!(refused(&place, edited).kind(), ErrorKind::ReadOnly);
            std::fs::write(place.root.join("other"), "other").unwrap();
            let copied = files.copy_path(&path("/other"), &name, IfExists::Replace).await;
            assert_eq!(refused(&place, copied).kind(), ErrorKind::ReadOnly);
        });
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
        assert_eq!(std::fs::read_dir(&place.root).unwrap().count(), 2, "nothing temporary stays");
    }
}

#[test]
fn quotes_and_newlines_in_names_are_names() {
    for place in places() {
        block_on(async {
            for name in [
                "a\nb",
                "it's",
                "\"q\"",
                "$(touch x)",
                "-rf",
                "a:1:b",
                "`tick`",
                " lead",
                "trail ",
                "tab\t",
                "\u{1F600}",
            ] {
                let file = path(&format!("/d/{name}"));
                place.files.write_path(&file, "needle\n".into(), Expect::Absent).await.unwrap();
                assert_eq!(place.files.read_bytes(&file).await.unwrap(), "needle\n");
                let found = place.files.grep_path(&path("/d"), &GrepRequest::literal("needle")).await.unwrap();
                assert_eq!(found.files[0].path, file);
                let entry =
                    place.files.glob_path(&path("/"), &GlobRequest::new("d/*")).await.unwrap().entries.remove(0);
                assert_eq!((entry.path, entry.kind), (file.clone(), EntryKind::File));
                place.files.remove_path(&file, Removal::One).await.unwrap();
            }
        });
    }
}

#[test]
fn the_root_itself_cannot_be_written_moved_or_removed() {
    for place in places() {
        block_on(async {
            let root = path("/");
            let files = &place.files;
            let written = files.write_path(&root, "x".into(), Expect::Anything).await;
            assert_eq!(refused(&place, written).kind(), ErrorKind::IsDirectory);
            assert_eq!(refused(&place, files.read_bytes(&root).await).kind(), ErrorKind::IsDirectory);
            assert!(files.remove_path(&root, Removal::Tree).await.is_err());
            assert!(files.move_path(&root, &path("/x"), IfExists::Replace).await.is_err());
        });
    }
}
