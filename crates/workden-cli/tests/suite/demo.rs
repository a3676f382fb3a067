//! `workden demo`: the whole transcript, its colours, its exit codes, and README.md's claim to show it.

use crate::{document, printed, workden};

/// What the demo prints where there is no terminal.
fn transcript() -> String {
    printed(workden(&["demo"], &[]))
}

#[test]
fn the_demo_comes_out_as_shown() {
    insta::assert_snapshot!(transcript());
}

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = document("README.md");
    let (_, after) = readme.split_once("leaves something out. -->\n```text\n").unwrap();
    let (excerpt, _) = after.split_once("```").unwrap();
    let transcript = transcript();
    let mut rest = transcript.as_str();
    for part in excerpt.split("[...]\n") {
        let at = rest.find(part);
        assert!(at.is_some(), "the demo does not print this, or not in this order:\n{part}");
        rest = &rest[at.unwrap() + part.len()..];
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_insist() {
    let escapes = |environment| workden(&["demo"], environment).stdout.contains(&b'\x1b');
    assert!(!escapes(&[]));
    assert!(escapes(&[("CLICOLOR_FORCE", "1")]));
    assert!(!escapes(&[("NO_COLOR", "1")]));
}

#[test]
fn a_machine_without_a_temporary_directory_is_told_in_a_sentence() {
    let nowhere = std::env::temp_dir().join("workden-demo-no-such-directory");
    let output = workden(&["demo"], &[("TMPDIR", nowhere.to_str().unwrap())]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.starts_with("error: the demo cannot make its temporary directory: "), "{complaint}");
    assert!(complaint.contains("\nhint: set TMPDIR to a directory that exists"), "{complaint}");
}

#[test]
fn the_demo_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    assert!(workden(&["demo"], &[("TMPDIR", place.path().to_str().unwrap())]).status.success());
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn help_is_worth_reading_and_nonsense_is_answered_with_two() {
    insta::assert_snapshot!("help", String::from_utf8(workden(&["--help"], &[]).stdout).unwrap());
    insta::assert_snapshot!("help_demo", String::from_utf8(workden(&["demo", "--help"], &[]).stdout).unwrap());
    for nonsense in [&["dance"][..], &[], &["demo", "twice"]] {
        assert_eq!(workden(nonsense, &[]).status.code(), Some(2), "{nonsense:?}");
    }
}
