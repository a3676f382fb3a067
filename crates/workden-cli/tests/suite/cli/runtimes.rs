//! `workden runtimes` without a daemon: what works, and the errors of the rest. The tests of `docker` have a daemon.

use serde_json::Value;

use crate::cli::{printed, workden};

const NO_DAEMON: &[(&str, &str)] = &[("DOCKER_HOST", "unix:///nowhere/docker.sock")];

#[test]
fn help_has_examples() {
    for (name, words) in [
        ("help_runtimes", &["runtimes", "--help"][..]),
        ("help_runtimes_build", &["runtimes", "build", "--help"]),
        ("help_runtimes_prune", &["runtimes", "prune", "--help"]),
    ] {
        insta::assert_snapshot!(name, printed(workden(words, &[])));
    }
}

#[test]
fn runtimes_are_listed_without_a_daemon() {
    insta::assert_snapshot!("runtimes_list", printed(workden(&["runtimes", "list"], NO_DAEMON)));
    let nonsense = &[("DOCKER_HOST", "nonsense")];
    assert_eq!(printed(workden(&["runtimes", "list"], nonsense)), printed(workden(&["runtimes", "list"], NO_DAEMON)));
}

#[test]
fn a_runtime_is_shown_with_its_dockerfile_and_can_be_read_back() {
    let shown = printed(workden(&["runtimes", "show", "python-web"], NO_DAEMON));
    insta::assert_snapshot!("runtimes_show", shown);
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine.toml");
    std::fs::write(&file, &shown).unwrap();
    assert_eq!(printed(workden(&["runtimes", "show", file.to_str().unwrap()], NO_DAEMON)), shown);

    let json: Value =
        serde_json::from_str(&printed(workden(&["runtimes", "show", "--json", "python-web"], NO_DAEMON))).unwrap();
    assert_eq!(json["runtime"]["packages"][0], "fastapi");
    assert!(json["dockerfile"].as_str().unwrap().starts_with("FROM python:3.12-slim\n"));
    assert!(shown.contains(json["image"].as_str().unwrap()));
}

#[test]
fn what_cannot_be_done_is_told() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine.toml");
    std::fs::write(&file, "name = \"mine\"\nbase_image = \"x\"\npackages = [\"six\\nRUN curl\"]\n").unwrap();
    let file = file.to_str().unwrap();
    for (words, expected) in [
        (&["build", "python-web"][..], "error: there is no Docker daemon at `unix:///nowhere/docker.sock`: "),
        (&["prune"], "error: there is no Docker daemon at "),
        (&["show", "ruby"], "error: Unknown runtime 'ruby'. Available: python-minimal, "),
        (&["build", "ruby"], "error: Unknown runtime 'ruby'. Available: python-minimal, "),
        (&["build", file], &format!("error: {file}: invalid runtime `mine`: invalid pip package `six\\nRUN curl`")),
        (&["prune", "none.toml"], "error: runtime file `none.toml` not found\n"),
    ] {
        let output = workden(&[&["runtimes"], words].concat(), NO_DAEMON);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{complaint}");
        assert!(complaint.starts_with(expected), "{complaint}");
    }
    for nonsense in [&["runtimes"][..], &["runtimes", "dance"], &["runtimes", "show"], &["runtimes", "list", "x"]] {
        assert_eq!(workden(nonsense, NO_DAEMON).status.code(), Some(2), "{nonsense:?}");
    }
}
