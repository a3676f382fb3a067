//! What a write keeps, what it leaves behind, and what stands in its way.

use std::{
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

use workden_core::{BackendExt, ErrorKind, Expect, IfExists, Removal, names::TEMPORARY_PREFIX, text::Replacement};
use workden_files::{BoundFiles, LocalBackend};

use crate::local::{block_on, path, places, refused};

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn mode_attributes_and_acls_are_kept_and_set_user_id_is_not() {
    for place in places() {
        let file = place.root.join("file");
        let name = file.to_str().unwrap();
        std::fs::write(&file, "old").unwrap();
        run("setfattr", &["-n", "user.note", "-v", "mine", name]);
        run("setfacl", &["-m", "u:65534:r", name]);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o4751)).unwrap();
        let acl = run("getfacl", &["-p", name]);
        block_on(async {
            place.files.write_path(&path("/file"), "new".into(), Expect::Anything).await.unwrap();
            place.files.edit(&path("/file"), &[Replacement::once("new", "newer")]).await.unwrap();
        });
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "newer");
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o7777, 0o751);
        assert_eq!(run("getfattr", &["--only-values", "-n", "user.note", name]), "mine");
        let without_flags =
            |acl: &str| acl.lines().filter(|line| !line.starts_with("# flags")).collect::<Vec<_>>().join("\n");
        assert_eq!(without_flags(&run("getfacl", &["-p", name])), without_flags(&acl));
    }
}

#[test]
fn the_owner_stays_the_owner() {
    if !rustix::process::geteuid().is_root() {
        // Only root can meet a file of another user that it may write here.
        return;
    }
    for place in places() {
        let file = place.root.join("file");
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::chown(&file, Some(1234), Some(2345)).unwrap();
        block_on(async { place.files.write_path(&path("/file"), "new".into(), Expect::Anything).await.unwrap() });
        let now = std::fs::metadata(&file).unwrap();
        assert_eq!((now.uid(), now.gid()), (1234, 2345));
    }
}

#[test]
fn nothing_temporary_stays_whatever_happens() {
    for place in places() {
        block_on(async {
            let files = &place.files;
            files.write_path(&path("/a/file"), "x".into(), Expect::Absent).await.unwrap();
            files.write_path(&path("/a/file"), "y".into(), Expect::Absent).await.unwrap_err();
            files.edit(&path("/a/file"), &[Replacement::once("nope", "z")]).await.unwrap_err();
            let stream = futures_util::stream::iter([
                Ok("some".into()),
                Err(workden_core::Error::new(ErrorKind::Io, "the sender is gone")),
            ]);
            let at =
                workden_core::Backend::resolve(files, &path("/a/file"), workden_core::Symlink::Follow).await.unwrap();
            let content = workden_core::Content::Stream(Box::pin(stream));
            workden_core::Backend::write(files, &at, content, Expect::Anything).await.unwrap_err();
            assert_eq!(files.read_bytes(&path("/a/file")).await.unwrap(), "x");
            assert_eq!(names(&place.root.join("a")), ["file"]);

            files
                .write_path(&path("/fresh/made/file"), "x".into(), Expect::Version(workden_core::Version::of(b"")))
                .await
                .unwrap_err();
            let at = workden_core::Backend::resolve(files, &path("/fresh/made/file"), workden_core::Symlink::Follow)
                .await
                .unwrap();
            let stream = futures_util::stream::iter([Err(workden_core::Error::new(ErrorKind::Io, "gone"))]);
            let content = workden_core::Content::Stream(Box::pin(stream));
            workden_core::Backend::write(files, &at, content, Expect::Anything).await.unwrap_err();
            assert_eq!(names(&place.root), ["a"], "directories made for a write that failed are gone");
        });
    }
}

#[test]
fn what_a_dead_writer_left_is_hidden_and_goes_with_the_next_write() {
    for place in places() {
        let left = place.root.join(format!("{TEMPORARY_PREFIX}0"));
        std::fs::write(&left, "half a file").unwrap();
        block_on(async {
            let files = &place.files;
            let request = workden_core::search::ListRequest::default();
            assert!(files.list_path(&path("/"), &request).await.unwrap().entries.is_empty());
            let glob = workden_core::search::GlobRequest::new("**");
            assert!(files.glob_path(&path("/"), &glob).await.unwrap().entries.is_empty());
            let grep = workden_core::search::GrepRequest::literal("half").hidden(workden_core::search::Hidden::Include);
            assert_eq!(files.grep_path(&path("/"), &grep).await.unwrap().matches, 0);
            let own = path(&format!("/{TEMPORARY_PREFIX}0"));
            assert_eq!(refused(&place, files.read_bytes(&own).await).kind(), ErrorKind::NotFound);
            files.write_path(&path("/file"), "x".into(), Expect::Absent).await.unwrap();
        });
        assert_eq!(names(&place.root), ["file"]);
    }
}

#[test]
fn a_temporary_name_that_is_taken_does_not_stop_writes() {
    for place in places() {
        std::fs::create_dir_all(place.root.join(format!("{TEMPORARY_PREFIX}0/full"))).unwrap();
        crate::local::symlink(&place.outside, place.root.join(format!("{TEMPORARY_PREFIX}1")));
        block_on(async {
            place.files.write_path(&path("/file"), "x".into(), Expect::Absent).await.unwrap();
            place.files.write_path(&path("/file"), "y".into(), Expect::Anything).await.unwrap();
            place.files.remove_path(&path("/file"), Removal::One).await.unwrap();
        });
        place.outside_is_untouched();
    }
}

/// A mount of our own, gone at the end.
pub(crate) struct Mounted(std::path::PathBuf);

impl Mounted {
    pub(crate) fn new(arguments: &[&str], at: &Path) -> Self {
        run("mount", &[arguments, &[at.to_str().unwrap()]].concat());
        Self(at.to_path_buf())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[self.0.to_str().unwrap()]);
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let _disk = Mounted::new(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"], directory.path());
    let files = LocalBackend::open(directory.path()).unwrap();
    block_on(async {
        let name = path("/file");
        files.write_path(&name, "precious".into(), Expect::Absent).await.unwrap();
        let big: bytes::Bytes = vec![b'x'; 4 << 20].into();
        for target in ["/file", "/new/file"] {
            let error = files.write_path(&path(target), big.clone(), Expect::Anything).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
        }
        let longer = "y".repeat(2 << 20);
        let error = files.edit(&name, &[Replacement::once("precious", longer)]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert_eq!(files.read_bytes(&name).await.unwrap(), "precious");
    });
    assert_eq!(names(directory.path()), ["file"]);
}

#[test]
fn a_read_only_file_system_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let _disk = Mounted::new(&["-t", "tmpfs", "-o", "size=1m,ro", "tmpfs"], directory.path());
    let files = LocalBackend::open(directory.path()).unwrap();
    block_on(async {
        let error = files.write_path(&path("/x"), "x".into(), Expect::Anything).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
        let error = files.make_dir_path(&path("/d")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    });
}

#[test]
fn a_bind_mounted_file_is_refused_or_written_in_place() {
    let directory = tempfile::tempdir().unwrap();
    let (root, elsewhere) = (directory.path().join("root"), directory.path().join("elsewhere"));
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("file"), "").unwrap();
    std::fs::write(&elsewhere, "bound content, which is long").unwrap();
    let _bound = Mounted::new(&["--bind", elsewhere.to_str().unwrap()], &root.join("file"));
    block_on(async {
        let name = path("/file");
        let files = LocalBackend::open(&root).unwrap();
        let error = files.write_path(&name, "new".into(), Expect::Anything).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        let error = files.edit(&name, &[Replacement::once("bound", "new")]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "bound content, which is long");

        let files = LocalBackend::options().bound_files(BoundFiles::WriteInPlace).open(&root).unwrap();
        files.edit(&name, &[Replacement::once("bound", "new")]).await.unwrap();
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "new content, which is long");
        files.write_path(&name, "short".into(), Expect::Anything).await.unwrap();
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "short");
    });
    assert_eq!(names(&root), ["file"]);
}

#[test]
fn a_foreign_writer_is_noticed() {
    for place in places() {
        let file = place.root.join("file");
        std::fs::write(&file, "one").unwrap();
        block_on(async {
            let seen = workden_core::Version::of(b"one");
            std::fs::write(&file, "two").unwrap();
            let error =
                place.files.write_path(&path("/file"), "three".into(), Expect::Version(seen)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict);
        });
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
    }
}

#[test]
fn copies_do_not_carry_set_user_id() {
    for place in places() {
        let file = place.root.join("file");
        std::fs::write(&file, "program").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o4755)).unwrap();
        block_on(async { place.files.copy_path(&path("/file"), &path("/copy"), IfExists::Refuse).await.unwrap() });
        assert_eq!(std::fs::metadata(place.root.join("copy")).unwrap().mode() & 0o7000, 0);
    }
}

#[test]
fn an_edit_of_a_large_file_is_right_wherever_it_is_and_however_long() {
    for place in places() {
        let file = place.root.join("large");
        let line = "some line of a large file that is edited here and there\n";
        // Over the size from which a file is written while the change is still being planned.
        let content = format!("first {}middle {}last", line.repeat(30_000), line.repeat(30_000));
        assert!(content.len() > 3_000_000);
        let long = "x".repeat(2_000_000);
        block_on(async {
            for old in ["first ", "middle ", "last"] {
                for new in ["", "new", long.as_str()] {
                    std::fs::write(&file, &content).unwrap();
                    let edit = [Replacement::once(old, new)];
                    place.files.edit(&path("/large"), &edit).await.unwrap();
                    assert!(
                        std::fs::read_to_string(&file).unwrap() == content.replace(old, new),
                        "{old} {}",
                        new.len()
                    );
                }
            }
            std::fs::write(&file, &content).unwrap();
            let most = [Replacement::once(&content[10..content.len() - 10], "")];
            let changed = workden_core::text::Change::Replace(most.to_vec());
            let changed = place.files.change_path(&path("/large"), &changed, Expect::Anything).await.unwrap();
            let left = std::fs::read(&file).unwrap();
            assert_eq!(left.len(), 20, "shorter than what was written ahead");
            assert_eq!(changed.version, workden_core::Version::of(&left));
            place.files.edit(&path("/large"), &[Replacement::once("not there", "x")]).await.unwrap_err();
        });
        assert_eq!(names(&place.root), ["large"]);
    }
}
