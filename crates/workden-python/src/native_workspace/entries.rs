//! Further file operations of a workspace: one entry, directories, moving, copying, removing.

use workden_core::{Backend, BackendExt, ErrorKind, IfExists, Removal, Resolved, Result, Symlink, VirtualPath, text};

use super::{NativeWorkspace, WorkspaceParts, files::MOST_FOUND};
use crate::{
    calls::calls,
    convert::{Entries, OneEntry},
};

fn if_exists(replace: bool) -> IfExists {
    if replace { IfExists::Replace } else { IfExists::Refuse }
}

impl WorkspaceParts {
    /// Returns the target of a path. A missing rest stays as it is written.
    async fn real(&self, path: &VirtualPath) -> Result<VirtualPath> {
        let mut there = path.clone();
        let mut missing = Vec::new();
        loop {
            match self.workspace.files().resolve(&there, Symlink::Follow).await {
                Ok(Resolved { real, .. }) => {
                    let below = missing.iter().rev().fold(real, |real, name: &String| real.child_unchecked(name));
                    return Ok(below);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => match (there.parent(), there.name()) {
                    (Some(parent), Some(name)) => {
                        missing.push(name.to_owned());
                        there = parent;
                    }
                    _ => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
    }
}

calls! {
    impl NativeWorkspace = parts;

    /// Lists a directory; fails for a file.
    fn list_dir | list_dir_async (parts, path: String) -> Entries {
        let path = parts.path(&path).await?;
        let request = workden_core::search::ListRequest::default().keep(MOST_FOUND);
        let listing = parts.workspace.files().list_path(&path, &request).await?;
        Ok(Entries(listing.entries))
    }

    /// Returns one file or directory, following links.
    fn stat | stat_async (parts, path: String) -> OneEntry {
        let path = parts.path(&path).await?;
        parts.workspace.files().entry(&path).await.map(OneEntry)
    }

    /// Returns text from a character offset, the number of characters, and whether more follows.
    fn read_chars | read_chars_async (parts, path: String, offset: u64, limit: u64) -> (String, u64, bool) {
        let path = parts.path(&path).await?;
        let read = parts.workspace.files().read_window(&path, text::TextWindow::chars(offset, limit)).await?;
        let (shown, total) = match read.extent {
            text::Extent::Chars { shown, total, .. } | text::Extent::Lines { shown, total, .. } => (shown, total),
        };
        Ok((read.text, total, offset.saturating_add(shown) < total))
    }

    /// Creates a directory and its parents. It may exist already.
    fn make_dir | make_dir_async (parts, path: String) -> () {
        let path = parts.path(&path).await?;
        parts.workspace.files().make_dir_path(&path).await
    }

    /// Removes a file, an empty directory, or a directory tree.
    fn remove | remove_async (parts, path: String, tree: bool) -> () {
        let path = parts.path(&path).await?;
        let what = if tree { Removal::Tree } else { Removal::One };
        parts.workspace.files().remove_path(&path, what).await
    }

    /// Moves a file or a directory.
    fn rename | rename_async (parts, source: String, destination: String, replace: bool) -> () {
        let (source, destination) = (parts.path(&source).await?, parts.path(&destination).await?);
        parts.workspace.files().move_path(&source, &destination, if_exists(replace)).await
    }

    /// Copies a file. Returns the path of the copy.
    fn copy | copy_async (parts, source: String, destination: String, replace: bool) -> String {
        let (source, destination) = (parts.path(&source).await?, parts.path(&destination).await?);
        let copied = parts.workspace.files().copy_path(&source, &destination, if_exists(replace)).await?;
        Ok(copied.path.to_string())
    }

    /// Returns the target of a path after following links. A missing rest stays as it is written.
    fn realpath | realpath_async (parts, path: String) -> String {
        let path = parts.path(&path).await?;
        parts.real(&path).await.map(|real| real.to_string())
    }
}
