//! Symbolic and hard links: inside they are followed, outside they lead nowhere.

use workden_core::{
    BackendExt, EntryKind, ErrorKind, Expect, IfExists, Link, Removal,
    search::{GlobKinds, GlobRequest, GrepRequest, ListRequest},
    text::Replacement,
};

use crate::local::{SECRET, block_on, path, places, refused, symlink};

#[test]
fn links_inside_are_followed() {
    for place in places() {
        let root = &place.root;
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/file.txt"), "inside\n").unwrap();
        symlink("a/b", root.join("relative"));
        symlink("/a/b", root.join("from_the_root"));
        symlink(root.join("a/b"), root.join("from_the_host"));
        symlink("../relative/file.txt", root.join("a/up_and_over"));
        symlink("up_and_over", root.join("a/twice"));
        block_on(async {
            for typed in [
                "/relative/file.txt",
                "/from_the_root/file.txt",
                "/from_the_host/file.txt",
                "/a/up_and_over",
                "/a/twice",
            ] {
                let read = place.files.read_bytes(&path(typed)).await.unwrap();
                assert_eq!(read, "inside\n", "{typed}");
            }
            let listing = place.files.list_path(&path("/relative"), &ListRequest::default()).await.unwrap();
            assert_eq!(listing.entries[0].path, path("/a/b/file.txt"), "told by its real path");
            let all = place.files.list_path(&path("/"), &ListRequest::default()).await.unwrap();
            let kinds: Vec<_> = all.entries.iter().map(|e| (e.path.as_str(), e.kind, e.link)).collect();
            assert_eq!(kinds[0], ("/a", EntryKind::Directory, Link::Direct));
            assert!(kinds[1..].iter().all(|(_, kind, link)| (*kind, *link) == (EntryKind::Directory, Link::Symbolic)));
        });
    }
}

#[test]
fn a_file_on_the_way_is_told_as_it_was_typed() {
    for place in places() {
        std::fs::create_dir(place.root.join("src")).unwrap();
        std::fs::write(place.root.join("src/a.rs"), "x").unwrap();
        symlink("src", place.root.join("short"));
        symlink("src/a.rs", place.root.join("file"));
        symlink("src/a.rs/b", place.root.join("through"));
        let files = &place.files;
        block_on(async {
            for (typed, why) in [
                ("/src/a.rs/y", "`/src/a.rs` is a file, so nothing can be below it"),
                ("/short/a.rs/y", "`/short/a.rs` is a file, so nothing can be below it"),
                ("/short/a.rs/y/z", "`/short/a.rs` is a file, so nothing can be below it"),
                ("/file/y/z", "`/file` is a file, so nothing can be below it"),
                ("/through", "a file is on the way, so nothing can be below it"),
            ] {
                let at = path(typed);
                let from = path("/src/a.rs");
                let edits = [Replacement::once("x", "y")];
                for (verb, error) in [
                    ("write", refused(&place, files.write_path(&at, "y".into(), Expect::Anything).await)),
                    ("read", refused(&place, files.read_bytes(&at).await)),
                    ("edit", refused(&place, files.edit(&at, &edits).await)),
                    ("list", refused(&place, files.list_path(&at, &ListRequest::default()).await)),
                    ("search", refused(&place, files.glob_path(&at, &GlobRequest::new("*")).await)),
                    ("search", refused(&place, files.grep_path(&at, &GrepRequest::literal("x")).await)),
                    ("copy to", refused(&place, files.copy_path(&from, &at, IfExists::Refuse).await)),
                ] {
                    assert_eq!(error.sentence(), format!("cannot {verb} `{typed}`: {why}"));
                }
            }
            let moved = files.move_path(&path("/short/a.rs"), &path("/short/a.rs/y/z"), IfExists::Refuse).await;
            assert_eq!(
                refused(&place, moved).sentence(),
                "cannot move to `/short/a.rs/y/z`: `/short/a.rs` is a file, so nothing can be below it"
            );
        });
    }
}

#[test]
fn a_write_through_a_link_changes_what_it_leads_to() {
    for place in places() {
        let root = &place.root;
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/file"), "old").unwrap();
        symlink("d/file", root.join("link"));
        symlink("d/new", root.join("dangling"));
        block_on(async {
            place.files.write_path(&path("/link"), "new".into(), Expect::Anything).await.unwrap();
            place.files.edit(&path("/link"), &[Replacement::once("new", "newer")]).await.unwrap();
            place.files.write_path(&path("/dangling"), "made".into(), Expect::Absent).await.unwrap();
        });
        assert_eq!(std::fs::read_to_string(root.join("d/file")).unwrap(), "newer");
        assert_eq!(std::fs::read_to_string(root.join("d/new")).unwrap(), "made");
        assert!(root.join("link").is_symlink() && root.join("dangling").is_symlink());
    }
}

#[test]
fn removing_and_moving_act_on_the_link_itself() {
    for place in places() {
        let root = &place.root;
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/file"), "stays").unwrap();
        for name in ["to_file", "to_directory", "broken", "moved"] {
            symlink(if name == "to_directory" { "d" } else { "d/file" }, root.join(name));
        }
        block_on(async {
            for name in ["/to_file", "/to_directory"] {
                place.files.remove_path(&path(name), Removal::Tree).await.unwrap();
            }
            place.files.move_path(&path("/moved"), &path("/d/elsewhere"), IfExists::Refuse).await.unwrap();
        });
        assert_eq!(std::fs::read_to_string(root.join("d/file")).unwrap(), "stays");
        assert!(!root.join("to_file").is_symlink() && !root.join("to_directory").is_symlink());
        assert!(root.join("d/elsewhere").is_symlink());
    }
}

/// Every call, on every spelling of a way out.
#[test]
fn links_that_leave_the_root_lead_nowhere() {
    for place in places() {
        let root = &place.root;
        std::fs::create_dir(root.join("in")).unwrap();
        std::fs::write(root.join("in/a.txt"), "inside").unwrap();
        symlink("../outside", root.join("climbs"));
        symlink("../../outside", root.join("in/climbs"));
        symlink(&place.outside, root.join("absolute"));
        symlink("/proc/self/root", root.join("magic"));
        symlink("climbs", root.join("indirect"));
        symlink("in/../../outside", root.join("dotted"));
        block_on(async {
            for way in ["/climbs", "/in/climbs", "/absolute", "/indirect", "/dotted", "/magic"] {
                let file = path(&format!("{way}/secret.txt"));
                let directory = path(way);
                let files = &place.files;
                let kinds = [
                    refused(&place, files.read_bytes(&file).await).kind(),
                    refused(&place, files.read_numbered(&file, 0, 10).await).kind(),
                    refused(&place, files.edit(&file, &[Replacement::once("secret", "open")]).await).kind(),
                    refused(&place, files.list_path(&directory, &ListRequest::default()).await).kind(),
                    refused(&place, files.glob_path(&directory, &GlobRequest::new("**")).await).kind(),
                    refused(&place, files.grep_path(&directory, &GrepRequest::literal("secret")).await).kind(),
                    refused(&place, files.grep_path(&file, &GrepRequest::literal("secret")).await).kind(),
                    refused(&place, files.copy_path(&file, &path("/stolen"), IfExists::Replace).await).kind(),
                    refused(&place, files.move_path(&file, &path("/stolen"), IfExists::Replace).await).kind(),
                    refused(&place, files.remove_path(&file, Removal::Tree).await).kind(),
                    refused(&place, files.entry(&file).await).kind(),
                ];
                for kind in kinds {
                    assert!(matches!(kind, ErrorKind::Escapes | ErrorKind::NotFound), "{way}: {kind:?}");
                }
                assert!(!files.exists(&file).await);
                // A link that climbs is refused; one that starts at `/` starts at the workspace.
                let written = files.write_path(&path(&format!("{way}/new")), "x".into(), Expect::Anything).await;
                assert!(written.is_ok() != way.contains("climbs") || way == "/indirect" || way == "/dotted", "{way}");
                let made = files.make_dir_path(&path(&format!("{way}/made"))).await;
                assert_eq!(made.is_ok(), written.is_ok(), "{way}");
            }
            let everything = GlobRequest::new("**").kinds(GlobKinds::Everything);
            let globbed = place.files.glob_path(&path("/"), &everything).await.unwrap();
            assert!(globbed.entries.iter().all(|entry| !entry.path.as_str().contains("secret")));
            let grepped = place.files.grep_path(&path("/"), &GrepRequest::literal(SECRET)).await.unwrap();
            assert_eq!(grepped.matches, 0);
            let listing = place.files.list_path(&path("/"), &ListRequest::default()).await.unwrap();
            let climbs = listing.entries.iter().find(|entry| entry.path == path("/climbs")).unwrap();
            assert_eq!((climbs.kind, climbs.size), (EntryKind::BrokenLink, None));
        });
        place.outside_is_untouched();
    }
}

#[test]
fn loops_and_dangling_links_spoil_nothing() {
    for place in places() {
        let root = &place.root;
        symlink("b", root.join("a"));
        symlink("a", root.join("b"));
        symlink("self/x", root.join("self"));
        symlink("gone", root.join("dangling"));
        std::fs::write(root.join("file"), "needle").unwrap();
        block_on(async {
            for name in ["/a", "/b", "/a/x", "/self"] {
                assert_eq!(refused(&place, place.files.read_bytes(&path(name)).await).kind(), ErrorKind::LinkLoop);
                let written = place.files.write_path(&path(name), "x".into(), Expect::Anything).await;
                assert_eq!(refused(&place, written).kind(), ErrorKind::LinkLoop);
            }
            assert_eq!(refused(&place, place.files.read_bytes(&path("/dangling")).await).kind(), ErrorKind::NotFound);
            let listing = place.files.list_path(&path("/"), &ListRequest::default()).await.unwrap();
            let kinds: Vec<_> = listing.entries.iter().map(|entry| (entry.path.as_str(), entry.kind)).collect();
            let broken = EntryKind::BrokenLink;
            assert_eq!(
                kinds,
                [("/a", broken), ("/b", broken), ("/dangling", broken), ("/file", EntryKind::File), ("/self", broken)]
            );
            assert_eq!(place.files.glob_path(&path("/"), &GlobRequest::new("*")).await.unwrap().entries.len(), 1);
            let found = place.files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap();
            assert_eq!(found.matches, 1);
            for name in ["/a", "/dangling"] {
                place.files.remove_path(&path(name), Removal::One).await.unwrap();
            }
        });
    }
}

#[test]
fn a_hard_link_to_a_file_outside_is_severed_by_a_write() {
    for place in places() {
        let inside = place.root.join("linked");
        for change in ["write", "edit", "copy", "move"] {
            let _ = std::fs::remove_file(&inside);
            std::fs::hard_link(place.outside.join("secret.txt"), &inside).unwrap();
            std::fs::write(place.root.join("source"), "new content").unwrap();
            block_on(async {
                let target = path("/linked");
                match change {
                    "write" => drop(place.files.write_path(&target, "new".into(), Expect::Anything).await.unwrap()),
                    "edit" => drop(place.files.edit(&target, &[Replacement::once("secret", "known")]).await.unwrap()),
                    "copy" => drop(place.files.copy_path(&path("/source"), &target, IfExists::Replace).await.unwrap()),
                    _ => place.files.move_path(&path("/source"), &target, IfExists::Replace).await.unwrap(),
                }
            });
            assert_ne!(std::fs::read_to_string(&inside).unwrap(), SECRET);
            place.outside_is_untouched();
        }
    }
}

#[test]
fn links_below_are_shown_but_not_entered() {
    for place in places() {
        std::fs::create_dir(place.root.join("d")).unwrap();
        std::fs::write(place.root.join("d/x.txt"), "needle").unwrap();
        symlink("d", place.root.join("e"));
        symlink("d/x.txt", place.root.join("y.txt"));
        block_on(async {
            let found = place.files.glob_path(&path("/"), &GlobRequest::new("**/*.txt")).await.unwrap();
            let mut paths: Vec<_> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
            paths.sort_unstable();
            assert_eq!(paths, ["/d/x.txt", "/y.txt"]);
            let lines = place.files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap();
            assert_eq!((lines.matches, lines.files[0].path.as_str()), (1, "/d/x.txt"));
            let named = place.files.grep_path(&path("/y.txt"), &GrepRequest::literal("needle")).await.unwrap();
            assert_eq!(named.matches, 1, "a link that is named is followed");
        });
    }
}
