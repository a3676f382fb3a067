//! `read_file`: reads numbered lines of a file; attaches an image or a document.

use schemars::JsonSchema;
use serde::Deserialize;
use workden_core::{
    BackendExt, Error, ErrorKind, VirtualPath, limits,
    text::{Cut, Extent, Numbered, TextWindow, hashline},
};

use crate::{
    EditFormat, ToolAnswer, ToolFailure, filesystem_errors::FileAction, media::Media, tool_context::ToolContext,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to read; relative paths start at the working directory.
    path: String,
    /// The number of the first line to show; lines count from 1.
    #[serde(default)]
    offset: Option<u64>,
    /// The number of lines to show.
    #[serde(default = "default_limit")]
    limit: u64,
    /// For a PDF: the pages to show as text, such as 3 or 10-20.
    #[serde(default)]
    pages: Option<String>,
}

fn default_limit() -> u64 {
    limits::READ_LINES
}

super::tool!(read_file, "Read file", Input => text, Files, READS, &["read"], |offered| {
    let lines = match offered.options.edit_format {
        EditFormat::StrReplace => "Lines are numbered from 1, with a tab between number and text",
        EditFormat::Hashline => "Each line is shown as number:hash|text, numbered from 1",
    };
    let images = if offered.options.images { " Images (PNG, JPEG, GIF, WebP) are attached." } else { "" };
    let documents = match offered.options.documents {
        true => " A PDF is attached as it is; with pages, or when it is too large, you get its text.",
        false => " Of a PDF you get the text of the pages that you name.",
    };
    format!("Read a file. {lines}; if more lines follow, the answer says so: continue with a larger offset.{images}{documents}")
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let typed = input.path.as_str();
    let path = context.path(typed)?;
    let failed = |error| context.failed_to(FileAction::Read, typed, error);
    // The name only decides whether to look at the bytes first, and the bytes decide. A text is not read twice.
    if input.pages.is_some() || path.name().is_some_and(Media::is_named) {
        match (context.sniffed(&path).await.map_err(failed)?.0, input.pages.as_deref()) {
            (Some(media), None) => return context.attach(typed, &path, media, None).await,
            (Some(Media::Pdf), pages) => return context.attach(typed, &path, Media::Pdf, pages).await,
            (_, Some(_)) => {
                let text = format!("Error: '{typed}' is not a PDF and has no pages; leave out the argument `pages`");
                return Err(ToolFailure::new(ErrorKind::InvalidArgument, text));
            }
            (None, None) => {}
        }
    }
    let dialect = context.options.dialect;
    let window = TextWindow::lines(dialect.lines_to_skip(input.offset), input.limit);
    let excerpt = match context.read_window(&path, window).await {
        Err(error) if error.kind() == ErrorKind::OutOfRange && dialect.names_lines() => {
            return Err(past_the_end(context, typed, &path, input.offset).await.unwrap_or_else(|| failed(error)));
        }
        Ok(excerpt) if !Media::starts_like(&excerpt.text) => excerpt,
        Err(error) if error.kind() != ErrorKind::NotText => return Err(failed(error)),
        doubtful => match (context.sniffed(&path).await.map_err(failed)?.0, doubtful) {
            (Some(media), doubtful) => match (context.attach(typed, &path, media, None).await, doubtful) {
                // A text may start with the signature of an image or a document. It is shown as text if it does not
                // decode, or if its alleged dimensions exceed those of any image.
                (Err(failure), Ok(excerpt))
                    if failure.kind == ErrorKind::NotText
                        || failure.kind == ErrorKind::TooLarge && media != Media::Pdf =>
                {
                    excerpt
                }
                (shown, _) => return shown,
            },
            (None, doubtful) => doubtful.map_err(failed)?,
        },
    };
    let numbered = match context.options.edit_format {
        EditFormat::StrReplace => Numbered::of(&excerpt),
        EditFormat::Hashline => hashline::format(&excerpt),
    };
    match numbered.total {
        0 => Ok(ToolAnswer::text("(the file is empty)")),
        _ if dialect.names_lines() => Ok(ToolAnswer::text(numbered.lines().to_owned() + &footer(&numbered))),
        _ => Ok(ToolAnswer::text(numbered.text)),
    }
}

/// Says how many lines follow, and where to continue.
fn footer(numbered: &Numbered) -> String {
    let next = numbered.offset + numbered.shown + 1;
    let left = match numbered.left() {
        1 => "1 more line".to_owned(),
        left => format!("{left} more lines"),
    };
    match numbered.cut {
        Cut::No if numbered.left() == 0 => String::new(),
        Cut::No => format!("\n\n... ({left}; continue with offset={next})"),
        Cut::BetweenLines => {
            format!("\n\n... ({left}; stopped at {} characters, continue with offset={next})", limits::READ_CHARS)
        }
        Cut::InsideLine => format!(
            "\n\n... (line {} is longer than {} characters and was cut; {left}; grep finds a part of it)",
            next - 1,
            limits::READ_CHARS
        ),
    }
}

/// The failure of a read that starts after the last line; `None` if the file cannot be read any more.
async fn past_the_end(
    context: &ToolContext<'_>,
    typed: &str,
    path: &VirtualPath,
    offset: Option<u64>,
) -> Option<ToolFailure> {
    let Extent::Lines { total, .. } = context.files.read_window(path, TextWindow::lines(0, 0)).await.ok()?.extent
    else {
        return None;
    };
    let lines = if total == 1 { "1 line".to_owned() } else { format!("{total} lines") };
    let sentence = format!("cannot read `{path}` from line {}: the file has {lines}", offset.unwrap_or(1));
    let error = Error::new(ErrorKind::OutOfRange, sentence).hint("offset is the number of the first line to show");
    Some(context.failed_to(FileAction::Read, typed, error))
}
