//! `Backend`: a store for files. The trait is small and has no default methods; conveniences are in
//! [`BackendExt`](crate::BackendExt).
//!
//! Invariant: I/O takes a path that `resolve` returned and never follows a symbolic link. If the path has changed
//! since, the call fails with `Moved`, and the caller retries from `resolve`.

mod attributes;
mod content;
mod forward;
mod host_files;
mod resolved;

use std::fmt;

use async_trait::async_trait;
pub use attributes::Attributes;
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

/// A store for files.
///
/// Methods that do I/O take paths that [`resolve`](Backend::resolve) returned. These rules hold for all of them:
///
/// - Only regular files are read or written; a FIFO, socket or device is `NotRegular`, without waiting.
/// - A missing path is `NotFound`, a directory in place of a file `IsDirectory`, a file in place of
///   a directory `NotDirectory`.
/// - A symbolic link in the path is `Moved`: it was not there when the path was resolved.
/// - Names that start with `.workden-tmp-` are reserved for workden: never shown, never opened.
#[async_trait]
pub trait Backend: Send + Sync + fmt::Debug {
    /// Follows symbolic links inside the workspace and returns the path that I/O may open.
    ///
    /// # Behavior
    ///
    /// - The answer includes the entry, as [`stat`](Backend::stat) would return it, if that costs no additional I/O; a
    ///   wrapper that judges the call needs no other. See [`Presence`].
    /// - Absolute link targets start at the root of the workspace.
    /// - `Escapes` if a link leads out of the workspace, `LinkLoop` if links form a loop.
    /// - A missing path resolves to the path at which it would be created.
    /// - `Symlink::NoFollow` does not follow a link at the end: a removal or a rename is about the link.
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved>;

    /// Returns the entry at a path.
    ///
    /// # Behavior
    ///
    /// - Special files are described, not refused. A link at the end is described by its target.
    async fn stat(&self, at: &Resolved) -> Result<Entry>;

    /// Lists a directory: directories first, then by name.
    ///
    /// # Behavior
    ///
    /// - Names that the request's `Visibility` hides, or that need approval, are left out.
    /// - Broken links, names that are not UTF-8 and vanished entries do not make the call fail.
    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing>;

    /// Reads bytes.
    ///
    /// # Behavior
    ///
    /// - A part past the end is empty; a part that reaches past the end is shorter.
    /// - `TooLarge` if the whole file is requested and exceeds the limit in the request.
    /// - A file that grows meanwhile is read up to its size when it was opened.
    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice>;

    /// Reads a window of text next to the file, so that only the window is transferred.
    ///
    /// # Behavior
    ///
    /// - `NotText` for binary content, `OutOfRange` for lines past the end.
    /// - Memory is bounded by the window.
    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt>;

    /// Creates a file or replaces its content, and makes missing parent directories.
    ///
    /// # Behavior
    ///
    /// - Atomic: a reader sees the old or the new content, even if the writer dies.
    /// - A stream is gathered before the file is touched: a slow sender delays no other call.
    /// - `AlreadyExists` or `Conflict` if the file is not as expected, `NotFound` if a version is expected and the file
    ///   is missing; nothing is changed.
    /// - Content is stored as given. Mode is kept; hard links are severed.
    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written>;

    /// Changes a file in place: reads it, plans the change and writes the result, with no other writer of workden in
    /// between.
    ///
    /// # Behavior
    ///
    /// - Behaves like `write`, with the errors of [`Change::plan`]; a failed change leaves the file unchanged.
    /// - `NotFound` if the file is missing, whatever is expected: a change never creates a file.
    /// - The expectation is checked first: `Conflict` if the content has another version, `AlreadyExists` if no file
    ///   was expected.
    /// - `TooLarge` if the file has more than `most` bytes before or after the change.
    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed>;

    /// Makes a directory and its missing parents. An existing directory is not an error.
    ///
    /// # Behavior
    ///
    /// - `AlreadyExists` if a file has the name, `NotDirectory` if a parent is a file.
    async fn make_dir(&self, at: &Resolved) -> Result<()>;

    /// Removes a file, a link or a directory.
    ///
    /// # Behavior
    ///
    /// - `Removal::One` of a directory with content is `NotEmpty`.
    /// - The root cannot be removed: `InvalidArgument`.
    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()>;

    /// Renames a file, a link or a directory; makes missing parents of the new name.
    ///
    /// # Behavior
    ///
    /// - `AlreadyExists` if the new name exists, unless a file may replace a file.
    /// - A directory never replaces anything, is never replaced, and cannot move into itself
    ///   (`InvalidArgument`).
    /// - A rename to the same name changes nothing.
    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()>;

    /// Copies a file; makes missing parents of the new name.
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
    /// - Links are shown, but not followed.
    /// - `NotDirectory` if the start of the search is a file.
    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed>;

    /// Finds lines in the files below a directory, or in one file.
    ///
    /// # Behavior
    ///
    /// - A file that the request names is searched even if it is hidden or ignored; only the request's `Visibility` can
    ///   exclude it.
    /// - Links below the directory are not followed.
    /// - `files_searched` counts neither binary files nor files that the `Visibility` excludes.
    /// - A file with several names is searched under none of them if the `Visibility` hides one.
    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped>;

    /// Returns the additional calls of a backend whose files are on the file systems of a machine; `None` for other
    /// backends, such as memory or a database.
    fn host_files(&self) -> Option<&dyn HostFiles>;
}
