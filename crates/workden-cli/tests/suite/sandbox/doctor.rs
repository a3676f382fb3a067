//! `workden doctor`: its JSON, its text, and that its verdict is right.

use serde_json::Value;

use crate::project::{Project, Ran, workden};

#[test]
fn the_document_has_a_verdict_and_every_finding() {
    let ran = Ran::of(workden(&["doctor", "--json"]).output().unwrap());
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let verdict = document["verdict"].as_str().unwrap();
    assert_eq!(ran.code, Some(i32::from(verdict != "full")), "{document:#}");
    let findings = document["findings"].as_array().unwrap();
    let names: Vec<&str> = findings.iter().map(|finding| finding["name"].as_str().unwrap()).collect();
    for name in [
        "sandbox",
        "kernel",
        "user_namespaces",
        "seccomp",
        "landlock",
        "memory_limit",
        "process_limit",
        "landlock_level",
    ] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    for finding in findings {
        let is_told = finding["outcome"]["works"].is_string() || finding["outcome"]["lacking"]["why"].is_string();
        assert!(is_told, "{finding}");
        assert!(
            ["sandbox", "wall", "limits", "landlock_level"].contains(&finding["need"].as_str().unwrap()),
            "{finding}"
        );
    }
    // The doctor and `run` must agree on whether sandboxes work.
    let runs = Project::new().run(&["--", "true"]).code == Some(0);
    assert_eq!(runs, verdict != "none", "{document:#}");
}

#[test]
fn what_is_shown_is_pleasant_to_read() {
    let ran = Ran::of(workden(&["doctor"]).output().unwrap());
    assert!(!ran.out.contains('\x1b'), "colours are for terminals: {:?}", ran.out);
    // The results differ between machines; the layout does not.
    let is_variable = |line: &str| line.starts_with("  works ") || line.starts_with("  missing ");
    let shown = ran.out.lines().map(|line| match is_variable(line) {
        true => format!("  [...]  {}", line[11..].split("  ").next().unwrap_or_default()),
        false => line.to_owned(),
    });
    let fixed = |line: &String| !line.starts_with("           ") && !line.contains("id-mapped");
    let shown: Vec<String> = shown.filter(fixed).skip(1).collect();
    insta::assert_snapshot!("doctor", shown.join("\n"));
    let coloured = workden(&["doctor"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(coloured.stdout.contains(&b'\x1b'));
}

#[test]
fn a_machine_without_user_namespaces_is_told_so() {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" doctor --json";
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_workden")]);
    let ran = Ran::of(unshare.output().unwrap());
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &document["verdict"]), (Some(1), &"none".into()), "{document:#}");
    let findings = document["findings"].as_array().unwrap();
    let whole = findings.iter().find(|finding| finding["name"] == "sandbox").unwrap();
    assert!(whole["outcome"]["lacking"]["why"].is_string(), "{whole}");
}

#[test]
fn help_is_worth_reading() {
    let help = workden(&["doctor", "--help"]).output().unwrap();
    insta::assert_snapshot!("help_doctor", String::from_utf8(help.stdout).unwrap());
}
