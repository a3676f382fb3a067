//! `workden sessions` and `--sandbox docker` without sessions and without a daemon. The tests of `sessions` and
//! `docker` have sandboxes.

use crate::cli::{printed, workden};

#[test]
fn help_has_examples() {
    for (name, words) in [
        ("help_sessions", &["sessions", "--help"][..]),
        ("help_sessions_open", &["sessions", "open", "--help"]),
        ("help_sessions_exec", &["sessions", "exec", "--help"]),
        ("help_sessions_prune", &["sessions", "prune", "--help"]),
    ] {
        insta::assert_snapshot!(name, printed(workden(words, &[])));
    }
}

#[test]
fn without_sessions_that_is_said() {
    let place = tempfile::tempdir().unwrap();
    let state = [("XDG_STATE_HOME", place.path().to_str().unwrap()), ("DOCKER_HOST", "unix:///nowhere/docker.sock")];
    assert!(printed(workden(&["sessions", "list"], &state)).starts_with("There are no sessions."));
    assert_eq!(printed(workden(&["sessions", "list", "--json"], &state)), "[]\n");
    assert_eq!(printed(workden(&["sessions", "prune"], &state)), "There is nothing to end or remove.\n");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "listing must create nothing");
}

#[test]
fn without_a_daemon_it_is_said_how_to_start_one() {
    let place = tempfile::tempdir().unwrap();
    let state = [("XDG_STATE_HOME", place.path().to_str().unwrap()), ("DOCKER_HOST", "unix:///nowhere/docker.sock")];
    for (words, code) in [
        (&["run", "--sandbox", "docker", "--image", "x", "--", "true"][..], 125),
        (&["run", "--sandbox", "docker", "--runtime", "python-web", "--", "true"], 125),
        (&["sessions", "open", "a", "--sandbox", "docker", "--image", "x"], 1),
        (&["tool", "execute", r#"{"command": "true"}"#, "--yes", "--sandbox", "docker", "--image", "x"], 1),
    ] {
        let output = workden(words, &state);
        let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains("there is no Docker daemon at `unix:///nowhere/docker.sock`"), "{words:?}: {told}");
    }
    assert_eq!(printed(workden(&["sessions", "list", "--json"], &state)), "[]\n");
}

#[test]
fn options_that_do_not_go_together_are_an_invalid_command_line() {
    let place = tempfile::tempdir().unwrap();
    let state = [("XDG_STATE_HOME", place.path().to_str().unwrap())];
    for (words, says) in [
        (&["--image", "x"][..], "`--image` requires `--sandbox docker`"),
        (&["--sandbox", "docker"], "needs an `--image` or a `--runtime`"),
        (&["--sandbox", "docker", "--image", "x", "--toolchain", "go"], "`--toolchain` is not supported with"),
        (&["--toolchain", "pyton"], "a similar value exists: 'python'"),
        (&["--memory", "64"], "did you mean `64M`?"),
    ] {
        let output = workden(&[&["sessions", "open", "a"], words].concat(), &state);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {complaint}");
        assert!(complaint.contains(says), "{words:?}: {complaint}");
    }
}
