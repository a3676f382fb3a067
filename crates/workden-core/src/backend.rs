//! `Backend`: a place that holds files. The trait is small and has no default methods;
//! conveniences are in [`BackendExt`](crate::BackendExt), written once.
//!
//! Invariant: I/O takes a path that `resolve` returned and never follows a symbolic link. If the
//! path has changed since, the call fails with `Moved`, and is to be tried again from `resolve`.

use std::{fmt, pin::Pin, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;
use serde::{Deserialize, Serialize};

use crate::{
    Entry, FileIdentity, Result, Timestamp, Version, VirtualPath, limits,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, Outcome, TextWindow},
};

/// A place that holds files.
///
/// Every method takes what [`resolve`](Backend::resolve) returned, and what holds for all of them
/// is said here:
///
/// - Only regular files are read or written; a FIFO, socket or device answers `NotRegular` at once.
/// - A missing path is `NotFound`, a directory in place of a file `IsDirectory`, a file in place of
///   a directory `NotDirectory`.
/// - A symbolic link on the way is `Moved`: it was not there when the path was resolved.
/// - Names that start with `.workden-tmp-` are workden's own: never shown, never opened.
#[async_trait]
pub trait Backend: Send + Sync + fmt::Debug {
    /// Follows symbolic links inside the workspace and returns the path that I/O may open.
    ///
    /// # Behavior
    ///
    /// - Absolute link targets start at the root of the workspace.
    /// - `Escapes` when a link climbs out, `LinkLoop` when links go in circles.
    /// - What does not exist yet resolves to where it would be created.
    /// - `Symlink::NoFollow` leaves a link at the end alone: what is removed or renamed is the link.
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved>;

    /// Says what is there.
    ///
    /// # Behavior
    ///
    /// - Special files are described, not refused. A link left at the end is described by what
    ///   it leads to.
    async fn stat(&self, at: &Resolved) -> Result<Entry>;

    /// Lists a directory: directories first, then by name.
    ///
    /// # Behavior
    ///
    /// - What the request's `Visibility` hides or would ask about is not in it.
    /// - Broken links, names that are not UTF-8 and entries that vanish do not spoil it.
    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing>;

    /// Reads bytes.
    ///
    /// # Behavior
    ///
    /// - A part past the end is empty; one that reaches past it is shorter.
    /// - `TooLarge` when the whole is asked for and exceeds the ceiling that came with it.
    /// - A file that grows meanwhile is read as far as it went when it was opened.
    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice>;

    /// As [`read`](Self::read) of the whole, for who would only copy what that gives: the file itself, open, where it is
    /// one of this machine's, and its content elsewhere.
    ///
    /// # Behavior
    ///
    /// - As `read`: `TooLarge` when it has more than `most` bytes.
    async fn open(&self, at: &Resolved, most: u64) -> Result<Opened>;

    /// Reads a window of text where the file is, so that only the window travels.
    ///
    /// # Behavior
    ///
    /// - `NotText` for binary content, `OutOfRange` for lines past the end.
    /// - Memory is bounded by the window.
    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt>;

    /// Replaces the content of a file, or makes it, with the directories above it.
    ///
    /// # Behavior
    ///
    /// - Atomic: a reader sees the old or the new content, also when the writer dies.
    /// - Content that comes in pieces is waited for before anybody else has to.
    /// - `AlreadyExists` or `Conflict` when the file is not as expected, `NotFound` when a version is
    ///   expected and nothing is there; nothing is changed.
    /// - Content is stored as given. Mode is kept; hard links are severed.
    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written>;

    /// Changes a file where it is: reads it, plans the change and writes the outcome, with no other
    /// writer of workden in between.
    ///
    /// # Behavior
    ///
    /// - As `write`, and the errors of [`Change::plan`]; nothing is changed when it fails.
    /// - `NotFound` when nothing is there, whatever is expected: a change makes no file.
    /// - What is expected is looked at first: `Conflict` when the content is not of the expected
    ///   version, `AlreadyExists` when nothing should be there.
    /// - `TooLarge` when the file has more than `most` bytes, or would have after the change.
    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed>;

    /// Makes a directory, and those above it. One that is there already is fine.
    ///
    /// # Behavior
    ///
    /// - `AlreadyExists` when a file has the name, `NotDirectory` when one stands on the way.
    async fn make_dir(&self, at: &Resolved) -> Result<()>;

    /// Removes a file, a link or a directory.
    ///
    /// # Behavior
    ///
    /// - A directory that holds something is `NotEmpty`, unless the tree is meant.
    /// - The root cannot be removed: `InvalidArgument`.
    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()>;

    /// Renames a file, a link or a directory; makes the directories above the new name.
    ///
    /// # Behavior
    ///
    /// - `AlreadyExists` when something has the new name, unless a file may replace a file.
    /// - A directory never replaces anything, is never replaced, and cannot move into itself
    ///   (`InvalidArgument`).
    /// - What moves to the name it has stays as it is.
    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()>;

    /// Copies a file; makes the directories above the new name.
    ///
    /// # Behavior
    ///
    /// - `IsDirectory` for a directory at either end, `AlreadyExists` for a file that may not be
    ///   replaced.
    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written>;

    /// Finds paths below a directory by pattern: newest first, ties by path.
    ///
    /// # Behavior
    ///
    /// - Links are shown, but not entered.
    /// - `NotDirectory` when a file is to be searched.
    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed>;

    /// Finds lines in the files below a directory, or in one file.
    ///
    /// # Behavior
    ///
    /// - A file that is named itself is searched, hidden or ignored or not; only the request's
    ///   `Visibility` can object.
    /// - Links below the directory are not followed.
    /// - `files_searched` counts neither binary files nor what the `Visibility` passes over.
    /// - A file with several names is searched under none of them when the `Visibility` hides one.
    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped>;

    /// The other paths in this workspace that lead to the same files: hard links, and other mounts
    /// of one directory. An answer for each, in order. It is for whoever judges, not for showing.
    ///
    /// # Behavior
    ///
    /// - Symbolic links are not names. What has no other name, or is not there, has none.
    /// - Names outside the workspace, or in directories that cannot be read, are not known.
    /// - `TimedOut` when there is more to look through than a search may take.
    async fn other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>>;

    /// What another backend could know a file or a directory by; `None` where nothing else can show
    /// it.
    async fn identify(&self, at: &Resolved) -> Result<Option<FileIdentity>>;

    /// The directories in which the files of this backend really are, each with its path here: of a
    /// host directory its root, of a mount table those of its mounts. None where nothing else can
    /// show the files.
    async fn origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>>;

    /// The paths under which this backend shows files that some backend has identified. An answer
    /// for each, in order.
    ///
    /// # Behavior
    ///
    /// - As `other_names`; the name by which a file was identified is among them.
    async fn names_of(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>>;
}

/// A path as it was typed, and the one it really is after following links.
///
/// Rules look at both; I/O opens the real one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Resolved {
    /// The path that was asked for.
    pub typed: VirtualPath,
    /// Where that is, links followed.
    pub real: VirtualPath,
}

impl Resolved {
    /// A path that is what it says, as in a backend without links.
    #[must_use]
    pub fn literal(path: VirtualPath) -> Self {
        Self { typed: path.clone(), real: path }
    }
}

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Symlink {
    /// It is: the call is about what it leads to.
    Follow,
    /// It is not: the call is about the link.
    NoFollow,
}

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
pub struct Slice {
    /// The bytes.
    pub bytes: Bytes,
    /// How many bytes the whole file has.
    pub size: u64,
    /// When it last changed.
    pub modified: Option<Timestamp>,
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
pub struct Written {
    /// Where.
    pub path: VirtualPath,
    /// The version of the content now there.
    pub version: Version,
    /// Whether something was there before.
    pub replaced: Replaced,
}

/// What a change has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// Where.
    pub path: VirtualPath,
    /// The version of the content now there.
    pub version: Version,
    /// What it did.
    pub outcome: Outcome,
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

macro_rules! forward {
    ($holder:ty) => {
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<B: Backend + ?Sized> Backend for $holder {
            async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
                (**self).resolve(path, symlink).await
            }
            async fn stat(&self, at: &Resolved) -> Result<Entry> {
                (**self).stat(at).await
            }
            async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
                (**self).list(at, request).await
            }
            async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
                (**self).read(at, range).await
            }
            async fn open(&self, at: &Resolved, most: u64) -> Result<Opened> {
                (**self).open(at, most).await
            }
            async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
                (**self).read_text(at, window).await
            }
            async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
                (**self).write(at, content, expect).await
            }
            async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
                (**self).change(at, change, expect, most).await
            }
            async fn make_dir(&self, at: &Resolved) -> Result<()> {
                (**self).make_dir(at).await
            }
            async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
                (**self).remove(at, what).await
            }
            async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
                (**self).rename(from, to, if_exists).await
            }
            async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
                (**self).copy(from, to, if_exists).await
            }
            async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
                (**self).glob(at, request).await
            }
            async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
                (**self).grep(at, request).await
            }
            async fn other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
                (**self).other_names(files).await
            }
            async fn identify(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
                (**self).identify(at).await
            }
            async fn origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
                (**self).origins().await
            }
            async fn names_of(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
                (**self).names_of(files).await
            }
        }
    };
}

forward!(Arc<B>);
forward!(Box<B>);
