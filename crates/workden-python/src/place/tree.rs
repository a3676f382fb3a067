//! Files of a place, beyond what a model needs: one entry, directories, moving, copying, removing.

use workden_core::{Backend, BackendExt, ErrorKind, IfExists, Removal, Resolved, Result, Symlink, VirtualPath, text};

use super::{Den, Place, files::MOST_FOUND};
use crate::{
    calls::calls,
    convert::{Entries, OneEntry},
};

fn if_exists(replace: bool) -> IfExists {
    if replace { IfExists::Replace } else { IfExists::Refuse }
}

impl Den {
    /// Where a path leads. What is not there stays as it is written, below what is.
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
    impl Place = den;

    /// What is in a directory; a file is a failure.
    fn list_dir | list_dir_async (den, path: String) -> Entries {
        let path = den.path(&path).await?;
        let listing = den.workspace.files().list_path(&path, &workden_core::search::ListRequest { keep: MOST_FOUND, ..Default::default() }).await?;
        Ok(Entries(listing.entries))
    }

    /// One file or directory, a link being what it leads to.
    fn stat | stat_async (den, path: String) -> OneEntry {
        let path = den.path(&path).await?;
        den.workspace.files().entry(&path).await.map(OneEntry)
    }

    /// Text from a character on, how many there are, and whether there is more.
    fn read_chars | read_chars_async (den, path: String, offset: u64, limit: u64) -> (String, u64, bool) {
        let path = den.path(&path).await?;
        let read = den.workspace.files().read_window(&path, text::TextWindow::chars(offset, limit)).await?;
        let (shown, total) = match read.extent {
            text::Extent::Chars { shown, total, .. } | text::Extent::Lines { shown, total, .. } => (shown, total),
        };
        Ok((read.text, total, offset.saturating_add(shown) < total))
    }

    /// Makes a directory, with those on the way. One that is there is fine.
    fn make_dir | make_dir_async (den, path: String) -> () {
        let path = den.path(&path).await?;
        den.workspace.files().make_dir_path(&path).await
    }

    /// Removes a file, or a directory: an empty one, or with all that is in it.
    fn remove | remove_async (den, path: String, tree: bool) -> () {
        let path = den.path(&path).await?;
        let what = if tree { Removal::Tree } else { Removal::One };
        den.workspace.files().remove_path(&path, what).await
    }

    /// Moves a file or a directory.
    fn rename | rename_async (den, source: String, destination: String, replace: bool) -> () {
        let (source, destination) = (den.path(&source).await?, den.path(&destination).await?);
        den.workspace.files().move_path(&source, &destination, if_exists(replace)).await
    }

    /// Copies a file. Where it is.
    fn copy | copy_async (den, source: String, destination: String, replace: bool) -> String {
        let (source, destination) = (den.path(&source).await?, den.path(&destination).await?);
        let copied = den.workspace.files().copy_path(&source, &destination, if_exists(replace)).await?;
        Ok(copied.path.to_string())
    }

    /// Where a path leads, through links; what is not there stays as it is written.
    fn realpath | realpath_async (den, path: String) -> String {
        let path = den.path(&path).await?;
        den.real(&path).await.map(|real| real.to_string())
    }
}
