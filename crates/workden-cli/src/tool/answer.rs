//! Formats the answer of a tool as JSON and as text. JSON carries images and documents as data; text has a line for
//! each.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use workden::{
    ErrorKind,
    tools::{Attachment, ToolAnswer, ToolFailure},
};

/// An answer as JSON.
#[derive(Debug, Serialize)]
pub(super) struct AnswerDocument<'a> {
    /// The id of the request, unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a RawValue>,
    ok: bool,
    /// The kind of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<ErrorKind>,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    content: Vec<Attached>,
    /// The answer as data, if it has any and the caller asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
}

/// An attachment.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Attached {
    Image { media_type: String, data: String },
    Document { media_type: String, name: String, data: String },
    Other,
}

/// Whether an answer includes its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Structured {
    Shown,
    LeftOut,
}

impl<'a> AnswerDocument<'a> {
    /// Converts the outcome of a call.
    pub(super) fn of(outcome: Result<ToolAnswer, ToolFailure>, structured: Structured) -> Self {
        match outcome {
            Ok(answer) => Self {
                id: None,
                ok: true,
                kind: None,
                content: answer.attachments.into_iter().map(attached).collect(),
                structured: answer.structured.filter(|_| structured == Structured::Shown),
                text: answer.text,
            },
            Err(failure) => Self::failed(failure.kind, failure.text),
        }
    }

    /// Returns a failure.
    pub(super) fn failed(kind: ErrorKind, text: String) -> Self {
        Self { id: None, ok: false, kind: Some(kind), text, content: Vec::new(), structured: None }
    }

    /// Sets the id.
    pub(super) fn to(self, id: Option<&'a RawValue>) -> Self {
        Self { id, ..self }
    }

    /// Formats it as one line.
    pub(super) fn line(&self) -> String {
        // Strings, numbers and JSON values cannot fail to serialize.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

fn attached(attachment: Attachment) -> Attached {
    match attachment {
        Attachment::Image { media_type, bytes } => Attached::Image { media_type, data: STANDARD.encode(bytes) },
        Attachment::Document { media_type, name, bytes } => {
            Attached::Document { media_type, name, data: STANDARD.encode(bytes) }
        }
        _ => Attached::Other,
    }
}

/// Returns what a model would see, as far as a terminal can show it.
pub(super) fn text(outcome: &Result<ToolAnswer, ToolFailure>) -> String {
    let mut text = match outcome {
        Ok(answer) => answer.text.clone(),
        Err(failure) => failure.text.clone(),
    };
    for attachment in outcome.iter().flat_map(|answer| &answer.attachments) {
        let (what, bytes) = match attachment {
            Attachment::Image { media_type, bytes } | Attachment::Document { media_type, bytes, .. } => {
                (media_type.as_str(), bytes.len())
            }
            _ => ("something that cannot be shown here", 0),
        };
        let break_before = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{break_before}[{what}, {bytes} bytes; `--json` has them]");
    }
    text
}
