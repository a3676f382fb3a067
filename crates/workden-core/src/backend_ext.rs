//! Conveniences for any `Backend`: reads in the forms that people use, edits, moves, and the names of a file.
//!
//! Every call by path resolves the path and acts, and starts again if the path changed in between.

use std::future::Future;

use bytes::Bytes;

use crate::{
    Attributes, Backend, ByteRange, Changed, Content, Entry, EntryKind, Error, Expect, FileIdentity, IfExists, Opened,
    Presence, Removal, Resolved, Result, Symlink, VirtualPath, Written, limits,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, HashlineEdit, Numbered, Outcome, Replacement, TextWindow, hashline},
};

/// Resolves a path and acts on it, and starts again while the path keeps changing in between. This is a macro because
/// the act borrows across its awaits.
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

/// Conveniences for any [`Backend`], by typed path.
pub trait BackendExt: Backend {
    /// Returns the entry at `path`.
    fn entry(&self, path: &VirtualPath) -> impl Future<Output = Result<Entry>> + Send {
        async move {
            settled!(*self, path, Symlink::Follow, |at| match at.presence() {
                Presence::Present(entry) => Ok(entry.clone()),
                Presence::Absent | Presence::Unknown => self.stat(&at).await,
            })
        }
    }

    /// Whether `path` is a regular file or a link to one; false also if the entry cannot be read.
    fn exists(&self, path: &VirtualPath) -> impl Future<Output = bool> + Send {
        async move { self.entry(path).await.is_ok_and(|entry| entry.is_file()) }
    }

    /// Lists the directory at `path`.
    fn list_path(&self, path: &VirtualPath, request: &ListRequest) -> impl Future<Output = Result<Listing>> + Send {
        async move { settled!(*self, path, Symlink::Follow, |at| self.list(&at, request).await) }
    }

    /// Reads a whole file.
    fn read_bytes(&self, path: &VirtualPath) -> impl Future<Output = Result<Bytes>> + Send {
        async move {
            settled!(*self, path, Symlink::Follow, |at| self.read(&at, ByteRange::whole()).await)
                .map(|slice| slice.bytes)
        }
    }

    /// Opens a file of this machine, or reads the content of a file elsewhere.
    fn open_path(&self, path: &VirtualPath, most: u64) -> impl Future<Output = Result<Opened>> + Send {
        async move { settled!(*self, path, Symlink::Follow, |at| self.open(&at, most).await) }
    }

    /// Reads a window of text.
    fn read_window(&self, path: &VirtualPath, window: TextWindow) -> impl Future<Output = Result<Excerpt>> + Send {
        async move { settled!(*self, path, Symlink::Follow, |at| self.read_text(&at, window).await) }
    }

    /// Reads `limit` lines after the first `offset`, numbered.
    fn read_numbered(
        &self,
        path: &VirtualPath,
        offset: u64,
        limit: u64,
    ) -> impl Future<Output = Result<Numbered>> + Send {
        async move { Ok(Numbered::of(&self.read_window(path, TextWindow::lines(offset, limit)).await?)) }
    }

    /// Reads `limit` lines after the first `offset`, numbered and hashed.
    fn read_hashlines(
        &self,
        path: &VirtualPath,
        offset: u64,
        limit: u64,
    ) -> impl Future<Output = Result<Numbered>> + Send {
        async move { Ok(hashline::format(&self.read_window(path, TextWindow::lines(offset, limit)).await?)) }
    }

    /// Writes a whole file.
    fn write_path(
        &self,
        path: &VirtualPath,
        content: Bytes,
        expect: Expect,
    ) -> impl Future<Output = Result<Written>> + Send {
        async move {
            settled!(*self, path, Symlink::Follow, |at| {
                self.write(&at, Content::Whole(content.clone()), expect).await
            })
        }
    }

    /// Changes a file if it has the expected content.
    fn change_path(
        &self,
        path: &VirtualPath,
        change: &Change,
        expect: Expect,
    ) -> impl Future<Output = Result<Changed>> + Send {
        async move {
            settled!(*self, path, Symlink::Follow, |at| self.change(&at, change, expect, limits::EDIT_BYTES).await)
        }
    }

    /// Applies all replacements or none; returns the number of replaced places.
    fn edit(&self, path: &VirtualPath, replacements: &[Replacement]) -> impl Future<Output = Result<u64>> + Send {
        async move {
            let changed = self.change_path(path, &Change::Replace(replacements.to_vec()), Expect::Anything).await?;
            match changed.outcome {
                Outcome::Replaced(places) => Ok(places),
                Outcome::Lines(_) => Ok(0),
            }
        }
    }

    /// Replaces lines named by number and hash; returns a short summary.
    fn hashline_edit(&self, path: &VirtualPath, edit: &HashlineEdit) -> impl Future<Output = Result<String>> + Send {
        async move {
            let changed = self.change_path(path, &Change::Hashline(edit.clone()), Expect::Anything).await?;
            match changed.outcome {
                Outcome::Lines(summary) => Ok(summary),
                Outcome::Replaced(places) => Ok(format!("Replaced {places} place(s)")),
            }
        }
    }

    /// Makes a directory and its missing parents.
    fn make_dir_path(&self, path: &VirtualPath) -> impl Future<Output = Result<()>> + Send {
        async move { settled!(*self, path, Symlink::Follow, |at| self.make_dir(&at).await) }
    }

    /// Removes a file, a link or a directory.
    fn remove_path(&self, path: &VirtualPath, what: Removal) -> impl Future<Output = Result<()>> + Send {
        async move { settled!(*self, path, Symlink::NoFollow, |at| self.remove(&at, what).await) }
    }

    /// Moves a file, a link or a directory.
    fn move_path(
        &self,
        from: &VirtualPath,
        to: &VirtualPath,
        if_exists: IfExists,
    ) -> impl Future<Output = Result<()>> + Send {
        async move {
            settled!(*self, from, Symlink::NoFollow, |from| {
                match self.resolve(to, Symlink::NoFollow).await {
                    Ok(to) => self.rename(&from, &to, if_exists).await,
                    Err(error) => Err(error),
                }
            })
        }
    }

    /// Copies a file.
    fn copy_path(
        &self,
        from: &VirtualPath,
        to: &VirtualPath,
        if_exists: IfExists,
    ) -> impl Future<Output = Result<Written>> + Send {
        async move {
            settled!(*self, from, Symlink::Follow, |from| {
                match self.resolve(to, Symlink::Follow).await {
                    Ok(to) => self.copy(&from, &to, if_exists).await,
                    Err(error) => Err(error),
                }
            })
        }
    }

    /// Finds paths below `path`.
    fn glob_path(&self, path: &VirtualPath, request: &GlobRequest) -> impl Future<Output = Result<Globbed>> + Send {
        async move { settled!(*self, path, Symlink::Follow, |at| self.glob(&at, request).await) }
    }

    /// Finds lines in the files below `path`, or in the file at `path`.
    fn grep_path(&self, path: &VirtualPath, request: &GrepRequest) -> impl Future<Output = Result<Grepped>> + Send {
        async move { settled!(*self, path, Symlink::Follow, |at| self.grep(&at, request).await) }
    }

    /// Calls [`HostFiles::open_file`](crate::HostFiles::open_file), or reads the content if the backend is not on a
    /// host.
    fn open(&self, at: &Resolved, most: u64) -> impl Future<Output = Result<Opened>> + Send {
        async move {
            match self.host_files() {
                Some(files) => files.open_file(at, most).await,
                None => self.read(at, ByteRange::Whole { most }).await.map(|slice| Opened::Content(slice.bytes)),
            }
        }
    }

    /// Calls [`HostFiles::read_attributes`](crate::HostFiles::read_attributes); returns none if the backend is not on a
    /// host.
    fn attributes(&self, at: &Resolved, prefix: &str) -> impl Future<Output = Result<Attributes>> + Send {
        async move {
            match self.host_files() {
                Some(files) => files.read_attributes(at, prefix).await,
                None => Ok(Attributes::none(prefix)),
            }
        }
    }

    /// Calls [`HostFiles::write_attributes`](crate::HostFiles::write_attributes); `Unsupported` if the backend is not on
    /// a host and there are attributes to set.
    fn set_attributes(&self, at: &Resolved, attributes: &Attributes) -> impl Future<Output = Result<()>> + Send {
        async move {
            match self.host_files() {
                Some(files) => files.write_attributes(at, attributes).await,
                None if attributes.is_empty() => Ok(()),
                None => Err(Error::no_attributes(&at.typed)),
            }
        }
    }

    /// Calls [`HostFiles::find_other_names`](crate::HostFiles::find_other_names); returns no names if the backend is
    /// not on a host.
    fn other_names(&self, files: &[Resolved]) -> impl Future<Output = Result<Vec<Vec<VirtualPath>>>> + Send {
        async move {
            match self.host_files() {
                Some(host) => host.find_other_names(files).await,
                None => Ok(vec![Vec::new(); files.len()]),
            }
        }
    }

    /// Calls [`HostFiles::find_identity`](crate::HostFiles::find_identity).
    fn identify(&self, at: &Resolved) -> impl Future<Output = Result<Option<FileIdentity>>> + Send {
        async move {
            match self.host_files() {
                Some(files) => files.find_identity(at).await,
                None => Ok(None),
            }
        }
    }

    /// Calls [`HostFiles::find_origins`](crate::HostFiles::find_origins).
    fn origins(&self) -> impl Future<Output = Result<Vec<(VirtualPath, FileIdentity)>>> + Send {
        async move {
            match self.host_files() {
                Some(files) => files.find_origins().await,
                None => Ok(Vec::new()),
            }
        }
    }

    /// Calls [`HostFiles::find_names`](crate::HostFiles::find_names).
    fn names_of(&self, files: &[FileIdentity]) -> impl Future<Output = Result<Vec<Vec<VirtualPath>>>> + Send {
        async move {
            match self.host_files() {
                Some(host) => host.find_names(files).await,
                None => Ok(vec![Vec::new(); files.len()]),
            }
        }
    }
}

impl<B: Backend + ?Sized> BackendExt for B {}

/// Returns the entry of a directory that no backend stores, such as an inner node of a mount table.
#[must_use]
pub fn directory_entry(path: VirtualPath) -> Entry {
    Entry::new(path, EntryKind::Directory)
}
