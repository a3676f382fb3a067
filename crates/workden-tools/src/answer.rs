//! What a call comes to: text for a model, what comes besides it, and the same as data; or a failure,
//! which is for the model as well.

use std::fmt;

use bytes::Bytes;
use serde_json::Value;
use workden_core::{Error, ErrorKind};

/// The answer of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolAnswer {
    /// What the model reads.
    pub text: String,
    /// What comes besides the text: images, documents. Empty for most tools.
    pub content: Vec<Content>,
    /// The same answer as data, where it has a shape. It says everything that the text says, because
    /// some clients show a model one or the other.
    pub structured: Option<Value>,
}

impl ToolAnswer {
    /// An answer in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The same, with its data.
    #[must_use]
    pub fn structured(mut self, structured: Value) -> Self {
        self.structured = Some(structured);
        self
    }

    /// The same, with something besides the text.
    #[must_use]
    pub fn with(mut self, content: Content) -> Self {
        self.content.push(content);
        self
    }
}

/// Something that is no text.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// An image.
    Image {
        /// Like `image/png`.
        media_type: String,
        /// The image as a file.
        bytes: Bytes,
    },
    /// A document.
    Document {
        /// Like `application/pdf`.
        media_type: String,
        /// What it is called, without a directory.
        name: String,
        /// The document as a file.
        bytes: Bytes,
    },
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image { media_type, bytes } => write!(f, "Image({media_type}, {} bytes)", bytes.len()),
            Self::Document { media_type, name, bytes } => {
                write!(f, "Document({media_type}, {name:?}, {} bytes)", bytes.len())
            }
        }
    }
}

/// A call that was refused or failed. It is an answer, too: a face gives its text to the model, which
/// can act on it, and never ends the model's run for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFailure {
    /// What went wrong, for code.
    pub kind: ErrorKind,
    /// What the model reads.
    pub text: String,
}

impl ToolFailure {
    /// A failure in these words.
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
