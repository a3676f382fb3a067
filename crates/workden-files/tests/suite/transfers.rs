//! Moves from one mount to another: whatever stands in the way, nothing is lost.

use std::{os::unix::ffi::OsStrExt, sync::Arc};

use async_trait::async_trait;
use workden_core::{
    Access, Backend, BackendExt, Error, ErrorKind, Expect, Gate, Guarded, IfExists, Judgement, Layer, Op, Removal,
    Resolved, Rule, RuleCase, Rules, Sight, Verdict, Visibility,
};
use workden_files::{CompositeBackend, LocalBackend, memory};

use crate::local::{block_on, path};

fn beside_memory(files: impl Backend + 'static) -> CompositeBackend {
    CompositeBackend::builder().mount("/", memory()).unwrap().mount("/data", files).unwrap().build()
}

/// One directory at `/all`, and its `sub` once more at `/sub`.
fn twice() -> (CompositeBackend, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("sub")).unwrap();
    std::fs::write(place.path().join("sub/file"), "the only copy").unwrap();
    let files = LocalBackend::open_several([(path("/all"), place.path()), (path("/sub"), &place.path().join("sub"))]);
    (files.unwrap(), place)
}

#[test]
fn a_file_moved_onto_itself_through_another_mount_stays() {
    for wait in [0, 30] {
        let (files, place) = twice();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        block_on(async {
            let moved = files.move_path(&path("/all/sub/file"), &path("/sub/file"), IfExists::Replace).await;
            assert!(moved.is_err());
        });
        assert_eq!(std::fs::read_to_string(place.path().join("sub/file")).unwrap(), "the only copy");
        assert_eq!(std::fs::read_dir(place.path().join("sub")).unwrap().count(), 1, "nothing else stays");
    }
}

#[test]
fn a_tree_moved_into_itself_through_another_mount_keeps_its_files() {
    let (files, place) = twice();
    block_on(async {
        assert!(files.move_path(&path("/all/sub"), &path("/sub/into"), IfExists::Refuse).await.is_err());
    });
    let content = std::fs::read_to_string(place.path().join("sub/file"));
    assert_eq!(content.unwrap(), "the only copy");
    assert_eq!(std::fs::read_dir(place.path().join("sub")).unwrap().count(), 1, "nothing else stays");
}

#[test]
fn a_name_that_is_not_utf8_is_not_lost_in_a_move() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let odd = tree.join(std::ffi::OsStr::from_bytes(b"a\xFF"));
    std::fs::write(&odd, "odd").unwrap();
    std::fs::write(tree.join("a\u{FFFD}"), "even").unwrap();
    let files = beside_memory(LocalBackend::open(place.path()).unwrap());
    block_on(async {
        for if_exists in [IfExists::Refuse, IfExists::Replace] {
            assert!(files.move_path(&path("/data/tree"), &path("/tree"), if_exists).await.is_err());
            assert!(files.entry(&path("/tree")).await.is_err(), "half a tree stays nowhere");
        }
    });
    assert_eq!(std::fs::read_to_string(odd).unwrap(), "odd");
}

#[derive(Debug)]
struct Hides(&'static str);

#[async_trait]
impl Gate for Hides {
    async fn judge(&self, _: Op<'_>) -> Judgement {
        Verdict::Allow.into()
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        let hide =
            Rule { pattern: self.0.to_owned(), except: Vec::new(), sight: Sight::Hidden, case: RuleCase::Sensitive };
        let list = Rules { rules: vec![hide], otherwise: Sight::Shown };
        Visibility { layers: vec![Layer { list, ..Layer::open() }] }
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}

#[test]
fn a_directory_is_not_moved_to_where_its_hidden_files_would_be_seen() {
    let place = tempfile::tempdir().unwrap();
    let local = LocalBackend::open(place.path()).unwrap();
    for (hidden, refused) in [("/tree/deep/key", true), ("**/key", false)] {
        let guarded = Guarded::new(local.clone()).gate(Arc::new(Hides(hidden)));
        for files in [Box::new(guarded.clone()) as Box<dyn Backend>, Box::new(beside_root(guarded))] {
            block_on(async {
                local.write_path(&path("/tree/deep/key"), "secret".into(), Expect::Anything).await.unwrap();
                let moved = files.move_path(&path("/tree"), &path("/elsewhere"), IfExists::Refuse).await;
                assert_eq!(moved.as_ref().err().map(Error::kind), refused.then_some(ErrorKind::Denied), "{moved:?}");
                assert!(!moved.is_err_and(|error| error.to_string().contains("key")), "it names what is hidden");
                let _ = local.remove_path(&path("/elsewhere"), Removal::Tree).await;
            });
        }
    }
}

fn beside_root(files: impl Backend + 'static) -> CompositeBackend {
    CompositeBackend::builder().mount("/", files).unwrap().mount("/memory", memory()).unwrap().build()
}

#[test]
fn what_a_mount_does_not_show_is_not_removed_by_a_move() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("tree")).unwrap();
    for name in ["hidden", "shown"] {
        std::fs::write(place.path().join("tree").join(name), name).unwrap();
    }
    let guarded = Guarded::new(LocalBackend::open(place.path()).unwrap()).gate(Arc::new(Hides("**/hidden")));
    let files = beside_memory(guarded);
    block_on(async {
        assert!(files.move_path(&path("/data/tree"), &path("/tree"), IfExists::Refuse).await.is_err());
        assert_eq!(files.read_bytes(&path("/tree/shown")).await.unwrap(), "shown");
    });
    assert_eq!(std::fs::read_to_string(place.path().join("tree/hidden")).unwrap(), "hidden");
}

#[test]
fn a_very_deep_tree_moves_without_a_deep_stack() {
    let place = tempfile::tempdir().unwrap();
    let files = beside_memory(LocalBackend::open(place.path()).unwrap());
    let deep = "d/".repeat(1_900);
    block_on(async {
        files.write_path(&path(&format!("/data/{deep}file")), "deep".into(), Expect::Absent).await.unwrap();
        let moved = std::time::Instant::now();
        files.move_path(&path("/data/d"), &path("/d"), IfExists::Refuse).await.unwrap();
        assert!(moved.elapsed().as_secs() < 600, "{:?}", moved.elapsed());
        assert_eq!(files.read_bytes(&path(&format!("/{deep}file"))).await.unwrap(), "deep");
    });
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}
