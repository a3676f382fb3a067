//! Names of every kind come through as they are.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use bytes::Bytes;
use tempfile::TempDir;
use workden_core::{
    BackendExt, Expect, IfExists, NameForm,
    search::{GlobRequest, GrepRequest, ListRequest},
};
use workden_files::LocalBackend;

use crate::{
    pipes::{connected, path},
    scripted::Scripted,
};

const NAMES: &[&str] = &[
    " ",
    "a b",
    "a\nb",
    "a\tb\r",
    "%41%2F%00",
    "?x=1&y=2#z",
    "\"quoted\" and \\back\\",
    "ümläut",
    "日本語",
    "🦀",
    "e\u{301}",
    "\u{7f}\u{1b}[31m",
    "\u{fffd}",
    "\u{202e}x",
    ".hidden",
    "..x",
    "...",
    "-rf",
    "{a,b}[c]*",
    "$(x)`y`;",
];

#[tokio::test]
async fn odd_names_are_written_read_listed_found_moved_and_removed() {
    let directory = TempDir::new().unwrap();
    let remote = connected(Scripted::over(LocalBackend::open(directory.path()).unwrap())).await;
    for name in NAMES {
        let content = Bytes::from(format!("needle in {name}"));
        let file = path(&format!("/d/{name}"));
        remote.write_path(&file, content.clone(), Expect::Absent).await.unwrap();
        assert_eq!(std::fs::read(directory.path().join("d").join(name)).unwrap(), content, "{name:?}");
        assert_eq!(remote.read_bytes(&file).await.unwrap(), content, "{name:?}");
        assert_eq!(remote.entry(&file).await.unwrap().path, file);
        let moved = path(&format!("/moved/{name}"));
        remote.move_path(&file, &moved, IfExists::Refuse).await.unwrap();
        remote.copy_path(&moved, &file, IfExists::Refuse).await.unwrap();
    }
    let listing = remote.list_path(&path("/d"), &ListRequest::default()).await.unwrap();
    let globbed = remote.glob_path(&path("/d"), &GlobRequest::new("*")).await.unwrap();
    assert_eq!((listing.entries.len(), globbed.entries.len()), (NAMES.len(), NAMES.len()));
    let mut request = GrepRequest::regex("^needle in");
    request.hidden = workden_core::search::Hidden::Include;
    assert_eq!(remote.grep_path(&path("/d"), &request).await.unwrap().files.len(), NAMES.len());
}

#[tokio::test]
async fn names_that_are_not_utf8_are_shown_as_such() {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join(OsStr::from_bytes(b"a\xffb")), "x").unwrap();
    let remote = connected(Scripted::over(LocalBackend::open(directory.path()).unwrap())).await;
    let listing = remote.list_path(&path("/"), &ListRequest::default()).await.unwrap();
    assert_eq!(listing.entries[0].path.as_str(), "/a\u{fffd}b");
    assert_eq!(listing.entries[0].name, NameForm::NotUtf8);
}

#[tokio::test]
async fn long_paths_are_answered_by_the_sandbox_and_absurd_ones_here() {
    let directory = TempDir::new().unwrap();
    let remote = connected(Scripted::over(LocalBackend::open(directory.path()).unwrap())).await;
    for count in [100, 1_000, 10_000] {
        let long = path(&"/ü日".repeat(count));
        let there = remote.write_path(&long, Bytes::new(), Expect::Absent).await;
        let here =
            LocalBackend::open(directory.path()).unwrap().write_path(&long, Bytes::new(), Expect::Anything).await;
        assert_eq!(there.is_ok(), here.is_ok(), "{count}");
    }
    assert!(!remote.is_gone());
    remote.origins().await.unwrap();
}
