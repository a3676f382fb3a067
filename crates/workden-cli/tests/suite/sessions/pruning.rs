//! `workden sessions prune`, `release` and `list` while other processes open sessions, and with silent or damaged
//! sessions.

use std::{os::unix::fs::symlink, process::Stdio};

use crate::{
    counts::times,
    sessions::commandline::{State, told},
};

#[test]
fn sessions_that_are_being_opened_are_not_pruned() {
    let state = State::new();
    let spawn = |words: &[&str]| state.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ids: Vec<String> = (0..times(6, 12)).map(|number| format!("s{number}")).collect();
    for some in ids.chunks(3) {
        let opening: Vec<_> = some.iter().map(|id| spawn(&["sessions", "open", id])).collect();
        let pruning: Vec<_> = (0..4).map(|_| spawn(&["sessions", "prune"])).collect();
        for child in opening.into_iter().chain(pruning) {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success() && !told(&output).contains("removed"), "{}", told(&output));
        }
    }
    for id in &ids {
        assert!(state.printed(&["sessions", "open", id]).contains("was open already"), "{id}");
    }
    assert_eq!(state.leases(), ids.len());
}

#[test]
fn a_session_that_does_not_answer_hinders_no_other_and_is_named() {
    let state = State::new();
    for id in ["a-silent", "b-idle"] {
        state.printed(&["sessions", "open", id]);
    }
    let mut sockets = 0;
    for lease in std::fs::read_dir(state.at("sessions")).unwrap().flatten() {
        if std::fs::read_to_string(lease.path().join("session")).is_ok_and(|whose| whose == "a-silent") {
            for file in std::fs::read_dir(lease.path()).unwrap().flatten() {
                if std::os::unix::fs::FileTypeExt::is_socket(&file.file_type().unwrap()) {
                    std::fs::remove_file(file.path()).unwrap();
                    sockets += 1;
                }
            }
        }
    }
    assert_eq!(sockets, 1);
    let pruned = state.workden(&["sessions", "prune", "--idle", "1ms"]);
    let text = told(&pruned);
    assert_eq!(pruned.status.code(), Some(1), "{text}");
    assert!(text.contains("removed the session `b-idle`"), "{text}");
    assert!(text.contains("cannot inspect the session `a-silent`"), "{text}");
    assert!(text.contains("`workden sessions release a-silent` ends"), "{text}");
    let listed = state.printed(&["sessions", "list"]);
    assert!(listed.contains("unknown") && listed.contains("`workden sessions release a-silent`"), "{listed}");
    assert_eq!(state.printed(&["sessions", "release", "a-silent"]), "released a-silent\n");
    assert_eq!(state.leases(), 0);
}

#[test]
fn a_session_whose_record_is_damaged_ends_with_its_sandbox() {
    let state = State::new();
    for id in ["one", "two"] {
        state.printed(&["sessions", "open", id]);
        std::fs::write(state.at(&format!("ids/{id}.json")), "garbage\n").unwrap();
    }
    let opened = told(&state.workden(&["sessions", "open", "one"]));
    assert!(opened.contains("cannot be understood") && opened.contains("sessions release one"), "{opened}");
    assert!(state.printed(&["sessions", "list"]).contains("damaged"));
    // It might be a container, which cannot be checked without a daemon.
    let pruned = state.workden(&["sessions", "prune"]);
    assert!(told(&pruned).contains("it may be a container") && state.leases() == 2, "{}", told(&pruned));
    let released = state.workden(&["sessions", "release", "one"]);
    assert!(told(&released).contains("released one") && told(&released).contains("note: "), "{}", told(&released));
    assert_eq!(state.leases(), 1);
    assert_eq!(told(&state.workden(&["sessions", "release", "two"])).matches("released two").count(), 1);
    assert_eq!(state.leases(), 0);
    assert_eq!(state.printed(&["sessions", "prune"]), "There is nothing to end or remove.\n");
}

#[test]
fn a_directory_of_sessions_that_others_could_have_changed_is_refused() {
    let state = State::new();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), state.at("x").parent().unwrap()).unwrap();
    for words in [&["sessions", "open", "mine"][..], &["sessions", "list"], &["sessions", "prune"]] {
        let output = state.workden(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", told(&output));
        assert!(told(&output).contains("is a symbolic link\nhint: "), "{words:?}: {}", told(&output));
    }
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
