//! The paragraph for a system prompt: what there is to work with, and no word of what there is not.

use crate::tools::Offer;

/// What a model is told about its tools as a whole.
pub(crate) fn system_prompt(offer: &Offer<'_>) -> String {
    let mut sentences = Vec::new();
    sentences.push(match offer.has("execute") {
        true => "You work in a workspace: a tree of files, and a sandbox in which commands run.".to_owned(),
        false => "You work in a workspace: a tree of files.".to_owned(),
    });
    sentences
        .push("Relative paths start at its working directory; what is outside of it cannot be reached.".to_owned());
    let looks: Vec<String> =
        ["ls", "glob", "list_files", "grep"].into_iter().filter(|name| offer.has(name)).map(quoted).collect();
    if !looks.is_empty() {
        sentences.push(format!("Look around with {}.", listed(&looks)));
    }
    if offer.has("read_file") {
        sentences.push("Read with `read_file`, in parts where a file is long.".to_owned());
    }
    match offer.edit_tool() {
        Some("hashline_edit") => sentences.push(
            "`read_file` shows each line as number:hash|text, and `hashline_edit` changes lines that are named by both; \
             read a file before you change it."
                .to_owned(),
        ),
        Some(edit) => sentences.push(format!("Read a file before you change it, and change parts of it with `{edit}`.")),
        None => {}
    }
    if offer.has("write_file") {
        sentences.push("New files, and those that are to be replaced, go through `write_file`.".to_owned());
    }
    if offer.has("execute") {
        sentences.push("Run programs and tests with `execute`.".to_owned());
    }
    if offer.has("run_in_background") {
        sentences.push(
            "What does not end by itself is started with `run_in_background`, followed with `read_output` and stopped \
             with `kill_shell`."
                .to_owned(),
        );
    }
    sentences.push("A call that is refused says why and what is allowed: act on that, do not repeat it.".to_owned());
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
