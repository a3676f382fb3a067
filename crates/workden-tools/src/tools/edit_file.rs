//! `edit_file`: replaces a text in a file.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workden_core::{
    Changed,
    text::{Change, ChangedLines, Outcome, Replacement, hashline::line_hash},
};

use crate::{EditFormat, ToolAnswer, ToolFailure, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to edit.
    path: String,
    /// The text to replace, exactly as in the file: with its indentation, without line numbers.
    old_string: String,
    /// The new text; empty to remove the old one.
    new_string: String,
    /// Replace every occurrence of the text.
    #[serde(default)]
    replace_all: bool,
}

/// The data of an answer to an edit, of every tool that edits.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    path: String,
    /// The number of replacements.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<u64>,
    /// What became of the lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// The changed lines with their numbers, as they are now, and a few around them.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<String>,
}

super::tool!(edit_file, "Edit file", Input => Output, Files, CHANGES, &["read", "edit"], |_| {
    "Replace a text in a file. The old text must occur exactly once: add lines around it until it does, or set \
     replace_all. The rest of the file stays as it is, byte for byte. An edit of a file that changed since you read it is \
     refused."
        .to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { path, old_string, new_string, replace_all } = input;
    let replacement =
        if replace_all { Replacement::all(old_string, new_string) } else { Replacement::once(old_string, new_string) };
    let changed = context.change(&path, &Change::Replace(vec![replacement])).await?;
    Ok(answer(context, &path, &changed))
}

/// Returns the answer to an edit.
pub(super) fn answer(context: &ToolContext<'_>, typed: &str, changed: &Changed) -> ToolAnswer {
    let dialect = context.options.dialect;
    let (what, replaced, summary) = match &changed.outcome {
        Outcome::Replaced(places) => {
            (format!("replaced {}", dialect.counted(*places, "occurrence")), Some(*places), None)
        }
        Outcome::Lines(summary) => (dialect.summary(summary), None, Some(dialect.summary(summary))),
    };
    let now = dialect.shows_changed_lines().then(|| shown(&changed.lines, context.options.edit_format)).flatten();
    let mut text = format!("Edited {typed}: {what}");
    if let Some(now) = &now {
        let _ = write!(text, "\nThe changed lines now:\n{now}");
    }
    let path = context.path(typed).map_or_else(|_| typed.to_owned(), |path| path.to_string());
    ToolAnswer::text(text).data(&Output { path, replaced, summary, now })
}

/// The changed lines as `read_file` shows them, so that the next edit can start from them.
fn shown(changed: &ChangedLines, format: EditFormat) -> Option<String> {
    let mut text = String::new();
    let mut last = None;
    for line in &changed.lines {
        if last.is_some_and(|last| line.number > last + 1) {
            text.push_str("   ...\n");
        }
        last = Some(line.number);
        let (number, cut) = (line.number, if line.is_cut { "..." } else { "" });
        let _ = match format {
            EditFormat::StrReplace => writeln!(text, "{number:>6}\t{}{cut}", line.text.trim_end_matches('\r')),
            // The hash of a line is that of the whole line.
            EditFormat::Hashline if line.is_cut => writeln!(text, "{number}|{}{cut}", line.text),
            EditFormat::Hashline => writeln!(text, "{number}:{}|{}", line_hash(&line.text), line.text),
        };
    }
    if changed.has_more {
        text.push_str("   ... (further changed lines are not shown)\n");
    }
    text.pop();
    (!text.is_empty()).then_some(text)
}
