//! Places that are left out are not there, for any call and through any link.

use std::time::Duration;

use bytes::Bytes;
use tempfile::TempDir;
use workden_core::{
    Backend, BackendExt, ByteRange, Content, EntryKind, ErrorKind, Expect, IfExists, Removal, Resolved, Symlink,
    search::{GlobKinds, GlobRequest, GrepRequest, Hidden, IgnoreFiles, ListRequest},
    text::Replacement,
};
use workden_files::{LocalBackend, PathOpening};

use crate::local::{block_on, path, symlink};

const OPENINGS: [PathOpening; 2] = [PathOpening::Detect, PathOpening::StepByStep];

/// A tree with `/proc` and `/a/gone` left out, and links to them from everywhere.
fn workspaces() -> Vec<(TempDir, LocalBackend)> {
    let workspace = |opening| {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for made in ["proc/self", "a/gone/deep", "a/there", "empty"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        for file in ["proc/self/environ", "proc/version", "a/gone/deep/file", "a/gone.txt", "a/there/file"] {
            std::fs::write(root.join(file), "needle\n").unwrap();
        }
        symlink("proc", root.join("to_place"));
        symlink("/proc/self", root.join("into_place"));
        symlink("../a/gone/deep/file", root.join("empty/to_file"));
        symlink("/a/there", root.join("proc/out_again"));
        let left_out = [path("/proc"), path("/a/gone"), path("/never/there")];
        let files = LocalBackend::options().path_opening(opening).without(left_out).open(root).unwrap();
        (directory, files)
    };
    OPENINGS.map(workspace).into()
}

const NOT_THERE: [&str; 9] = [
    "/proc",
    "/proc/version",
    "/proc/self/environ",
    "/a/gone",
    "/a/gone/deep/file",
    "/to_place",
    "/to_place/version",
    "/into_place/environ",
    "/empty/to_file",
];

#[test]
fn nothing_in_a_place_is_read_or_found() {
    for (_directory, files) in workspaces() {
        block_on(async {
            for typed in NOT_THERE {
                let at = path(typed);
                let is_link =
                    files.resolve(&at, Symlink::NoFollow).await.unwrap().real == at && files.exists(&at).await;
                assert_eq!(files.read_bytes(&at).await.unwrap_err().kind(), ErrorKind::NotFound, "{typed}");
                let listed = files.list_path(&at, &ListRequest::default()).await;
                assert_eq!(listed.unwrap_err().kind(), ErrorKind::NotFound, "{typed}");
                let grepped = files.grep_path(&at, &GrepRequest::literal("needle")).await;
                assert_eq!(grepped.unwrap_err().kind(), ErrorKind::NotFound, "{typed}");
                let globbed = files.glob_path(&at, &GlobRequest::new("**")).await;
                assert_eq!(globbed.unwrap_err().kind(), ErrorKind::NotFound, "{typed}");
                assert!(!is_link, "{typed}");
            }
            let through = files.resolve(&path("/proc/out_again/file"), Symlink::Follow).await.unwrap();
            assert_eq!(through.real, path("/proc/out_again/file"), "a link in a place is none");
            assert_eq!(files.read_bytes(&path("/a/there/file")).await.unwrap(), "needle\n");
        });
    }
}

#[test]
fn no_call_on_a_path_that_was_not_resolved_gets_in() {
    for (directory, files) in workspaces() {
        block_on(async {
            for typed in ["/proc", "/proc/version", "/proc/self/environ", "/a/gone/deep/file"] {
                let at = Resolved::literal(path(typed));
                let other = Resolved::literal(path("/taken.txt"));
                let kinds = [
                    files.stat(&at).await.unwrap_err().kind(),
                    files.read(&at, ByteRange::whole()).await.unwrap_err().kind(),
                    files.identify(&at).await.unwrap_err().kind(),
                    files.remove(&at, Removal::Tree).await.unwrap_err().kind(),
                    files.rename(&at, &other, IfExists::Refuse).await.unwrap_err().kind(),
                    files.copy(&at, &other, IfExists::Refuse).await.unwrap_err().kind(),
                ];
                assert_eq!(kinds, [ErrorKind::NotFound; 6], "{typed}");
                assert_eq!(files.other_names(&[at]).await.unwrap(), [Vec::new()]);
            }
        });
        assert!(directory.path().join("proc/self/environ").exists());
        assert!(!directory.path().join("taken.txt").exists());
    }
}

#[test]
fn nothing_can_be_made_changed_or_taken_away_in_a_place() {
    for (directory, files) in workspaces() {
        let before = snapshot(directory.path());
        block_on(async {
            let denied = ErrorKind::PermissionDenied;
            for typed in ["/proc", "/proc/new", "/proc/version", "/a/gone/new/deeper", "/never/there", "/to_place/new"]
            {
                let at = path(typed);
                let written = files.write_path(&at, Bytes::from_static(b"x"), Expect::Anything).await;
                assert_eq!(written.unwrap_err().kind(), denied, "{typed}");
                let real = files.resolve(&at, Symlink::Follow).await.unwrap();
                let pieces = [Ok(Bytes::from(vec![0; 600_000])), Ok(Bytes::from_static(b"x"))];
                let streamed = Content::Stream(Box::pin(futures_util::stream::iter(pieces)));
                let streamed = files.write(&real, streamed, Expect::Absent).await;
                assert_eq!(streamed.unwrap_err().kind(), denied, "{typed}");
                assert_eq!(files.make_dir_path(&at).await.unwrap_err().kind(), denied, "{typed}");
                let from = path("/a/there/file");
                let copied = files.copy_path(&from, &at, IfExists::Replace).await;
                assert_eq!(copied.unwrap_err().kind(), denied, "{typed}");
                let moved = files.rename(&Resolved::literal(from), &real, IfExists::Replace).await;
                assert_eq!(moved.unwrap_err().kind(), denied, "{typed}");
                let edited = files.edit(&at, &[Replacement::once("needle", "x")]).await;
                assert_eq!(edited.unwrap_err().kind(), ErrorKind::NotFound, "{typed}");
            }
            let at = path("/a");
            assert_eq!(files.remove_path(&at, Removal::Tree).await.unwrap_err().kind(), denied);
            assert_eq!(files.move_path(&at, &path("/b"), IfExists::Refuse).await.unwrap_err().kind(), denied);
        });
        assert_eq!(snapshot(directory.path()), before);
    }
}

#[test]
fn searches_and_listings_do_not_go_there() {
    for (_directory, files) in workspaces() {
        block_on(async {
            let root = path("/");
            let names = |entries: &[workden_core::Entry]| {
                let mut names: Vec<_> = entries.iter().map(|entry| entry.path.to_string()).collect();
                names.sort();
                names
            };
            let listed = files.list_path(&root, &ListRequest::default()).await.unwrap();
            assert_eq!(names(&listed.entries), ["/a", "/empty", "/into_place", "/to_place"]);
            let links = listed.entries.iter().filter(|entry| entry.kind == EntryKind::BrokenLink).count();
            assert_eq!(links, 2, "links to a place lead nowhere");
            let everything = GlobRequest::new("**").kinds(GlobKinds::Everything);
            let globbed = files.glob_path(&root, &everything).await.unwrap();
            assert_eq!(
                names(&globbed.entries),
                [
                    "/a",
                    "/a/gone.txt",
                    "/a/there",
                    "/a/there/file",
                    "/empty",
                    "/empty/to_file",
                    "/into_place",
                    "/to_place"
                ]
            );
            for pattern in ["/proc/**", "/proc/self/*", "/a/gone/*/*", "*/version"] {
                let globbed = files.glob_path(&root, &GlobRequest::new(pattern)).await.unwrap();
                assert!(globbed.entries.is_empty(), "{pattern}: {globbed:?}");
            }
            let grepped = files.grep_path(&root, &GrepRequest::literal("needle")).await.unwrap();
            let found: Vec<_> = grepped.files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(found, ["/a/gone.txt", "/a/there/file"]);
        });
    }
}

#[test]
fn a_hard_link_in_a_place_is_no_name_of_a_file() {
    for (directory, files) in workspaces() {
        let root = directory.path();
        for name in ["a/gone/deep/linked", "empty/linked"] {
            std::fs::hard_link(root.join("a/there/file"), root.join(name)).unwrap();
        }
        block_on(async {
            let at = Resolved::literal(path("/a/there/file"));
            assert_eq!(files.other_names(std::slice::from_ref(&at)).await.unwrap(), [[path("/empty/linked")]]);
            let identity = files.identify(&at).await.unwrap().unwrap();
            let names = files.names_of(&[identity]).await.unwrap();
            assert_eq!(names, [[path("/a/there/file"), path("/empty/linked")]]);
        });
    }
}

#[test]
fn the_root_cannot_be_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let refused = LocalBackend::options().without([path("/")]).open(directory.path()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}

/// The machine's own root: what sandboxes open inside. Only calls that change nothing.
#[cfg(target_os = "linux")]
#[test]
fn on_the_root_of_a_machine_the_kernels_files_are_not_there() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    symlink("/proc/self/environ", home.join("environ"));
    symlink(&home, home.join("itself"));
    std::fs::write(home.join("file"), "inside\n").unwrap();
    for opening in OPENINGS {
        let left_out = ["/proc", "/sys", "/dev"].map(path);
        let files = LocalBackend::options().path_opening(opening).without(left_out).open("/").unwrap();
        let open = LocalBackend::options().path_opening(opening).open("/").unwrap();
        block_on(async {
            let linked = home.join("environ");
            for typed in ["/proc/self/environ", "/proc/self/mem", "/proc/1/root/etc/passwd", "/dev/null", "/sys/kernel"]
                .into_iter()
                .chain([linked.to_str().unwrap()])
            {
                assert_eq!(files.read_bytes(&path(typed)).await.unwrap_err().kind(), ErrorKind::NotFound, "{typed}");
            }
            let mem = path("/proc/self/mem");
            let written = files.write_path(&mem, Bytes::from_static(b"x"), Expect::Anything).await;
            assert_eq!(written.unwrap_err().kind(), ErrorKind::PermissionDenied);
            assert!(open.exists(&mem).await, "it is there for a backend that does not leave it out");

            let by_glob = GlobRequest::new("/{proc,sys,dev}/*").kinds(GlobKinds::Everything);
            assert_eq!(files.glob_path(&path("/"), &by_glob).await.unwrap().entries, []);
            assert!(!open.glob_path(&path("/"), &by_glob).await.unwrap().entries.is_empty());
            let by_depth = GlobRequest::new("*/version");
            let found = files.glob_path(&path("/"), &by_depth).await.unwrap();
            assert!(!found.entries.iter().any(|entry| entry.path == path("/proc/version")));
            let found = open.glob_path(&path("/"), &by_depth).await.unwrap();
            assert!(found.entries.iter().any(|entry| entry.path == path("/proc/version")));
            let request = GrepRequest::literal("e")
                .hidden(Hidden::Include)
                .ignore_files(IgnoreFiles::Disregard)
                .deadline(Duration::from_millis(300));
            let grepped = files.grep_path(&path("/"), &request).await.unwrap();
            let inside = |file: &&workden_core::search::FileMatches| {
                ["/proc", "/sys", "/dev"].iter().any(|place| file.path.is_within(&path(place)))
            };
            assert_eq!(grepped.files.iter().find(inside), None);

            // Absolute links lead where they lead in other backends.
            for name in ["file", "itself/file", "itself/itself/file"] {
                let at = path(home.join(name).to_str().unwrap());
                assert_eq!(files.read_bytes(&at).await.unwrap(), "inside\n", "{at}");
                let real = files.resolve(&at, Symlink::Follow).await.unwrap().real;
                assert_eq!(real, path(home.join("file").to_str().unwrap()));
            }
        });
    }
}

/// Everything below a directory, with its content.
fn snapshot(root: &std::path::Path) -> Vec<(std::path::PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            }
            found.push((entry.path(), std::fs::read(entry.path()).ok()));
        }
    }
    found.sort();
    found
}
