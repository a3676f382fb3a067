//! The result of a call: an answer with text for the model, attachments and data, or a failure, whose text is for the
//! model as well.

use std::fmt;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use workden_core::{Error, ErrorKind};

/// The answer of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolAnswer {
    /// The text for the model.
    pub text: String,
    /// Images and documents. Empty for most tools.
    pub attachments: Vec<Attachment>,
    /// The answer as data, an object. If the tool has an [output schema](crate::ToolSpec::output_schema), it contains
    /// everything that the text says, because many clients show a model only the data. Otherwise it has facts about
    /// the text, like the exit code of a command, and a client must show the text.
    pub structured: Option<Value>,
}

impl ToolAnswer {
    /// Creates an answer from its text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Sets the answer as data, from a value whose type has the schema of the tool's answers.
    pub(crate) fn data(self, data: &impl Serialize) -> Self {
        // Structs of strings, numbers and lists can be serialized.
        Self { structured: serde_json::to_value(data).ok(), ..self }
    }

    /// Sets the answer as data.
    #[must_use]
    pub fn structured(mut self, structured: Value) -> Self {
        self.structured = Some(structured);
        self
    }

    /// Adds an attachment.
    #[must_use]
    pub fn attach(mut self, attachment: Attachment) -> Self {
        self.attachments.push(attachment);
        self
    }
}

/// An image or a document in an answer.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attachment {
    /// An image.
    Image {
        /// The media type, like `image/png`.
        media_type: String,
        /// The bytes of the image file.
        bytes: Bytes,
    },
    /// A document.
    Document {
        /// The media type, like `application/pdf`.
        media_type: String,
        /// The file name, without a directory.
        name: String,
        /// The bytes of the document file.
        bytes: Bytes,
    },
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image { media_type, bytes } => write!(f, "Image({media_type}, {} bytes)", bytes.len()),
            Self::Document { media_type, name, bytes } => {
                write!(f, "Document({media_type}, {name:?}, {} bytes)", bytes.len())
            }
        }
    }
}

/// A refused or failed call. Its text goes to the model, which can act on it; a failure never ends the model's run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolFailure {
    /// The kind of failure, for code.
    pub kind: ErrorKind,
    /// The text for the model.
    pub text: String,
}

impl ToolFailure {
    /// Creates a failure.
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

impl fmt::Display for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ToolFailure {}

impl From<Error> for ToolFailure {
    fn from(error: Error) -> Self {
        Self { kind: error.kind(), text: format!("Error: {error}") }
    }
}
