//! `grep`: searches the content of files.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workden_core::{
    BackendExt,
    search::{
        Context as Around, Detail, FileMatches, GrepRequest, Grepped, Hidden, LetterCase, LineRole, Pattern, Span,
    },
};

use super::{escaped_name, search_notes};
use crate::{Dialect, ToolAnswer, ToolFailure, tool_context::ToolContext};

/// Files or matches that one answer shows by default.
const DEFAULT_LIMIT: u64 = 50;
/// Files or matches that one answer shows at most.
const MAX_LIMIT: u64 = 1_000;
/// Lines of context before and after a match at most.
const MAX_CONTEXT: u64 = 20;
/// Characters of a line that an answer shows.
const LINE_CHARS: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// A regular expression in the syntax of ripgrep.
    pattern: String,
    /// The file or directory to search; default: the working directory.
    #[serde(default)]
    path: Option<String>,
    /// Search only files whose paths match this pattern, such as *.rs or src/**/*.{ts,tsx}; with a leading !, all others.
    #[serde(default)]
    glob_pattern: Option<String>,
    /// What to return: the files with matches, the matching lines, or the number of matches.
    #[serde(default)]
    output_mode: Mode,
    /// Skip files and directories whose names start with a dot.
    #[serde(default)]
    ignore_hidden: Option<bool>,
    /// Lines to show before and after each match; only for output_mode content.
    #[serde(default)]
    #[schemars(range(max = 20))]
    context: u64,
    /// The largest number of files or matches to show.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    head_limit: u64,
    /// Ignore case.
    #[serde(default)]
    case_insensitive: bool,
    /// Treat the pattern as plain text, not as a regular expression.
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

fn default_limit() -> u64 {
    DEFAULT_LIMIT
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The number of matches; with files_with_matches only if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<u64>,
    /// For output_mode files_with_matches: the paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<String>>,
    /// For output_mode content: the lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<Line>>,
    /// For output_mode count: the matches of each file.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Vec<Count>>,
    /// Files or matches that are not shown.
    left_out: u64,
    /// Why the search is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Line {
    path: String,
    line: u64,
    text: String,
    /// Whether the line matches, or is context.
    #[serde(rename = "match")]
    is_match: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Count {
    path: String,
    matches: u64,
}

super::tool!(grep, "Search in files", Input => Output, Files, READS, &["grep"], |offered| {
    let skipped = match offered.options.ignore_hidden {
        true => "Hidden files and files in .gitignore",
        false => "Files in .gitignore",
    };
    let lines = offered.if_has("read_file", " Long lines are cut; read_file shows them whole.");
    format!(
        "Search the content of files with a regular expression. output_mode is files_with_matches (default), content \
         (path:line: text) or count. {skipped} are skipped, except a file named by path.{lines}"
    )
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let typed = input.path.as_deref().unwrap_or(".");
    let path = context.path(typed)?;
    let request = request(context, &input);
    let found = context.files.grep_path(&path, &request).await.map_err(|error| context.failed(typed, error))?;
    let dialect = context.options.dialect;
    let (text, mut output) = match input.output_mode {
        _ if found.matches == 0 => {
            (format!("No matches for '{}'", input.pattern), Output { matches: Some(0), ..Output::default() })
        }
        Mode::FilesWithMatches => files(&input.pattern, &found),
        Mode::Content => lines(&input.pattern, &found, input.head_limit),
        Mode::Count => counts(dialect, &input.pattern, &found),
    };
    let notes = search_notes(dialect, found.skipped, found.completeness);
    output.note = super::as_note(&notes);
    Ok(ToolAnswer::text(text + &notes).data(&output))
}

fn request(context: &ToolContext<'_>, input: &Input) -> GrepRequest {
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
    let limit = usize::try_from(input.head_limit.clamp(1, MAX_LIMIT)).unwrap_or(usize::MAX);
    let around = usize::try_from(input.context.min(MAX_CONTEXT)).unwrap_or(0);
    // A character has at most four bytes, and one character more shows that the line is longer.
    request.line_bytes = (LINE_CHARS + 1) * 4;
    match input.output_mode {
        Mode::FilesWithMatches => (request.detail, request.keep) = (Detail::Paths, limit),
        Mode::Count => (request.detail, request.keep) = (Detail::Counts, limit),
        Mode::Content => {
            request.detail = Detail::Lines;
            request.context = Around::new(around, around);
            request.keep = limit * (1 + 2 * around);
        }
    }
    request
}

fn files(pattern: &str, found: &Grepped) -> (String, Output) {
    let mut text = format!("Files containing '{pattern}':");
    let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
    for path in &paths {
        let _ = write!(text, "\n  {}", escaped_name(path));
    }
    let left_out = found.files_matched.saturating_sub(paths.len() as u64);
    if left_out > 0 {
        let _ = write!(text, "\n  ... and {left_out} more files; a larger head_limit or a narrower search shows them");
    }
    let files = paths.into_iter().map(str::to_owned).collect();
    (text, Output { files: Some(files), left_out, ..Output::default() })
}

fn lines(pattern: &str, found: &Grepped, limit: u64) -> (String, Output) {
    let mut text = format!("Matches for '{pattern}':");
    let mut all = Vec::new();
    let mut shown_matches = 0;
    let with_context = found.files.iter().flat_map(|file| &file.lines).any(|line| line.role == LineRole::Context);
    'files: for file in &found.files {
        let mut last = None;
        for line in &file.lines {
            let is_match = line.role == LineRole::Match;
            // The request allows for context lines; matches that share them leave space for further matches.
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
            let _ = write!(text, "\n  {}{mark}{}{mark} {shown}", escaped_name(file.path.as_str()), line.number);
            all.push(Line { path: file.path.to_string(), line: line.number, text: shown, is_match });
        }
    }
    let left_out = found.matches.saturating_sub(shown_matches);
    if left_out > 0 {
        let _ =
            write!(text, "\n  ... and {left_out} more matches; a larger head_limit or a narrower search shows them");
    }
    (text, Output { matches: Some(found.matches), lines: Some(all), left_out, ..Output::default() })
}

fn counts(dialect: Dialect, pattern: &str, found: &Grepped) -> (String, Output) {
    let count = |file: &FileMatches| Count { path: file.path.to_string(), matches: file.count };
    let counts: Vec<Count> = found.files.iter().map(count).collect();
    let left_out = found.files_matched.saturating_sub(counts.len() as u64);
    let output = Output { matches: Some(found.matches), counts: Some(counts), left_out, ..Output::default() };
    (format!("Found {} for '{pattern}'", dialect.counted(found.matches, "match")), output)
}

/// Cuts a line for an answer.
fn clipped(line: &str, left_out: u64) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None if left_out > 0 => format!("{line}..."),
        None => line.to_owned(),
    }
}
