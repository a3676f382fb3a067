//! `grep`: lines in files, by pattern.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use workden_core::{
    BackendExt,
    search::{Context as Around, Detail, GrepRequest, Grepped, Hidden, LetterCase, LineRole, Pattern, Span},
};

use super::{footnotes, on_a_line};
use crate::{ToolAnswer, ToolFailure, context::Context};

/// Files or matches that one answer shows unless it is told otherwise.
const SHOWN: u64 = 50;
/// The most that it can be told.
const MOST_SHOWN: u64 = 1_000;
/// The most lines around a match.
const MOST_CONTEXT: u64 = 20;
/// Characters of a line that an answer shows.
const LINE_CHARS: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// A regular expression, as ripgrep takes it.
    pattern: String,
    /// The file or directory to search; the working directory if left out.
    #[serde(default)]
    path: Option<String>,
    /// Only search files whose paths match this pattern, such as *.rs or src/**/*.{ts,tsx}; with ! in front, all others.
    #[serde(default)]
    glob_pattern: Option<String>,
    /// What to answer: the files that match, the matching lines, or how many there are.
    #[serde(default)]
    output_mode: Mode,
    /// Pass over files and directories whose names start with a dot.
    #[serde(default)]
    ignore_hidden: Option<bool>,
    /// Lines to show before and after each match, with output_mode content.
    #[serde(default)]
    #[schemars(range(max = 20))]
    context: u64,
    /// How many files or matches to show.
    #[serde(default = "usual_limit")]
    #[schemars(range(min = 1, max = 1000))]
    head_limit: u64,
    /// Take upper and lower case for the same.
    #[serde(default)]
    case_insensitive: bool,
    /// Take the pattern as plain text, not as a regular expression.
    #[serde(default)]
    literal: bool,
    /// Let a match span lines.
    #[serde(default)]
    multiline: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

fn usual_limit() -> u64 {
    SHOWN
}

super::tool!(grep, Input, Files, LOOKS, &["grep"], |offer| {
    let passed_over = match offer.options.ignore_hidden {
        true => "Hidden files and files that .gitignore names",
        false => "Files that .gitignore names",
    };
    let lines = offer.if_has("read_file", " Long lines are shown in part; read_file shows the whole.");
    format!(
        "Search the content of files with a regular expression. output_mode says what comes back: files_with_matches \
         (the default), content (path:line: text) or count. {passed_over} are passed over, except a file that path \
         itself names.{lines}"
    )
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let typed = input.path.as_deref().unwrap_or(".");
    let path = context.path(typed)?;
    let request = request(context, &input);
    let found = context.files.grep_path(&path, &request).await.map_err(|error| context.failed(typed, error))?;
    let (text, mut structured) = match input.output_mode {
        _ if found.matches == 0 => (format!("No matches for '{}'", input.pattern), json!({ "matches": 0 })),
        Mode::FilesWithMatches => files(&input.pattern, &found),
        Mode::Content => lines(&input.pattern, &found, input.head_limit),
        Mode::Count => counts(&input.pattern, &found),
    };
    let notes = footnotes(found.skipped, found.completeness);
    if !notes.is_empty() {
        structured["note"] = notes.trim().into();
    }
    Ok(ToolAnswer::text(text + &notes).structured(structured))
}

fn request(context: &Context<'_>, input: &Input) -> GrepRequest {
    let mut pattern = match input.literal {
        true => Pattern::literal(input.pattern.as_str()),
        false => Pattern::regex(input.pattern.as_str()),
    };
    if input.case_insensitive {
        pattern.case = LetterCase::Insensitive;
    }
    if input.multiline {
        pattern.span = Span::MultiLine;
    }
    let mut request = GrepRequest::new(pattern);
    request.filter = input.glob_pattern.iter().cloned().collect();
    request.hidden = match input.ignore_hidden.unwrap_or(context.options.ignore_hidden) {
        true => Hidden::Skip,
        false => Hidden::Include,
    };
    let limit = usize::try_from(input.head_limit.clamp(1, MOST_SHOWN)).unwrap_or(usize::MAX);
    let around = usize::try_from(input.context.min(MOST_CONTEXT)).unwrap_or(0);
    // A character has at most four bytes, and one more shows that something was cut off.
    request.line_bytes = (LINE_CHARS + 1) * 4;
    match input.output_mode {
        Mode::FilesWithMatches => (request.detail, request.keep) = (Detail::Paths, limit),
        Mode::Count => (request.detail, request.keep) = (Detail::Counts, limit),
        Mode::Content => {
            request.detail = Detail::Lines;
            request.context = Around { before: around, after: around };
            request.keep = limit * (1 + 2 * around);
        }
    }
    request
}

fn files(pattern: &str, found: &Grepped) -> (String, Value) {
    let mut text = format!("Files containing '{pattern}':");
    let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
    for path in &paths {
        let _ = write!(text, "\n  {}", on_a_line(path));
    }
    let left_out = found.files_matched.saturating_sub(paths.len() as u64);
    if left_out > 0 {
        let _ = write!(text, "\n  ... and {left_out} more files; a larger head_limit or a narrower search shows them");
    }
    (text, json!({ "files": paths, "left_out": left_out }))
}

fn lines(pattern: &str, found: &Grepped, limit: u64) -> (String, Value) {
    let mut text = format!("Matches for '{pattern}':");
    let mut all = Vec::new();
    let mut shown_matches = 0;
    let with_context = found.files.iter().flat_map(|file| &file.lines).any(|line| line.role == LineRole::Context);
    'files: for file in &found.files {
        let mut last = None;
        for line in &file.lines {
            let is_match = line.role == LineRole::Match;
            // Lines around matches were counted in, and matches that share them leave room for more.
            if is_match && shown_matches == limit {
                break 'files;
            }
            shown_matches += u64::from(is_match);
            let is_gap = last.map_or(!all.is_empty(), |last| line.number > last + 1);
            if with_context && is_gap {
                text.push_str("\n  --");
            }
            last = Some(line.number);
            let mark = if is_match { ':' } else { '-' };
            let shown = clipped(line.text, line.left_out);
            let _ = write!(text, "\n  {}{mark}{}{mark} {shown}", on_a_line(file.path.as_str()), line.number);
            all.push(json!({ "path": file.path, "line": line.number, "text": shown, "match": is_match }));
        }
    }
    let left_out = found.matches.saturating_sub(shown_matches);
    if left_out > 0 {
        let _ =
            write!(text, "\n  ... and {left_out} more matches; a larger head_limit or a narrower search shows them");
    }
    (text, json!({ "matches": found.matches, "lines": all, "left_out": left_out }))
}

fn counts(pattern: &str, found: &Grepped) -> (String, Value) {
    let files: Vec<Value> =
        found.files.iter().map(|file| json!({ "path": file.path, "matches": file.count })).collect();
    let left_out = found.files_matched.saturating_sub(files.len() as u64);
    let structured = json!({ "matches": found.matches, "files": files, "files_left_out": left_out });
    (format!("Found {} match(es) for '{pattern}'", found.matches), structured)
}

/// A line as an answer shows it.
fn clipped(line: &str, left_out: u64) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None if left_out > 0 => format!("{line}..."),
        None => line.to_owned(),
    }
}
