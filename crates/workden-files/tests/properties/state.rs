//! `StateBackend` against a plain map from path to content, over any sequence of operations.

use std::{collections::BTreeMap, sync::Arc};

use futures_executor::block_on;
use proptest::prelude::*;
use workden_core::{BackendExt, Entry, Expect, IfExists, Removal, SteppingClock, search::ListRequest};
use workden_files::StateBackend;

use crate::virtual_path;

/// Every file with its content, and every directory as `None`.
type Model = BTreeMap<String, Option<Vec<u8>>>;

#[derive(Clone, Debug)]
enum Act {
    Write(String, Vec<u8>, bool),
    MakeDir(String),
    Remove(String, bool),
    Move(String, String, bool),
    Copy(String, String, bool),
}

fn place() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab]|a-|a\u{1}", 1..4).prop_map(|names| format!("/{}", names.join("/")))
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof!["[a-zé]{0,5}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..6)]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (place(), content(), any::<bool>()).prop_map(|(path, content, new)| Act::Write(path, content, new)),
        1 => place().prop_map(Act::MakeDir),
        1 => (place(), any::<bool>()).prop_map(|(path, tree)| Act::Remove(path, tree)),
        2 => (place(), place(), any::<bool>()).prop_map(|(from, to, replace)| Act::Move(from, to, replace)),
        1 => (place(), place(), any::<bool>()).prop_map(|(from, to, replace)| Act::Copy(from, to, replace)),
    ]
}

fn above(path: &str) -> Vec<String> {
    path.char_indices().skip(1).filter(|(_, c)| *c == '/').map(|(at, _)| path[..at].to_owned()).collect()
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// Makes the directories above a path; `None` when a file is in the way.
fn make_above(model: &mut Model, path: &str) -> Option<()> {
    if above(path).iter().any(|directory| matches!(model.get(directory), Some(Some(_)))) {
        return None;
    }
    model.extend(above(path).into_iter().map(|directory| (directory, None)));
    Some(())
}

/// Puts a file in place; `None` when that is to be refused.
fn put(model: &mut Model, path: &str, content: Vec<u8>, only_new: bool) -> Option<()> {
    match model.get(path) {
        Some(None) => return None,
        Some(Some(_)) if only_new => return None,
        _ => {}
    }
    make_above(model, path)?;
    model.insert(path.to_owned(), Some(content));
    Some(())
}

/// What an operation does to the model; `None` when it is to be refused.
fn on_model(model: &mut Model, act: &Act) -> Option<()> {
    match act {
        Act::Write(path, content, only_new) => put(model, path, content.clone(), *only_new),
        Act::MakeDir(path) => {
            if let Some(Some(_)) = model.get(path) {
                return None;
            }
            make_above(model, path)?;
            model.insert(path.clone(), None);
            Some(())
        }
        Act::Remove(path, tree) => {
            model.get(path)?;
            if !tree && model.keys().any(|other| is_below(other, path)) {
                return None;
            }
            model.retain(|other, _| other != path && !is_below(other, path));
            Some(())
        }
        Act::Move(from, to, replace) => {
            let moved = model.get(from)?.clone();
            if from == to {
                return moved.map(|_| ());
            }
            if moved.is_none() && is_below(to, from) {
                return None;
            }
            match model.get(to) {
                Some(None) => return None,
                Some(Some(_)) if moved.is_none() || !replace => return None,
                _ => {}
            }
            make_above(model, to)?;
            let taken: Vec<String> =
                model.keys().filter(|path| *path == from || is_below(path, from)).cloned().collect();
            let taken: Vec<_> =
                taken.into_iter().filter_map(|path| model.remove(&path).map(|node| (path, node))).collect();
            model.extend(taken.into_iter().map(|(path, node)| (format!("{to}{}", &path[from.len()..]), node)));
            Some(())
        }
        Act::Copy(from, to, replace) => {
            let content = model.get(from)?.clone()?;
            put(model, to, content, !replace)
        }
    }
}

fn on_backend(backend: &StateBackend, act: &Act) -> workden_core::Result<()> {
    let if_exists = |replace: &bool| if *replace { IfExists::Replace } else { IfExists::Refuse };
    match act {
        Act::Write(path, content, only_new) => {
            let expect = if *only_new { Expect::Absent } else { Expect::Anything };
            block_on(backend.write_path(&virtual_path(path), content.clone().into(), expect)).map(drop)
        }
        Act::MakeDir(path) => block_on(backend.make_dir_path(&virtual_path(path))),
        Act::Remove(path, tree) => {
            let what = if *tree { Removal::Tree } else { Removal::One };
            block_on(backend.remove_path(&virtual_path(path), what))
        }
        Act::Move(from, to, replace) => {
            block_on(backend.move_path(&virtual_path(from), &virtual_path(to), if_exists(replace)))
        }
        Act::Copy(from, to, replace) => {
            block_on(backend.copy_path(&virtual_path(from), &virtual_path(to), if_exists(replace))).map(drop)
        }
    }
}

/// Everything that listings and reads show, from the root down.
fn shown(backend: &StateBackend) -> Model {
    let mut model = Model::new();
    let mut open = vec![virtual_path("/")];
    while let Some(directory) = open.pop() {
        let listing = block_on(backend.list_path(&directory, &ListRequest::default())).unwrap();
        let in_order =
            |one: &Entry, next: &Entry| (!one.is_dir(), one.path.name()) < (!next.is_dir(), next.path.name());
        assert!(listing.entries.is_sorted_by(in_order), "directories first, then by name");
        for entry in listing.entries {
            let content = entry.is_file().then(|| block_on(backend.read_bytes(&entry.path)).unwrap().to_vec());
            assert_eq!(entry.size, content.as_ref().map(|content| content.len() as u64));
            model.insert(entry.path.to_string(), content);
            if entry.is_dir() {
                open.push(entry.path);
            }
        }
    }
    model
}

fn clock() -> Arc<SteppingClock> {
    Arc::new(SteppingClock::default())
}

proptest! {
    #![proptest_config(crate::cases(600))]

    #[test]
    fn a_workspace_behaves_as_a_map(acts in prop::collection::vec(act(), 1..30)) {
        let backend = StateBackend::new(clock());
        let mut model = Model::new();
        for act in &acts {
            let mut tried = model.clone();
            let expected = on_model(&mut tried, act);
            let outcome = on_backend(&backend, act);
            prop_assert_eq!(outcome.is_ok(), expected.is_some(), "{:?}: {:?}", act, outcome);
            if expected.is_some() {
                model = tried;
            }
            prop_assert_eq!(&shown(&backend), &model, "after {:?}", act);
        }
    }

    #[test]
    fn any_workspace_goes_into_a_document_and_comes_back(acts in prop::collection::vec(act(), 1..20)) {
        let backend = StateBackend::new(clock());
        for act in &acts {
            let _ = on_backend(&backend, act);
        }
        let json = backend.to_json().unwrap();
        let again = StateBackend::from_json(&json, clock()).unwrap();
        prop_assert_eq!(shown(&again), shown(&backend));
        prop_assert_eq!(again.to_document(), backend.to_document());
        prop_assert_eq!(again.to_json().unwrap(), json);
    }
}
