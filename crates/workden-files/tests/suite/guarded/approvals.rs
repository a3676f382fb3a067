//! What was approved is what is done, also when files are swapped while the question is open.

use std::{
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use futures_executor::block_on;
use workden_core::{
    Access, Approval, ApprovalRequest, Approver, Attributes, Backend, BackendExt, Error, ErrorKind, Expect, Gate,
    Guarded, IfExists, Judgement, Op, Removal, Resolved, Result, Symlink, Verdict, Visibility, text::Replacement,
};
use workden_files::{LocalBackend, PathOpening};

use super::path;

/// Asks about every call but looks.
#[derive(Debug)]
struct Asks;

#[async_trait]
impl Gate for Asks {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        match op {
            Op::Stat(_) => Verdict::Allow.into(),
            _ => Verdict::Ask(Error::new(ErrorKind::ApprovalNeeded, "it has to be approved")).into(),
        }
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}

/// Grants everything, after something has happened on the host.
struct GrantsAfter<F> {
    happens: F,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl<F> std::fmt::Debug for GrantsAfter<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GrantsAfter")
    }
}

#[async_trait]
impl<F: Fn() + Send + Sync> Approver for GrantsAfter<F> {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        let mut asked = self.asked.lock().unwrap();
        if asked.is_empty() {
            (self.happens)();
        }
        asked.push(request);
        Approval::Granted
    }
}

const CALLS: &[&str] =
    &["read", "write", "note", "edit", "remove", "remove a tree", "move", "copy", "copy onto", "move onto"];

fn note() -> Attributes {
    Attributes::new("test.", [("by", "ada\n+test.for: ben"), ("on", "monday")]).unwrap()
}

async fn call(files: &dyn Backend, name: &str) -> Result<String> {
    let (file, out) = (path("/d/file"), path("/out"));
    Ok(match name {
        "read" => format!("{:?}", files.read_bytes(&file).await?),
        "write" => format!("{:?}", files.write_path(&file, "new".into(), Expect::Anything).await?),
        "note" => {
            let at = files.resolve(&file, Symlink::Follow).await?;
            format!("{:?}", files.set_attributes(&at, &note()).await?)
        }
        "edit" => format!("{:?}", files.edit(&file, &[Replacement::once("old", "new")]).await?),
        "remove" => format!("{:?}", files.remove_path(&file, Removal::One).await?),
        "remove a tree" => format!("{:?}", files.remove_path(&path("/d"), Removal::Tree).await?),
        "move" => format!("{:?}", files.move_path(&file, &out, IfExists::Refuse).await?),
        "copy" => format!("{:?}", files.copy_path(&file, &out, IfExists::Refuse).await?),
        "copy onto" => format!("{:?}", files.copy_path(&path("/spare"), &file, IfExists::Replace).await?),
        _ => format!("{:?}", files.move_path(&path("/spare"), &file, IfExists::Replace).await?),
    })
}

/// What can happen to the file while the question is open.
const SWAPS: &[&str] = &["a link in its place", "a link in place of its directory", "other content", "gone"];

fn swap(root: &std::path::Path, how: &str) {
    let file = root.join("d/file");
    match how {
        "a link in its place" => {
            fs::remove_file(&file).unwrap();
            symlink("../precious/file", &file).unwrap();
        }
        "a link in place of its directory" => {
            fs::rename(root.join("d"), root.join("was")).unwrap();
            symlink("precious", root.join("d")).unwrap();
        }
        "other content" => fs::write(&file, "old, and something else").unwrap(),
        _ => fs::remove_file(&file).unwrap(),
    }
}

fn room() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().to_path_buf();
    for (name, content) in [("d/file", "old"), ("precious/file", "old precious"), ("spare", "spare")] {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
    (place, root)
}

#[test]
fn nothing_is_done_to_what_was_not_shown() {
    for opening in [PathOpening::Detect, PathOpening::StepByStep] {
        for how in SWAPS {
            for name in CALLS {
                // A caller that may read a file may read its present content.
                if (*how, *name) == ("other content", "read") {
                    continue;
                }
                let (_place, root) = room();
                let local = LocalBackend::options().path_opening(opening).open(&root).unwrap();
                let at = root.clone();
                let approver = Arc::new(GrantsAfter { happens: move || swap(&at, how), asked: Mutex::default() });
                let files = Guarded::new(local).gate(Arc::new(Asks)).approver(approver.clone());
                let told = block_on(call(&files, name));
                let what = format!("{name}, {how}: {told:?}");
                assert_eq!(told.as_ref().err().map(Error::kind), Some(ErrorKind::Conflict), "{what}");
                assert!(told.unwrap_err().to_string().contains("while approval was pending"), "{what}");
                assert_eq!(approver.asked.lock().unwrap().len(), 1, "no second question: {what}");
                assert_eq!(fs::read_to_string(root.join("precious/file")).unwrap(), "old precious", "{what}");
                assert_eq!(fs::read_to_string(root.join("spare")).unwrap(), "spare", "{what}");
                assert!(!root.join("out").exists(), "{what}");
            }
        }
    }
}

#[test]
fn what_was_shown_and_stays_is_done() {
    for name in CALLS {
        let (_place, root) = room();
        let approver = Arc::new(GrantsAfter { happens: || (), asked: Mutex::default() });
        let files = Guarded::new(LocalBackend::open(&root).unwrap()).gate(Arc::new(Asks)).approver(approver.clone());
        block_on(call(&files, name)).unwrap();
        assert_eq!(approver.asked.lock().unwrap().len(), 1, "{name}");
    }
}

#[test]
fn the_question_has_the_other_names_of_a_file() {
    let (_place, root) = room();
    fs::hard_link(root.join("d/file"), root.join("d/second")).unwrap();
    let approver = Arc::new(GrantsAfter { happens: || (), asked: Mutex::default() });
    let files = Guarded::new(LocalBackend::open(&root).unwrap()).gate(Arc::new(Asks)).approver(approver.clone());
    block_on(files.read_bytes(&path("/d/file"))).unwrap();
    assert_eq!(approver.asked.lock().unwrap()[0].other_names, [path("/d/second")]);
}

#[test]
fn the_question_about_attributes_shows_all_of_them() {
    let (_place, root) = room();
    let approver = Arc::new(GrantsAfter { happens: || (), asked: Mutex::default() });
    let files = Guarded::new(LocalBackend::open(&root).unwrap()).gate(Arc::new(Asks)).approver(approver.clone());
    block_on(call(&files, "note")).unwrap();
    let asked = approver.asked.lock().unwrap();
    assert_eq!((asked[0].call.as_str(), asked[0].description.as_str()), ("write", "Set 2 attributes of `/d/file`"));
    assert_eq!(asked[0].preview.as_deref(), Some("+test.by: ada\\n+test.for: ben\n+test.on: monday\n"));
}
