//! The mount table: which mount wins, what is covered, and searches over all of them.

use workden_core::{
    BackendExt, ErrorKind, Expect, IfExists, Layer, Removal, Rule, RuleCase, Rules, Sight, Visibility,
    search::{GlobKinds, GlobRequest, GrepRequest, ListRequest},
    text::Replacement,
};
use workden_files::{CompositeBackend, LocalBackend, memory};

use crate::local::{block_on, path};

async fn put(files: &CompositeBackend, typed: &str, content: &str) {
    files.write_path(&path(typed), content.to_owned().into(), Expect::Anything).await.unwrap();
}

async fn listed(files: &CompositeBackend, typed: &str) -> Vec<String> {
    let listing = files.list_path(&path(typed), &ListRequest::default()).await.unwrap();
    listing.entries.iter().map(|entry| entry.path.to_string()).collect()
}

fn table() -> (CompositeBackend, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let files = CompositeBackend::builder()
        .mount("/", memory())
        .unwrap()
        .mount("/data/", LocalBackend::open(directory.path()).unwrap())
        .unwrap()
        .mount("/data/deep/inner", memory())
        .unwrap();
    (files.build(), directory)
}

#[test]
fn the_longest_mount_wins_and_is_stripped() {
    let (files, directory) = table();
    block_on(async {
        put(&files, "/a", "root").await;
        put(&files, "/data/b", "data").await;
        put(&files, "/data/deep/inner/c", "inner").await;
        put(&files, "/database", "not in data").await;
        assert_eq!(std::fs::read_to_string(directory.path().join("b")).unwrap(), "data");
        assert!(!directory.path().join("deep").exists());
        for (typed, content) in
            [("/a", "root"), ("data/./b", "data"), ("/data/deep/x/../inner/c", "inner"), ("//data//b", "data")]
        {
            assert_eq!(files.read_bytes(&path(typed)).await.unwrap(), content);
        }
        assert_eq!(listed(&files, "/").await, ["/data", "/a", "/database"]);
        assert_eq!(listed(&files, "/data").await, ["/data/deep", "/data/b"]);
        assert_eq!(listed(&files, "/data/deep").await, ["/data/deep/inner"]);
        assert_eq!(listed(&files, "/data/deep/inner").await, ["/data/deep/inner/c"]);
        assert!(files.entry(&path("/data/deep")).await.unwrap().is_dir());
    });
}

#[test]
fn what_a_mount_covers_is_not_there() {
    let (files, directory) = table();
    block_on(async {
        std::fs::create_dir_all(directory.path().join("deep/inner/hidden")).unwrap();
        std::fs::write(directory.path().join("deep/inner/covered"), "needle").unwrap();
        std::fs::write(directory.path().join("deep/beside"), "needle").unwrap();
        put(&files, "/data/deep/inner/c", "needle").await;
        assert_eq!(listed(&files, "/data/deep").await, ["/data/deep/inner", "/data/deep/beside"]);
        let found = files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap();
        let paths: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["/data/deep/beside", "/data/deep/inner/c"]);
        let globbed = files.glob_path(&path("/data"), &GlobRequest::new("**/*")).await.unwrap();
        assert_eq!(globbed.entries.len(), 2);
        assert!(!files.exists(&path("/data/deep/inner/covered")).await);
    });
}

#[test]
fn what_leads_to_a_mount_is_a_directory_whatever_is_stored_there() {
    for stored in [None, Some("needle")] {
        let (files, directory) = table();
        if let Some(content) = stored {
            std::fs::write(directory.path().join("deep"), content).unwrap();
        }
        block_on(async {
            put(&files, "/data/deep/inner/c", "needle").await;
            let deep = path("/data/deep");
            let kind = |error: workden_core::Error| error.kind();
            let edit = [Replacement::once("needle", "x")];
            for (call, answer) in [
                ("read", files.read_bytes(&deep).await.err().map(kind)),
                ("read lines", files.read_numbered(&deep, 0, 1).await.err().map(kind)),
                ("write", files.write_path(&deep, "x".into(), Expect::Anything).await.err().map(kind)),
                ("edit", files.edit(&deep, &edit).await.err().map(kind)),
                ("copy", files.copy_path(&deep, &path("/copy"), IfExists::Refuse).await.err().map(kind)),
            ] {
                assert_eq!(answer, Some(ErrorKind::IsDirectory), "{call}, stored {stored:?}");
            }
            assert!(files.entry(&deep).await.unwrap().is_dir());
            assert_eq!(listed(&files, "/data").await, ["/data/deep"]);
            for base in ["/", "/data", "/data/deep"] {
                let found = files.grep_path(&path(base), &GrepRequest::literal("needle")).await.unwrap();
                let paths: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
                assert_eq!(paths, ["/data/deep/inner/c"], "from {base}, stored {stored:?}");
                let found = files.glob_path(&path(base), &GlobRequest::new("**")).await.unwrap();
                let paths: Vec<_> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
                assert_eq!(paths, ["/data/deep/inner/c"], "from {base}, stored {stored:?}");
            }
        });
    }
}

#[test]
fn searches_cover_every_mount_below_in_one_order() {
    let (files, _directory) = table();
    block_on(async {
        for typed in ["/z.py", "/a.py", "/data/m.py", "/data/deep/inner/i.py", "/data/deep/b.py"] {
            put(&files, typed, "import x\n").await;
        }
        let paths =
            |found: workden_core::search::Grepped| found.files.iter().map(|f| f.path.to_string()).collect::<Vec<_>>();
        let from_root = files.grep_path(&path("/"), &GrepRequest::literal("import")).await.unwrap();
        assert_eq!(from_root.matches, 5);
        assert_eq!(paths(from_root), ["/a.py", "/data/deep/b.py", "/data/deep/inner/i.py", "/data/m.py", "/z.py"]);
        let from_data = files.grep_path(&path("/data"), &GrepRequest::literal("import")).await.unwrap();
        assert_eq!(paths(from_data), ["/data/deep/b.py", "/data/deep/inner/i.py", "/data/m.py"]);
        let filtered = GrepRequest::literal("import").filter(["/data/deep/*.py"]);
        assert_eq!(paths(files.grep_path(&path("/"), &filtered).await.unwrap()), ["/data/deep/b.py"]);
        let few = GrepRequest::literal("import").keep(2);
        let few = files.grep_path(&path("/"), &few).await.unwrap();
        assert_eq!((few.matches, few.left_out()), (5, 3));
        assert_eq!(paths(few), ["/a.py", "/data/deep/b.py"]);

        for (base, pattern, expected) in [
            ("/", "**/*.py", 5),
            ("/", "data/**/*.py", 3),
            ("/", "/data/deep/**", 2),
            ("/data/deep", "*/*.py", 1),
            ("/data", "*.py", 1),
        ] {
            let found = files.glob_path(&path(base), &GlobRequest::new(pattern)).await.unwrap();
            assert_eq!(found.entries.len(), expected, "{pattern} in {base}");
        }
        let everything = GlobRequest::new("**").kinds(GlobKinds::Everything);
        let found = files.glob_path(&path("/"), &everything).await.unwrap();
        let mut directories: Vec<_> = found.entries.iter().filter(|e| e.is_dir()).map(|e| e.path.as_str()).collect();
        directories.sort_unstable();
        assert_eq!(directories, ["/data", "/data/deep", "/data/deep/inner"]);
        let few = GlobRequest::new("**/*.py").keep(2);
        let found = files.glob_path(&path("/"), &few).await.unwrap();
        assert_eq!((found.entries.len(), found.left_out), (2, 3));
    });
}

#[test]
fn files_and_trees_move_across_mounts() {
    let (files, directory) = table();
    block_on(async {
        let big = "0123456789abcdef".repeat(200_000);
        put(&files, "/data/big", &big).await;
        files.copy_path(&path("/data/big"), &path("/copy"), IfExists::Refuse).await.unwrap();
        assert_eq!(files.read_bytes(&path("/copy")).await.unwrap(), big);
        let again = files.copy_path(&path("/data/big"), &path("/copy"), IfExists::Refuse).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        files.move_path(&path("/data/big"), &path("/data/deep/inner/big"), IfExists::Refuse).await.unwrap();
        assert!(!directory.path().join("big").exists());

        put(&files, "/tree/a/b", "1").await;
        put(&files, "/tree/c", "2").await;
        files.make_dir_path(&path("/tree/empty")).await.unwrap();
        files.move_path(&path("/tree"), &path("/data/tree"), IfExists::Refuse).await.unwrap();
        assert_eq!(listed(&files, "/data/tree").await, ["/data/tree/a", "/data/tree/empty", "/data/tree/c"]);
        assert!(files.entry(&path("/tree")).await.is_err());
        let onto = files.move_path(&path("/data/tree"), &path("/copy"), IfExists::Replace).await.unwrap_err();
        assert_eq!(onto.kind(), ErrorKind::AlreadyExists);

        crate::local::symlink("c", directory.path().join("tree/link"));
        let linked = files.move_path(&path("/data/tree"), &path("/back"), IfExists::Refuse).await.unwrap_err();
        assert_eq!(linked.kind(), ErrorKind::Unsupported);
        assert!(files.entry(&path("/back")).await.is_err(), "half a tree stays nowhere");
        assert_eq!(files.read_bytes(&path("/data/tree/c")).await.unwrap(), "2");
    });
}

#[test]
fn mounts_stay_where_they_are() {
    let (files, _directory) = table();
    block_on(async {
        for typed in ["/data", "/data/deep/inner", "/data/deep"] {
            let removed = files.remove_path(&path(typed), Removal::Tree).await.unwrap_err();
            assert_eq!(removed.kind(), ErrorKind::InvalidArgument, "{typed}");
            let moved = files.move_path(&path(typed), &path("/elsewhere"), IfExists::Replace).await.unwrap_err();
            assert_eq!(moved.kind(), ErrorKind::InvalidArgument, "{typed}");
            let written = files.write_path(&path(typed), "x".into(), Expect::Anything).await.unwrap_err();
            assert_eq!(written.kind(), ErrorKind::IsDirectory, "{typed}");
            files.make_dir_path(&path(typed)).await.unwrap();
        }
    });
}

#[test]
fn errors_tell_the_paths_of_the_agent() {
    let (files, directory) = table();
    block_on(async {
        let missing = files.read_bytes(&path("/data/x/y")).await.unwrap_err();
        assert!(missing.to_string().contains("`/data/x/y`"), "{missing}");
        put(&files, "/data/file", "one one").await;
        let ambiguous = files.edit(&path("/data/file"), &[Replacement::once("one", "two")]).await.unwrap_err();
        assert!(ambiguous.to_string().starts_with("cannot edit `/data/file`"), "{ambiguous}");
        let listed = files.list_path(&path("/data/file"), &ListRequest::default()).await.unwrap_err();
        assert!(listed.to_string().contains("`/data/file`"), "{listed}");
        let through = "cannot read `/data/file/x`: `/data/file` is a file, so nothing can be below it";
        assert_eq!(files.read_bytes(&path("/data/file/x")).await.unwrap_err().sentence(), through);
        crate::local::symlink("../..", directory.path().join("up"));
        let up = files.read_bytes(&path("/data/up/x")).await.unwrap_err();
        assert!(up.to_string().contains("`/data/up/x`"), "{up}");
    });
}

#[test]
fn without_a_root_mount_there_is_a_root_to_look_at() {
    block_on(async {
        let files =
            CompositeBackend::builder().mount("/in", memory()).unwrap().mount("/out/deep", memory()).unwrap().build();
        assert_eq!(listed(&files, "/").await, ["/in", "/out"]);
        assert_eq!(listed(&files, "/out").await, ["/out/deep"]);
        put(&files, "/in/x", "needle").await;
        assert_eq!(files.grep_path(&path("/"), &GrepRequest::literal("needle")).await.unwrap().matches, 1);
        for typed in ["/x", "/out/x", "/elsewhere/x"] {
            let written = files.write_path(&path(typed), "x".into(), Expect::Anything).await.unwrap_err();
            assert_eq!(written.kind(), ErrorKind::ReadOnly, "{typed}");
            assert_eq!(written.hint_text(), Some("mounted: /in, /out/deep"));
            assert_eq!(files.read_bytes(&path(typed)).await.unwrap_err().kind(), ErrorKind::NotFound);
        }
        let empty = CompositeBackend::builder().build();
        assert!(listed(&empty, "/").await.is_empty());
    });
    let twice = CompositeBackend::builder().mount("/a", memory()).unwrap().mount("a/", memory()).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::AlreadyExists);
}

#[test]
fn a_link_into_another_mount_is_followed_there() {
    let (files, directory) = table();
    block_on(async {
        put(&files, "/data/deep/inner/c", "mounted").await;
        std::fs::create_dir_all(directory.path().join("deep/inner")).unwrap();
        std::fs::write(directory.path().join("deep/inner/c"), "covered").unwrap();
        crate::local::symlink("deep/inner/c", directory.path().join("link"));
        assert_eq!(files.read_bytes(&path("/data/link")).await.unwrap(), "mounted");
    });
}

#[test]
fn visibility_speaks_of_the_paths_of_the_agent_in_every_mount() {
    let (files, _directory) = table();
    block_on(async {
        for typed in ["/secret/a", "/data/secret/b", "/data/deep/inner/secret/c", "/data/open"] {
            put(&files, typed, "needle").await;
        }
        let rule = |pattern: &str, sight| Rule {
            pattern: pattern.into(),
            except: Vec::new(),
            sight,
            case: RuleCase::Sensitive,
        };
        let rules = Rules {
            rules: vec![rule("/data/secret/**", Sight::Hidden), rule("/data/deep/**", Sight::Asks)],
            otherwise: Sight::Shown,
        };
        let visibility = Visibility { layers: vec![Layer { list: rules.clone(), read: rules, ..Layer::open() }] };
        let request = GrepRequest::literal("needle").visibility(visibility.clone());
        let found = files.grep_path(&path("/"), &request).await.unwrap();
        let paths: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["/data/open", "/secret/a"]);
        assert_eq!((found.skipped.denied, found.skipped.needs_approval), (1, 1));
        let request = GlobRequest::new("**").visibility(visibility.clone());
        assert_eq!(files.glob_path(&path("/"), &request).await.unwrap().entries.len(), 2);
        let request = ListRequest::default().visibility(visibility);
        assert!(files.list_path(&path("/data/secret"), &request).await.unwrap().entries.is_empty());
        assert!(files.list_path(&path("/data/deep"), &request).await.unwrap().entries.is_empty());
    });
}

#[test]
fn a_refusal_names_the_path_of_the_agent_and_quotes_the_file_as_it_is() {
    let (files, _directory) = table();
    block_on(async {
        put(&files, "/data/a.md", "see `/etc/hosts` there\n").await;
        let missed = files.edit(&path("/data/a.md"), &[Replacement::once("see `/etc/hosts`  there", "x")]).await;
        assert_eq!(
            missed.unwrap_err().sentence(),
            "cannot edit `/data/a.md`: `see `/etc/hosts`  there` not found; line 1 comes near:\n     1\tsee `/etc/hosts` there"
        );
    });
}
