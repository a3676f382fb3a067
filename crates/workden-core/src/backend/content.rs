//! What calls on a backend take and return: ranges, content, expectations, and what a write has done.

use std::{fmt, pin::Pin};

use bytes::Bytes;
use futures_core::Stream;
use serde::{Deserialize, Serialize};

use crate::{Result, Timestamp, Version, VirtualPath, limits, setters::setters, text::Outcome};

/// Which bytes to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ByteRange {
    /// All of them, if there are no more than `most`.
    Whole {
        /// The most bytes that may come back.
        most: u64,
    },
    /// Some of them.
    Part {
        /// How many to skip.
        offset: u64,
        /// How many to take at most.
        length: u64,
    },
}

impl ByteRange {
    /// The whole file, under the usual ceiling.
    #[must_use]
    pub fn whole() -> Self {
        Self::Whole { most: limits::READ_BYTES }
    }
}

/// Some bytes of a file, and what the file was like when they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slice {
    /// The bytes.
    pub bytes: Bytes,
    /// How many bytes the whole file has.
    pub size: u64,
    /// When it last changed.
    pub modified: Option<Timestamp>,
}

impl Slice {
    /// Creates a slice of a file of `size` bytes whose time of change is unknown.
    #[must_use]
    pub fn new(bytes: Bytes, size: u64) -> Self {
        Self { bytes, size, modified: None }
    }

    setters! {
        /// Sets when the file last changed.
        modified: impl Into<Option<Timestamp>>,
    }
}

/// A file that was opened.
#[derive(Debug)]
pub enum Opened {
    /// A file of this machine.
    File {
        /// The file, at its beginning.
        file: std::fs::File,
        /// How many bytes it had when it was opened.
        size: u64,
    },
    /// The content of one that is elsewhere.
    Content(Bytes),
}

/// What to write.
pub enum Content {
    /// Bytes that are all there.
    Whole(Bytes),
    /// Bytes that come in pieces; an error among them ends the write, and nothing is changed.
    Stream(ContentStream),
}

/// Pieces of content.
pub type ContentStream = Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>;

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl<T: Into<Bytes>> From<T> for Content {
    fn from(bytes: T) -> Self {
        Self::Whole(bytes.into())
    }
}

/// What a writer expects to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Anything, or nothing.
    Anything,
    /// Nothing.
    Absent,
    /// A file with this content.
    Version(Version),
}

/// What a write has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Written {
    /// Where.
    pub path: VirtualPath,
    /// The version of the content now there.
    pub version: Version,
    /// Whether something was there before.
    pub replaced: Replaced,
}

impl Written {
    /// Creates the answer to a write.
    #[must_use]
    pub fn new(path: VirtualPath, version: Version, replaced: Replaced) -> Self {
        Self { path, version, replaced }
    }
}

/// What a change has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Changed {
    /// Where.
    pub path: VirtualPath,
    /// The version of the content now there.
    pub version: Version,
    /// What it did.
    pub outcome: Outcome,
}

impl Changed {
    /// Creates the answer to a change.
    #[must_use]
    pub fn new(path: VirtualPath, version: Version, outcome: Outcome) -> Self {
        Self { path, version, outcome }
    }
}

/// What was there before a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replaced {
    /// Nothing.
    Nothing,
    /// A file.
    File,
}

/// How much to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// One thing; a directory must be empty.
    One,
    /// A directory with all that is in it, or one file.
    Tree,
}

/// What to do about something that stands where a file is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfExists {
    /// Refuse.
    Refuse,
    /// Put the file in its place.
    Replace,
}
