//! FIFOs, sockets and devices: an answer at once, and never a touch.

use std::{
    os::unix::net::UnixListener,
    time::{Duration, Instant},
};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use workden_core::{
    BackendExt, EntryKind, ErrorKind, Expect, IfExists, Removal,
    search::{GlobKinds, GlobRequest, GrepRequest, ListRequest},
    text::Replacement,
};

use crate::local::{block_on, path, places, refused};

#[test]
fn special_files_answer_at_once() {
    for place in places() {
        let started = Instant::now();
        let node = |name: &str, kind, device| {
            mknodat(CWD, place.root.join(name), kind, Mode::from_raw_mode(0o666), device).unwrap();
        };
        node("fifo", FileType::Fifo, 0);
        let _socket = UnixListener::bind(place.root.join("socket")).unwrap();
        let mut names = vec!["/fifo", "/socket"];
        // Only root can make a device node.
        if rustix::process::geteuid().is_root() {
            node("device", FileType::CharacterDevice, makedev(1, 3));
            names.push("/device");
        }
        std::fs::write(place.root.join("file"), "needle").unwrap();
        let files = &place.files;
        block_on(async {
            for name in &names {
                let name = path(name);
                let kinds = [
                    refused(&place, files.read_bytes(&name).await).kind(),
                    refused(&place, files.read_numbered(&name, 0, 1).await).kind(),
                    refused(&place, files.write_path(&name, "x".into(), Expect::Anything).await).kind(),
                    refused(&place, files.edit(&name, &[Replacement::once("a", "b")]).await).kind(),
                    refused(&place, files.grep_path(&name, &GrepRequest::literal("x")).await).kind(),
                    refused(&place, files.copy_path(&name, &path("/copy"), IfExists::Replace).await).kind(),
                    refused(&place, files.copy_path(&path("/file"), &name, IfExists::Replace).await).kind(),
                ];
                assert_eq!(kinds, [ErrorKind::NotRegular; 7], "{name}");
                assert_eq!(files.entry(&name).await.unwrap().kind, EntryKind::Special);
                assert!(!files.exists(&name).await);
            }
            let listing = files.list_path(&path("/"), &ListRequest::default()).await.unwrap();
            assert_eq!(listing.entries.len(), names.len() + 1);
            assert_eq!(files.glob_path(&path("/"), &GlobRequest::new("*")).await.unwrap().entries.len(), 1);
            let everything = GlobRequest::new("*").kinds(GlobKinds::Everything);
            assert_eq!(files.glob_path(&path("/"), &everything).await.unwrap().entries.len(), names.len() + 1);
            let found = files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap();
            assert_eq!((found.matches, found.files_searched), (1, 1));
            for name in &names {
                files.remove_path(&path(name), Removal::One).await.unwrap();
            }
        });
        assert!(started.elapsed() < Duration::from_secs(60), "a call waited");
    }
}
