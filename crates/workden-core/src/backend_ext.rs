//! What can be said with a `Backend`, said once: reads as people read, edits, moves.
//!
//! Every call resolves the path, acts, and starts again when the path changed in between.

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    Backend, ByteRange, Changed, Content, Entry, EntryKind, Expect, IfExists, Link, Opened, Removal, Result, Symlink,
    VirtualPath, Written, limits,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, HashlineEdit, Numbered, Outcome, Replacement, TextWindow, hashline},
};

/// Resolves a path and acts on it, again from the start while the path keeps changing in between. A macro, because the
/// act borrows across its awaits.
#[doc(hidden)]
#[macro_export]
macro_rules! settled {
    ($backend:expr, $path:expr, $symlink:expr, |$at:ident| $act:expr) => {{
        let mut tries = 0;
        loop {
            let attempt = match $crate::Backend::resolve(&$backend, $path, $symlink).await {
                Ok($at) => $act,
                Err(error) => Err(error),
            };
            match attempt {
                Err(error) if error.kind() == $crate::ErrorKind::Moved && tries < $crate::limits::MOVED_RETRIES => {
                    tries += 1;
                }
                settled => break settled,
            }
        }
    }};
}

/// Conveniences over any [`Backend`], by typed path.
#[async_trait]
pub trait BackendExt: Backend {
    /// Says what is at `path`.
    async fn entry(&self, path: &VirtualPath) -> Result<Entry> {
        settled!(*self, path, Symlink::Follow, |at| self.stat(&at).await)
    }

    /// Whether there is a regular file, or a link to one. What cannot be told is not there.
    async fn exists(&self, path: &VirtualPath) -> bool {
        self.entry(path).await.is_ok_and(|entry| entry.is_file())
    }

    /// Lists the directory at `path`.
    async fn list_path(&self, path: &VirtualPath, request: &ListRequest) -> Result<Listing> {
        settled!(*self, path, Symlink::Follow, |at| self.list(&at, request).await)
    }

    /// Reads a whole file.
    async fn read_bytes(&self, path: &VirtualPath) -> Result<Bytes> {
        settled!(*self, path, Symlink::Follow, |at| self.read(&at, ByteRange::whole()).await).map(|slice| slice.bytes)
    }

    /// Opens a file, or gives its content where it is not one of this machine's.
    async fn open_path(&self, path: &VirtualPath, most: u64) -> Result<Opened> {
        settled!(*self, path, Symlink::Follow, |at| self.open(&at, most).await)
    }

    /// Reads a window of text.
    async fn read_window(&self, path: &VirtualPath, window: TextWindow) -> Result<Excerpt> {
        settled!(*self, path, Symlink::Follow, |at| self.read_text(&at, window).await)
    }

    /// Reads `limit` lines after the first `offset`, numbered.
    async fn read_numbered(&self, path: &VirtualPath, offset: u64, limit: u64) -> Result<Numbered> {
        Ok(Numbered::of(&self.read_window(path, TextWindow::lines(offset, limit)).await?))
    }

    /// Reads `limit` lines after the first `offset`, numbered and hashed.
    async fn read_hashlines(&self, path: &VirtualPath, offset: u64, limit: u64) -> Result<Numbered> {
        Ok(hashline::format(&self.read_window(path, TextWindow::lines(offset, limit)).await?))
    }

    /// Writes a whole file.
    async fn write_path<'a>(&'a self, path: &VirtualPath, content: Bytes, expect: Expect) -> Result<Written> {
        settled!(*self, path, Symlink::Follow, |at| self.write(&at, Content::Whole(content.clone()), expect).await)
    }

    /// Changes a file, if it is as expected.
    async fn change_path(&self, path: &VirtualPath, change: &Change, expect: Expect) -> Result<Changed> {
        settled!(*self, path, Symlink::Follow, |at| self.change(&at, change, expect, limits::EDIT_BYTES).await)
    }

    /// Replaces text, all or nothing; says how many places that were.
    async fn edit(&self, path: &VirtualPath, replacements: &[Replacement]) -> Result<u64> {
        let changed = self.change_path(path, &Change::Replace(replacements.to_vec()), Expect::Anything).await?;
        match changed.outcome {
            Outcome::Replaced(places) => Ok(places),
            Outcome::Lines(_) => Ok(0),
        }
    }

    /// Replaces lines named by number and hash; says what happened, in a few words.
    async fn hashline_edit(&self, path: &VirtualPath, edit: &HashlineEdit) -> Result<String> {
        let changed = self.change_path(path, &Change::Hashline(edit.clone()), Expect::Anything).await?;
        match changed.outcome {
            Outcome::Lines(summary) => Ok(summary),
            Outcome::Replaced(places) => Ok(format!("Replaced {places} place(s)")),
        }
    }

    /// Makes a directory and those above it.
    async fn make_dir_path(&self, path: &VirtualPath) -> Result<()> {
        settled!(*self, path, Symlink::Follow, |at| self.make_dir(&at).await)
    }

    /// Removes a file, a link or a directory.
    async fn remove_path(&self, path: &VirtualPath, what: Removal) -> Result<()> {
        settled!(*self, path, Symlink::NoFollow, |at| self.remove(&at, what).await)
    }

    /// Moves a file, a link or a directory.
    async fn move_path(&self, from: &VirtualPath, to: &VirtualPath, if_exists: IfExists) -> Result<()> {
        settled!(*self, from, Symlink::NoFollow, |from| {
            match self.resolve(to, Symlink::NoFollow).await {
                Ok(to) => self.rename(&from, &to, if_exists).await,
                Err(error) => Err(error),
            }
        })
    }

    /// Copies a file.
    async fn copy_path(&self, from: &VirtualPath, to: &VirtualPath, if_exists: IfExists) -> Result<Written> {
        settled!(*self, from, Symlink::Follow, |from| {
            match self.resolve(to, Symlink::Follow).await {
                Ok(to) => self.copy(&from, &to, if_exists).await,
                Err(error) => Err(error),
            }
        })
    }

    /// Finds paths below `path`.
    async fn glob_path(&self, path: &VirtualPath, request: &GlobRequest) -> Result<Globbed> {
        settled!(*self, path, Symlink::Follow, |at| self.glob(&at, request).await)
    }

    /// Finds lines below or in `path`.
    async fn grep_path(&self, path: &VirtualPath, request: &GrepRequest) -> Result<Grepped> {
        settled!(*self, path, Symlink::Follow, |at| self.grep(&at, request).await)
    }
}

impl<B: Backend + ?Sized> BackendExt for B {}

/// A directory, as backends make one up where none is stored (a mount table's inner nodes).
#[must_use]
pub fn directory_entry(path: VirtualPath) -> Entry {
    Entry {
        path,
        kind: EntryKind::Directory,
        size: None,
        modified: None,
        link: Link::Direct,
        name: crate::NameForm::Exact,
        names: 1,
    }
}
