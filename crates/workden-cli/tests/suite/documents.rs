//! What README.md and docs/policy.md show of the command line is what it prints, and the `workden.toml`
//! of the guide has every key that there is.

use std::{path::Path, process::Command};

use serde_json::Value;

use crate::{document, printed, workden};

/// The first block of this kind after a mark, without its fences.
fn block<'d>(document: &'d str, mark: &str, kind: &str) -> &'d str {
    let (_, after) = document.split_once(mark).unwrap();
    let (_, after) = after.split_once(&format!("```{kind}\n")).unwrap();
    after.split_once("```").unwrap().0
}

/// Every `$ ...` that asks a policy in the `console` blocks of a document, with what it is said to print.
fn transcripts(document: &str) -> Vec<(String, String)> {
    let blocks = document.split("```console\n").skip(1).map(|after| after.split_once("```").unwrap().0);
    let sessions =
        blocks.flat_map(|block| format!("\n{block}").split("\n$ ").skip(1).map(str::to_owned).collect::<Vec<_>>());
    let told = sessions.map(|session| match session.split_once('\n') {
        Some((command, output)) => (command.to_owned(), output.to_owned()),
        None => (session, String::new()),
    });
    told.filter(|(command, output)| command.contains("workden policy") && !output.is_empty()).collect()
}

/// What a command prints in a shell, in a directory with the guide's `workden.toml`.
fn run(command: &str, directory: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_workden"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output =
        Command::new("sh").arg("-c").arg(format!("{command} 2>&1")).env("PATH", path).current_dir(directory).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn guide_config() -> String {
    block(&document("docs/policy.md"), "<!-- workden.toml -->", "toml").to_owned()
}

#[test]
fn the_documents_show_what_the_command_line_prints() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("workden.toml"), guide_config()).unwrap();
    for (name, at_least) in [("README.md", 1), ("docs/policy.md", 4)] {
        let all = transcripts(&document(name));
        assert!(all.len() >= at_least, "{name} shows {} runs", all.len());
        for (command, told) in all {
            let printed = run(&command, directory.path());
            assert_eq!(printed.trim_end(), told.trim_end(), "{name}: {command}");
        }
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
