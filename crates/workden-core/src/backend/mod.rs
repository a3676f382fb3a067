//! `Backend`: a place that holds files. The trait is small and has no default methods;
//! conveniences are in [`BackendExt`](crate::BackendExt), written once.
//!
//! Invariant: I/O takes a path that `resolve` returned and never follows a symbolic link. If the
//! path has changed since, the call fails with `Moved`, and is to be tried again from `resolve`.

mod content;
mod forward;
mod host_files;
mod resolved;

use std::fmt;

use async_trait::async_trait;
pub use content::{
    ByteRange, Changed, Content, ContentStream, Expect, IfExists, Opened, Removal, Replaced, Slice, Written,
};
pub use host_files::{FileId, FileIdentity, HostFiles};
pub use resolved::{Presence, Resolved, Symlink};

use crate::{
    Entry, Result, VirtualPath,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
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
    /// - The answer says what is there, as [`stat`](Backend::stat) would, where that costs no second
    ///   look; a wrapper that judges the call needs no other. See [`Presence`].
    /// - Absolute link targets start at the root of the workspace.
    /// - `Escapes` when a link climbs out, `LinkLoop` when links go in circles.
    /// - What does not exist yet resolves to where it would be created.
    /// - `Symlink::NoFollow` leaves a link at the end alone: a removal or a rename is about the link.
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
    /// - Content that comes in pieces is gathered first: a slow sender holds up no other call.
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

    /// What else this backend can do because its files are on a machine's file systems; `None` where
    /// they are not, as in memory or in a database.
    fn host_files(&self) -> Option<&dyn HostFiles>;
}
