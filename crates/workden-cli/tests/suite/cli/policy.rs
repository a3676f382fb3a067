//! `workden policy`: verdicts in order, their explanations, and messages about mistakes.

use serde_json::Value;

use crate::cli::{document, printed, workden, workden_fed};

fn explained(arguments: &[&str]) -> String {
    let all: Vec<&str> = ["policy", "explain"].into_iter().chain(arguments.iter().copied()).collect();
    printed(workden(&all, &[]))
}

/// Writes a `workden.toml`; returns its path as an argument, and the directory that holds it.
fn config(text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("workden.toml");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap().to_owned();
    (directory, file)
}

#[test]
fn commands_are_explained() {
    insta::assert_snapshot!("command_asked", explained(&["execute", "git commit -m x > notes.md"]));
    insta::assert_snapshot!(
        "command_denied",
        explained(&["--policy", "permissive", "execute", "cd src && sudo env A=1 rm -rf / | tee log; cat .env"])
    );
    insta::assert_snapshot!(
        "command_doubted",
        explained(&["--policy", "permissive", "execute", "ls \"$DIR\"; python3 -c 'import os; os.system(\"ls\")'"])
    );
    insta::assert_snapshot!(
        "command_allowed",
        explained(&["--policy", "permissive", "execute", "grep -rn TODO src | head -5"])
    );
}

#[test]
fn paths_are_explained() {
    insta::assert_snapshot!("path_denied", explained(&["edit", "deploy/.ENV"]));
    insta::assert_snapshot!("path_asked", explained(&["--paths", "files", "edit", "src/main.rs"]));
}

#[test]
fn every_layer_of_a_configuration_is_named() {
    let (_kept, file) = config(
        "extends = \"permissive\"\n\n\
         [[mounts]]\nat = \"/input\"\ndirectory = \"data\"\n\n\
         [[mounts]]\nat = \"/output\"\ndirectory = \"out\"\nmode = \"rw\"\nwrite_approval = true\n\n\
         [limits]\nmax_file_bytes = 1000\n",
    );
    let of = |arguments: &[&str]| {
        let all = [&["--config", &file, "--policy", "default", "--paths", "files"], arguments].concat();
        explained(&all).replace(&file, "workden.toml")
    };
    insta::assert_snapshot!("layers_of_a_path", of(&["write", "input/a.md"]));
    insta::assert_snapshot!("layers_of_a_command", of(&["execute", "cp input/a.md output/b.md"]));
}

#[test]
fn a_configuration_that_refuses_questions_refuses_what_would_be_asked() {
    let (_kept, file) = config("[approvals]\nmode = \"strict\"\n");
    let explained = explained(&["--config", &file, "execute", "make"]);
    assert!(explained.starts_with("deny: execute make\n"), "{explained}");
    assert!(explained.ends_with("refuses what would be asked\nwould pass: only what a rule allows\n"), "{explained}");
    let checked = printed(workden_fed(&["policy", "check", "--config", &file, "--json"], b"make\nls\n"));
    assert!(checked.starts_with(r#"{"action":"deny""#) && checked.contains(r#"{"action":"allow""#), "{checked}");
}

#[test]
fn every_line_gets_one_verdict_in_order() {
    let input = br#"{"op":"execute","target":"ls"}
{"op":"read","target":"/a.md"}

{"op":"read","target":"/app/.env"}
{"op":"write","target":"../../../x"}
{"op":"execute","target":"true; rm -rf /"}
{"op":"ls","target":"/"}"#;
    let output = printed(workden_fed(&["policy", "check", "--policy", "permissive", "--json"], input));
    let verdicts: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let actions: Vec<&str> = verdicts.iter().map(|verdict| verdict["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["allow", "allow", "deny", "deny", "deny", "allow"]);
    for verdict in &verdicts {
        let fields: Vec<&String> = verdict.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["action", "rule", "why"], "{verdict}");
        assert!(!verdict["why"].as_str().unwrap().is_empty(), "{verdict}");
    }
    assert!(verdicts[2]["rule"].as_str().unwrap().contains(".env"), "{}", verdicts[2]);
    assert_eq!(verdicts[4]["why"], "Block dangerous commands: it removes `/`, a parent of its working directory");
}

#[test]
fn a_line_that_is_no_request_is_denied_and_fails_the_run_but_not_the_others() {
    let wrong = [
        &b"{\"op\": \"read\"}"[..],
        b"  { \"nonsense",
        b"{\"op\": \"dance\", \"target\": \"x\"}",
        b"{\"op\": \"read\", \"target\": \"/a\", \"and\": 1}",
        b"{\"op\": \"read\", \"target\": \"/\xff\"}",
        b"ls \xff",
        b"{}",
    ];
    for line in wrong {
        let input = [line, b"\n{\"op\":\"read\",\"target\":\"/a\"}\n"].concat();
        let output = workden_fed(&["policy", "check"], &input);
        assert_eq!(output.status.code(), Some(1));
        let printed = String::from_utf8(output.stdout).unwrap();
        let verdicts: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(verdicts.len(), 2, "{printed}");
        assert_eq!((&verdicts[0]["action"], &verdicts[1]["action"]), (&"deny".into(), &"allow".into()));
        assert!(verdicts[0]["why"].as_str().unwrap().starts_with("line 1, column "), "{printed}");
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(complaint.starts_with("error: 1 line of the input is not a valid request"), "{complaint}");
    }
}

#[test]
fn a_mistake_in_a_configuration_is_shown_with_file_line_and_column() {
    for (text, expected) in [
        ("extends = \"default\"\n\n[rules.reed]\n", "line 3, column 8: unknown field `reed`"),
        ("extends = \"defualt\"\n", "line 1, column 11: unknown variant `defualt`"),
        ("extends = \"defualt\"\n", "\nhint: did you mean `default`?\n"),
        ("[rules.reed]\n", "\nhint: did you mean `read`?\n"),
        ("[dance]\n", "\nhint: `workden policy schema` prints"),
        ("[rules.read\n", "line 1, column 12: "),
        (
            "[rules.read]\nrules = [\n  { pattern = \"*.md\", action = \"allow\" },\n  { pattern = \"[a\", action = \"deny\" },\n]\n",
            "line 4, column 3: rule ",
        ),
        (
            "[[rules.read.rules]]\npattern = \"*.pem\"\naction = \"deny\"\nmatch = [\"/a.txt\"]\n",
            "its pattern does not match `/a.txt`, an example of `match`",
        ),
    ] {
        let (_kept, file) = config(text);
        for arguments in
            [&["policy", "check", "--config", &file][..], &["policy", "explain", "--config", &file, "read", "/a"]]
        {
            let output = workden_fed(arguments, b"");
            assert_eq!(output.status.code(), Some(1));
            assert!(output.stdout.is_empty());
            let complaint = String::from_utf8(output.stderr).unwrap();
            assert!(complaint.starts_with(&format!("error: {file}: line ")), "{complaint}");
            assert!(complaint.contains(expected), "{complaint}");
        }
    }
}

#[test]
fn a_configuration_that_is_not_there_and_a_preset_that_is_none_are_told() {
    let output = workden(&["policy", "check", "--config", "no-such-file.toml"], &[]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(complaint, "error: configuration `no-such-file.toml` not found\n");
    for words in [&["tool", "--config", "no-such-file.toml"][..], &["mcp", "--config", "no-such-file.toml"]] {
        let output = workden(words, &[]);
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(3), complaint.as_str())
        );
    }
    for nonsense in [
        &["policy"][..],
        &["policy", "check", "--policy", "lax"],
        &["policy", "explain"],
        &["policy", "explain", "dance", "x"],
        &["policy", "explain", "ls", "--read", "a"],
        &["policy", "explain", "--write", "a", "--read", "a"],
    ] {
        assert_eq!(workden(nonsense, &[]).status.code(), Some(2), "{nonsense:?}");
    }
    let unquoted = workden(&["policy", "explain", "git", "push"], &[]);
    let complaint = String::from_utf8(unquoted.stderr).unwrap();
    assert!(complaint.ends_with("hint: put a command in quotes: `workden policy explain 'git push'`\n"), "{complaint}");
}

#[test]
fn a_command_is_plain_text_and_an_operation_on_a_file_is_an_option() {
    for (short, long) in [
        (&["git push"][..], &["execute", "git push"][..]),
        (&["--execute", "git push"], &["execute", "git push"]),
        // One word is a command, also if an operation has the same name.
        (&["ls"], &["execute", "ls"]),
        (&["--ls", "src"], &["ls", "src"]),
        (&["--policy", "permissive", "--read", ".env"], &["--policy", "permissive", "read", ".env"]),
        (&["--write=a.md"], &["write", "a.md"]),
    ] {
        assert_eq!(explained(short), explained(long), "{short:?}");
    }
    let actions = |words: &[&str], input: &str| -> Vec<String> {
        let all = [&["policy", "check", "--policy", "permissive"], words].concat();
        let output = printed(workden_fed(&all, input.as_bytes()));
        let verdict = |line: &str| serde_json::from_str::<Value>(line).unwrap()["action"].as_str().unwrap().to_owned();
        output.lines().map(verdict).collect()
    };
    assert_eq!(actions(&["rm -rf /"], ""), ["deny"]);
    assert_eq!(
        actions(&["ls", "--read", ".env", "--execute", "ls", "--write", "a", "--read", "b.pem"], ""),
        ["allow", "deny", "allow", "allow", "deny"]
    );
    let lines = "ls -l\n\n{ ls; }\n[ -f a ] && ls\n{\"op\": \"read\", \"target\": \".env\"}\ntrue; rm -rf /\n";
    assert_eq!(actions(&[], lines), ["allow", "allow", "allow", "deny", "deny"]);
}

#[test]
fn the_schema_in_the_documents_is_current() {
    let printed = printed(workden(&["policy", "schema"], &[]));
    let hint = "run `cargo run -p workden-cli -- policy schema > docs/workden.schema.json`";
    assert!(printed == document("docs/workden.schema.json"), "the schema has changed: {hint}");
}

#[test]
fn policy_help_is_worth_reading() {
    for (name, arguments) in [
        ("help_policy", &["policy", "--help"][..]),
        ("help_policy_check", &["policy", "check", "--help"]),
        ("help_policy_explain", &["policy", "explain", "--help"]),
    ] {
        insta::assert_snapshot!(name, printed(workden(arguments, &[])));
    }
}
