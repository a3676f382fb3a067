//! `workden demo`: its transcript, colours and exit codes, and the excerpt in README.md.

use std::process::Command;

use crate::cli::{document, printed, workden};

/// Returns what the demo prints without a terminal, with a fixed duration.
fn transcript(words: &[&str]) -> String {
    let text = printed(workden(words, &[]));
    let (before, after) = text.split_once("should, in ").unwrap();
    let (_, after) = after.split_once(" s. ").unwrap();
    format!("{before}should, in a moment. {after}")
}

#[test]
fn the_demo_comes_out_as_shown() {
    insta::assert_snapshot!(transcript(&["demo"]));
}

#[test]
fn on_the_host_nothing_tries_to_get_out() {
    let text = transcript(&["demo", "--sandbox", "host"]);
    assert!(text.contains("(Left out: attempts to get out."), "{text}");
    assert!(!text.contains("shadow") && !text.contains("rm -rf") && text.contains("0,1,1,2,3,5,8,13,21,34,"), "{text}");
}

#[test]
fn where_there_are_no_walls_it_says_why_and_does_nothing() {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" demo";
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_workden")]);
    let output = unshare.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{complaint}");
    assert!(complaint.starts_with("error: cannot start the sandbox of the agent: "), "{complaint}");
    assert!(complaint.contains("`workden demo --sandbox host`"), "{complaint}");
}

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = document("README.md");
    let (_, after) = readme.split_once("leaves something out. -->\n```text\n").unwrap();
    let (excerpt, _) = after.split_once("```").unwrap();
    let transcript = transcript(&["demo"]);
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
    assert!(complaint.starts_with("error: cannot create a temporary directory: "), "{complaint}");
    assert!(complaint.contains("\nhint: set TMPDIR to a writable directory"), "{complaint}");
}

#[test]
fn the_demo_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    assert!(workden(&["demo"], &[("TMPDIR", place.path().to_str().unwrap())]).status.success());
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn help_is_worth_reading_and_nonsense_is_answered_with_two() {
    for (name, words) in [
        ("help", &["--help"][..]),
        ("help_demo", &["demo", "--help"]),
        ("help_tool", &["tool", "--help"]),
        ("help_mcp", &["mcp", "--help"]),
        ("help_completions", &["completions", "--help"]),
    ] {
        insta::assert_snapshot!(name, printed(workden(words, &[])));
    }
    let meant = workden(&["mpc"], &[]);
    assert_eq!(meant.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&meant.stderr).contains("'mcp'"), "{meant:?}");
    for nonsense in [&["dance"][..], &[], &["demo", "twice"], &["demo", "--sandbox", "docker"]] {
        assert_eq!(workden(nonsense, &[]).status.code(), Some(2), "{nonsense:?}");
    }
}

/// Returns the first line of prose that ends before its next word would not fit.
fn wrapped_by_hand(help: &str, width: usize) -> Option<&str> {
    let is_prose = |line: &str| line.starts_with(|c: char| !c.is_whitespace());
    let lines: Vec<&str> = help.lines().collect();
    let pair = lines.windows(2).find(|pair| {
        let next = pair[1].split_whitespace().next().unwrap_or_default();
        pair.iter().all(|line| is_prose(line)) && pair[0].chars().count() + 1 + next.chars().count() <= width
    });
    pair.map(|pair| pair[0])
}

#[test]
fn help_fills_its_lines_at_every_width() {
    assert_eq!(wrapped_by_hand("a b\nc d\n\nExamples:\n  x", 10), Some("a b"));
    let commands = [
        "",
        "demo",
        "run",
        "tool",
        "mcp",
        "doctor",
        "policy check",
        "policy explain",
        "runtimes",
        "sessions",
        "completions",
    ];
    for width in [60, 80, 100] {
        for command in commands {
            let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).chain(["--help"]).collect();
            let help = printed(workden(&words, &[("COLUMNS", &width.to_string())]));
            assert_eq!(wrapped_by_hand(&help, width), None, "{command} at {width}: {help}");
            let example = help.lines().find(|line| line.starts_with("  workden ") && line.chars().count() > 80);
            assert_eq!(example, None, "an example fits in 80 columns");
        }
    }
}
