//! Files of a workspace: reading, writing, editing, listing and searching.

use bytes::Bytes;
use pyo3::pybacked::PyBackedBytes;
use workden_core::{
    BackendExt, Expect, Opened, Result, VirtualPath, limits,
    search::{GlobRequest, GrepRequest, Hidden, ListRequest},
    text::Replacement,
};

use super::{NativeWorkspace, WorkspaceParts};
use crate::{
    calls::calls,
    convert::{Blob, Entries, Matches},
    runtime::{is_waited_for, short},
};

/// Maximum number of results that are held in memory.
pub(super) const MOST_FOUND: usize = 1_000_000;
/// Longer lines are cut here.
const LINE_BYTES: usize = 1024 * 1024;

impl WorkspaceParts {
    /// Returns the path for typed text.
    pub(super) async fn path(&self, typed: &str) -> Result<VirtualPath> {
        self.names.find(&self.workspace.working_directory().await?, typed)
    }
}

calls! {
    impl NativeWorkspace = parts;

    /// Whether a readable file exists.
    fn exists | exists_async (parts, path: String) -> bool {
        let Ok(path) = parts.path(&path).await else { return Ok(false) };
        match parts.workspace.files().entry(&path).await {
            Ok(entry) => Ok(entry.is_file()),
            Err(_) => Ok(false),
        }
    }

    /// Lists a directory; for a file, returns that file.
    fn ls | ls_async (parts, path: String) -> Entries {
        let path = parts.path(&path).await?;
        let request = ListRequest::default().keep(MOST_FOUND);
        match parts.workspace.files().list_path(&path, &request).await {
            Ok(listing) => Ok(Entries(listing.entries)),
            Err(error) if error.kind() == workden_core::ErrorKind::NotDirectory => {
                parts.workspace.files().entry(&path).await.map(|entry| Entries(vec![entry]))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns numbered lines: the text, the number of lines, and whether it was cut.
    fn read | read_async (parts, path: String, offset: u64, limit: u64) -> (String, u64, bool) {
        let path = parts.path(&path).await?;
        let read = short(parts.workspace.files().read_numbered(&path, offset, limit)).await?;
        Ok((read.text, read.total, read.cut != workden_core::text::Cut::No))
    }

    /// Returns the bytes of a file.
    fn read_bytes | read_bytes_async (parts, path: String) -> Blob {
        // Not `short`: Python's heap would release and request the memory of every large file again.
        let path = parts.path(&path).await?;
        if !is_waited_for() {
            return parts.workspace.files().read_bytes(&path).await.map(Blob::Bytes);
        }
        Ok(match short(parts.workspace.files().open_path(&path, limits::READ_BYTES)).await? {
            Opened::File { file, size } => Blob::File { file, size, path },
            Opened::Content(bytes) => Blob::Bytes(bytes),
        })
    }

    /// Writes a file, and creates missing parent directories. Returns its path.
    fn write | write_async (parts, path: String, content: PyBackedBytes) -> String {
        let path = parts.path(&path).await?;
        let write = parts.workspace.files().write_path(&path, Bytes::from_owner(content), Expect::Anything);
        let written = short(write).await?;
        Ok(written.path.to_string())
    }

    /// Replaces text in a file. Returns the number of replacements.
    fn edit | edit_async (parts, path: String, old: String, new: String, all: bool) -> u64 {
        let path = parts.path(&path).await?;
        let replacement = if all { Replacement::all(old, new) } else { Replacement::once(old, new) };
        short(parts.workspace.files().edit(&path, &[replacement])).await
    }

    /// Returns the files whose path matches, newest first.
    fn glob | glob_async (parts, pattern: String, path: String) -> Entries {
        let path = parts.path(&path).await?;
        let request = GlobRequest::new(pattern).keep(MOST_FOUND);
        let found = parts.workspace.files().glob_path(&path, &request).await?;
        Ok(Entries(found.entries))
    }

    /// Returns the lines that match a regular expression.
    fn grep | grep_async (
        parts, pattern: String, path: String, glob: Option<String>, ignore_hidden: bool
    ) -> Matches {
        let path = parts.path(&path).await?;
        let request = GrepRequest::regex(pattern)
            .filter(glob)
            .hidden(if ignore_hidden { Hidden::Skip } else { Hidden::Include })
            .keep(MOST_FOUND)
            .line_bytes(LINE_BYTES);
        parts.workspace.files().grep_path(&path, &request).await.map(Matches)
    }
}
