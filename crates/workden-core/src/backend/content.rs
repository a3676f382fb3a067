//! The arguments and answers of backend calls: ranges, content, expectations, and the results of writes.

use std::{fmt, pin::Pin};

use bytes::Bytes;
use futures_core::Stream;
use serde::{Deserialize, Serialize};

use crate::{
    Result, Timestamp, Version, VirtualPath, limits,
    setters::setters,
    text::{ChangedLines, Outcome},
};

/// The bytes to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ByteRange {
    /// The whole file, if it has at most `most` bytes.
    Whole {
        /// The largest number of bytes to return.
        most: u64,
    },
    /// A part of the file.
    Part {
        /// How many bytes to skip.
        offset: u64,
        /// How many bytes to read at most.
        length: u64,
    },
}

impl ByteRange {
    /// Returns the range of a whole file, up to the default limit.
    #[must_use]
    pub fn whole() -> Self {
        Self::Whole { most: limits::READ_BYTES }
    }
}

/// Bytes of a file, and the size and time of the file when they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slice {
    /// The bytes.
    pub bytes: Bytes,
    /// How many bytes the whole file has.
    pub size: u64,
    /// When the file last changed.
    pub modified: Option<Timestamp>,
}

impl Slice {
    /// Creates a slice of a file of `size` bytes with an unknown modification time.
    #[must_use]
    pub fn new(bytes: Bytes, size: u64) -> Self {
        Self { bytes, size, modified: None }
    }

    setters! {
        /// Sets when the file last changed.
        modified: impl Into<Option<Timestamp>>,
    }
}

/// An opened file.
#[derive(Debug)]
pub enum Opened {
    /// A file of this machine.
    File {
        /// The file, positioned at its start.
        file: std::fs::File,
        /// The size in bytes when the file was opened.
        size: u64,
    },
    /// The content of a file on another machine or in memory.
    Content(Bytes),
}

/// The content to write.
pub enum Content {
    /// All bytes at once.
    Whole(Bytes),
    /// Bytes in pieces; an error in the stream ends the write and leaves the file unchanged.
    Stream(ContentStream),
}

/// A stream of content in pieces.
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

/// The state of the file that a writer expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Any content, or no file.
    Anything,
    /// No file.
    Absent,
    /// A file with this content.
    Version(Version),
}

/// The result of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Written {
    /// The path of the written file.
    pub path: VirtualPath,
    /// The version of the new content.
    pub version: Version,
    /// Whether the write replaced a file.
    pub replaced: Replaced,
}

impl Written {
    /// Creates the answer to a write.
    #[must_use]
    pub fn new(path: VirtualPath, version: Version, replaced: Replaced) -> Self {
        Self { path, version, replaced }
    }
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Changed {
    /// The path of the changed file.
    pub path: VirtualPath,
    /// The version of the new content.
    pub version: Version,
    /// The effect of the change.
    pub outcome: Outcome,
    /// The lines that changed, as they are now. A backend may leave them out.
    #[serde(default)]
    pub lines: ChangedLines,
}

impl Changed {
    /// Creates the answer to a change.
    #[must_use]
    pub fn new(path: VirtualPath, version: Version, outcome: Outcome) -> Self {
        Self { path, version, outcome, lines: ChangedLines::default() }
    }

    setters! {
        /// Sets the lines that changed, as they are now.
        lines: ChangedLines,
    }
}

/// What a write replaced.
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
    /// One file, link or empty directory.
    One,
    /// A directory with all of its content, or one file.
    Tree,
}

/// What to do if the destination exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfExists {
    /// Refuse the call.
    Refuse,
    /// Replace the existing file.
    Replace,
}
