//! The text of a PDF, extracted by `pdftotext` in the sandbox.
//!
//! Invariant: no PDF is parsed in this process. A PDF comes from outside, and its parsers have a long record of
//! vulnerabilities; in the sandbox one can harm nothing but the sandbox.

use std::{fmt::Write, ops::RangeInclusive, time::Duration};

use workden_core::{
    Backend, ErrorKind, Sandbox, Symlink, VirtualPath, limits,
    sandbox::{Ended, ExecuteRequest, Executed},
};

use super::page_range::{DEFAULT_PAGES, MAX_PAGE};
use crate::{ToolAnswer, ToolFailure, filesystem_errors::FileAction, tool_context::ToolContext};

/// How long an extraction may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Exit code of `pdftotext` when the first page is after the last one of the document.
const WRONG_PAGES: i32 = 99;
/// Exit codes of a program that is not there or cannot be run.
const NOT_RUNNABLE: [i32; 2] = [126, 127];

/// Why a document has no text.
#[derive(Debug)]
pub(super) enum NoText {
    /// Nothing here can extract it; the sentence says what is missing.
    Unavailable(&'static str),
    /// The extraction failed, or was refused.
    Failed(ToolFailure),
}

impl ToolContext<'_> {
    /// Extracts the text of these pages.
    pub(super) async fn pdf_text(
        &self,
        typed: &str,
        path: &VirtualPath,
        pages: RangeInclusive<u32>,
    ) -> Result<ToolAnswer, NoText> {
        let Some(sandbox) = &self.commands else {
            return Err(NoText::Unavailable("the workspace runs no commands"));
        };
        let failed = |error| NoText::Failed(self.failed_to(FileAction::Read, typed, error));
        let real = self.files.resolve(path, Symlink::Follow).await.map_err(failed)?.real;
        let (Some(directory), Some(name)) = (real.parent(), real.name()) else {
            return Err(NoText::Unavailable("it is not in a directory"));
        };
        let request = extraction(directory, name, &pages);
        let executed = match sandbox.execute(&request).await {
            Ok(executed) => executed,
            // The directory of a mount that the sandbox does not have.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(NoText::Unavailable("commands do not see its directory"));
            }
            Err(error) => return Err(failed(error)),
        };
        answer(typed, pages, &executed)
    }
}

/// The command. It runs in the directory of the file, because some sandboxes show commands other paths than tools,
/// and reads one page more than is wanted, which tells whether more follow.
fn extraction(directory: VirtualPath, name: &str, pages: &RangeInclusive<u32>) -> ExecuteRequest {
    let (first, last) = (pages.start().to_string(), (pages.end().min(&MAX_PAGE) + 1).to_string());
    let file = format!("./{name}");
    let words = ["pdftotext", "-q", "-enc", "UTF-8", "-f", &first, "-l", &last, &file, "-"];
    let mut request = ExecuteRequest::program(words).timeout(TIMEOUT);
    request.directory = Some(directory);
    // Of a longer output the sandbox keeps head and tail, of which the head is used.
    request.most_chars = usize::try_from(limits::READ_CHARS).unwrap_or(usize::MAX);
    request
}

fn answer(typed: &str, pages: RangeInclusive<u32>, executed: &Executed) -> Result<ToolAnswer, NoText> {
    let failed = |kind, text: String| Err(NoText::Failed(ToolFailure::new(kind, text)));
    let first = *pages.start();
    match executed.ended {
        Ended::Exited(0) => {}
        Ended::Exited(code) if NOT_RUNNABLE.contains(&code) => {
            return Err(NoText::Unavailable("`pdftotext` is not installed in the sandbox"));
        }
        Ended::Exited(WRONG_PAGES) => {
            return failed(ErrorKind::OutOfRange, format!("Error: '{typed}' has no page {first}"));
        }
        Ended::TimedOut => {
            let text = format!(
                "Error: extracting the text of '{typed}' timed out after {} s\nhint: name fewer pages, such as \
                 pages=\"{first}\"",
                TIMEOUT.as_secs()
            );
            return failed(ErrorKind::TimedOut, text);
        }
        Ended::Exited(_) | Ended::Signalled(_) => {
            let text = format!("Error: cannot extract the text of '{typed}': the document is damaged or encrypted");
            return failed(ErrorKind::NotText, text);
        }
    }
    let output = &executed.output;
    let is_cut = output.left_out.is_some();
    // Each page ends with a form feed. The text behind the last one is a page only where the output was cut.
    let mut texts: Vec<&str> = output.head.split('\x0C').collect();
    if !is_cut || texts.len() > 1 {
        texts.pop();
    }
    let wanted = usize::try_from(pages.end() - first).unwrap_or(usize::MAX).saturating_add(1);
    let are_more = is_cut || texts.len() > wanted;
    let mut text = String::new();
    let mut last = first;
    for (page, content) in (first..).zip(texts.into_iter().take(wanted)) {
        last = page;
        let content = match content.trim() {
            "" => "(no text on this page)",
            content => content,
        };
        let _ = write!(text, "\n--- page {page} ---\n{content}");
    }
    if is_cut && !output.head.contains('\x0C') {
        let _ = write!(text, "\n... (the rest of page {first} is left out)");
    }
    if are_more {
        let (next, until) = (last + 1, last.saturating_add(DEFAULT_PAGES));
        let _ = write!(text, "\n\n... (more pages follow; pages=\"{next}-{until}\" shows the next)");
    }
    Ok(ToolAnswer::text(format!("PDF {typed}: pages {first}-{last}, as text{text}")))
}
