//! The paragraph for a system prompt. It names only tools that are offered.

use crate::{command_facts, tools::OfferedTools};

/// Describes the tools as a whole to a model.
pub(crate) fn system_prompt(offered: &OfferedTools<'_>) -> String {
    let mut sentences = Vec::new();
    sentences.push(match offered.has("execute") {
        true => "You work in a workspace: a tree of files, and a sandbox in which commands run.".to_owned(),
        false => "You work in a workspace: a tree of files.".to_owned(),
    });
    sentences.push("Relative paths start at its working directory; nothing outside of it can be reached.".to_owned());
    let search: Vec<String> =
        ["ls", "glob", "list_files", "grep"].into_iter().filter(|name| offered.has(name)).map(quoted).collect();
    if !search.is_empty() {
        sentences.push(format!("Explore with {}.", listed(&search)));
    }
    if offered.has("read_file") {
        sentences.push("Read with `read_file`, long files in parts.".to_owned());
    }
    match offered.edit_tool() {
        Some("hashline_edit") => sentences.push(
            "`read_file` shows each line as number:hash|text, and `hashline_edit` changes the lines that you name by both; \
             read a file before you change it."
                .to_owned(),
        ),
        Some(edit) => sentences.push(format!("Read a file before you change it, and change parts of it with `{edit}`.")),
        None => {}
    }
    if offered.has("write_file") {
        sentences.push("Create or replace whole files with `write_file`.".to_owned());
    }
    if offered.has("execute") {
        sentences.push("Run programs and tests with `execute`.".to_owned());
        sentences.push(command_facts::sentence(offered.facts));
    }
    if offered.has("run_in_background") {
        sentences.push(
            "Start servers and watchers with `run_in_background`, follow them with `read_output` and stop them with \
             `kill_shell`."
                .to_owned(),
        );
    }
    sentences.push("A refused call says why and what is allowed: act on that, do not repeat the call.".to_owned());
    sentences.join(" ")
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
