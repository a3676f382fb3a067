//! The transcripts in the documents match the output of the program, and the `workden.toml` of the guide has every key.
//! `[...]` in a transcript matches any text.

use std::{path::Path, process::Command};

use serde_json::Value;

use crate::cli::{document, printed, workden};

/// Returns the first block of this kind after a mark, without its fences.
fn block<'d>(document: &'d str, mark: &str, kind: &str) -> &'d str {
    let (_, after) = document.split_once(mark).unwrap();
    let (_, after) = after.split_once(&format!("```{kind}\n")).unwrap();
    after.split_once("```").unwrap().0
}

/// Returns every `$ ...` in the `console` blocks of a document, with the output shown for it.
fn transcripts(document: &str) -> Vec<(String, String)> {
    let blocks = document.split("```console\n").skip(1).map(|after| after.split_once("```").unwrap().0);
    let sessions =
        blocks.flat_map(|block| format!("\n{block}").split("\n$ ").skip(1).map(str::to_owned).collect::<Vec<_>>());
    let told = sessions.map(|session| match session.split_once('\n') {
        Some((command, output)) => (command.to_owned(), output.to_owned()),
        None => (session, String::new()),
    });
    let is_shown = |command: &str| {
        ["policy", "run", "runtimes", "doctor", "tool", "mcp"]
            .iter()
            .any(|word| command.contains(&format!("workden {word}")))
    };
    // A server runs until it is stopped.
    let ends = |command: &str| !command.contains("--http");
    told.filter(|(command, output)| is_shown(command) && ends(command) && !output.is_empty()).collect()
}

/// Returns what a command prints in a shell, in a directory.
fn run(command: &str, directory: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_workden"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let script = format!("exec 2>&1\n{command}");
    let output = Command::new("sh").arg("-c").arg(script).env("PATH", path).current_dir(directory).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn guide_config() -> String {
    block(&document("docs/policy.md"), "<!-- workden.toml -->", "toml").to_owned()
}

/// Returns whether a text matches a transcript, in which `[...]` matches any text.
fn is_as_told(printed: &str, told: &str) -> bool {
    let mut pieces = told.split("[...]");
    let Some(mut rest) = pieces.next().and_then(|first| printed.strip_prefix(first)) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, between)) = pieces.split_last() else { return rest.is_empty() };
    for piece in between {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns the headings and titles of a doctor's report. The results differ between machines, and some titles between
/// root and other users.
fn looked_at(report: &str) -> Vec<&str> {
    let titles = report.lines().filter_map(|line| {
        let found = line.strip_prefix("  works    ").or_else(|| line.strip_prefix("  missing  "));
        match found {
            Some(found) => found.split("  ").next(),
            None => Some(line).filter(|line| line.contains(": ") && !line.starts_with(' ')),
        }
    });
    titles.filter(|title| !title.starts_with("id-mapped") && !title.starts_with("This machine")).collect()
}

#[test]
fn the_documents_show_what_the_command_line_prints() {
    for (name, at_least) in [
        ("README.md", 3),
        ("docs/policy.md", 4),
        ("docs/sandboxes.md", 9),
        ("docs/cli.md", 8),
        ("docs/runtimes.md", 2),
        ("docs/files.md", 3),
        ("docs/tools.md", 3),
        ("docs/mcp.md", 1),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (file, content) = match name {
            "docs/policy.md" => ("workden.toml", guide_config()),
            "docs/files.md" => ("poem.txt", "one\ntwo\nthree\n".to_owned()),
            _ => ("notes.md", "remember\n".to_owned()),
        };
        std::fs::write(directory.path().join(file), content).unwrap();
        let all = transcripts(&document(name));
        assert!(all.len() >= at_least, "{name} shows {} runs", all.len());
        for (command, told) in all {
            let printed = run(&command, directory.path());
            if command == "workden doctor" {
                assert_eq!(looked_at(&printed), looked_at(&told), "{name}: {printed}");
                assert!(looked_at(&told).len() > 8, "{name}: {told}");
            } else if !is_as_told(printed.trim_end(), told.trim_end()) {
                // Fails, and shows the difference.
                assert_eq!(printed.trim_end(), told.trim_end(), "{name}: {command}");
            }
        }
    }
}

#[test]
fn dots_in_brackets_stand_for_anything_and_nothing_else_does() {
    for (printed, told, same) in [
        ("a\nb\nc", "a\nb\nc", true),
        ("a\nb\nc", "a\n[...]\nc", true),
        ("a\nb\nc", "[...]", true),
        ("x 12 y 13 z", "x [...] y [...] z", true),
        ("a\nb", "a", false),
        ("a", "a\n[...]\nb", false),
        ("a\nb\nc", "a\n[...]\nb", false),
        ("b", "a[...]", false),
    ] {
        assert_eq!(is_as_told(printed, told), same, "{printed:?} as {told:?}");
    }
}

#[test]
fn the_guide_has_every_key_of_a_configuration() {
    let config = guide_config();
    let schema: Value = serde_json::from_str(&printed(workden(&["policy", "schema"], &[]))).unwrap();
    let tables = std::iter::once(&schema).chain(schema["$defs"].as_object().unwrap().values());
    let keys: Vec<&String> =
        tables.filter_map(|table| table["properties"].as_object()).flat_map(|keys| keys.keys()).collect();
    assert!(keys.len() > 25, "{keys:?}");
    for key in keys {
        let is_there = config.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == key);
        assert!(is_there, "`{key}` is not in the guide's workden.toml");
    }
}
