//! `read_file`: some lines of a file, numbered; an image or a document as what it is.

use schemars::JsonSchema;
use serde::Deserialize;
use workden_core::{
    ErrorKind, limits,
    text::{Numbered, TextWindow, hashline},
};

use crate::{EditFormat, ToolAnswer, ToolFailure, context::Context, media::Media};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to read; relative paths start at the working directory.
    path: String,
    /// How many lines to skip.
    #[serde(default)]
    offset: u64,
    /// How many lines to show.
    #[serde(default = "usual_limit")]
    limit: u64,
    /// For a PDF: the pages to show as text, such as 3 or 10-20.
    #[serde(default)]
    pages: Option<String>,
}

fn usual_limit() -> u64 {
    limits::READ_LINES
}

super::tool!(read_file, Input, Files, LOOKS, &["read"], |offer| {
    let lines = match offer.options.edit_format {
        EditFormat::StrReplace => "Lines come numbered from 1, with a tab between number and text",
        EditFormat::Hashline => "Each line comes as number:hash|text, numbered from 1",
    };
    let images = if offer.options.images { " Images (PNG, JPEG, GIF, WebP) are shown to you." } else { "" };
    let documents = match offer.options.documents {
        true => " A PDF is attached as it is; with pages, or when it is too large, you get its text.",
        false => " Of a PDF you get the text of the pages that you name.",
    };
    format!(
        "Read a file. {lines}; when more lines follow, the answer says so, and a larger offset shows \
         them.{images}{documents}"
    )
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let typed = input.path.as_str();
    let path = context.path(typed)?;
    let failed = |error| context.failed_reading(typed, error);
    // The name only makes us look; the bytes decide. Of what reads as text nothing is read twice.
    if input.pages.is_some() || path.name().is_some_and(Media::is_named) {
        match (context.sniffed(&path).await.map_err(failed)?.0, input.pages.as_deref()) {
            (Some(media), None) => return context.show(typed, &path, media, None).await,
            (Some(Media::Pdf), pages) => return context.show(typed, &path, Media::Pdf, pages).await,
            (_, Some(_)) => {
                let text = format!("Error: '{typed}' is not a PDF, and has no pages; leave the argument `pages` out");
                return Err(ToolFailure::new(ErrorKind::InvalidArgument, text));
            }
            (None, None) => {}
        }
    }
    let window = TextWindow::lines(input.offset, input.limit);
    let excerpt = match context.read_window(&path, window).await {
        Ok(excerpt) if !Media::begins(&excerpt.text) => excerpt,
        Err(error) if error.kind() != ErrorKind::NotText => return Err(failed(error)),
        doubtful => match (context.sniffed(&path).await.map_err(failed)?.0, doubtful) {
            (Some(media), doubtful) => match (context.show(typed, &path, media, None).await, doubtful) {
                // It begins like an image and is none: then it is the text that it can be read as. What says
                // that it is larger than any image is none either.
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
        _ => Ok(ToolAnswer::text(numbered.text)),
    }
}
