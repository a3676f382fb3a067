//! Trees of files as tar archives, over the calls of any backend: nothing is held but a piece of one
//! file, and whatever guards the backend guards this.
//!
//! Files and directories travel. Links, special files and names that are not UTF-8 are passed over
//! and counted. Modes, owners and times do not travel: a [`Backend`](workden_core::Backend) knows
//! nothing of the first two, and sets the third itself.

mod pack;
mod record;
mod source;
mod unpack;

use serde::{Deserialize, Serialize};
use workden_core::{Error, ErrorKind, Result, VirtualPath};

pub use self::{pack::Packer, unpack::unpack};
use crate::limits;

/// What became of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeReport {
    /// Files that travelled.
    pub files: u64,
    /// Directories that travelled.
    pub directories: u64,
    /// Bytes of all files together.
    pub bytes: u64,
    /// Symbolic and hard links of the archive, or symbolic ones of the tree, that were passed over.
    pub skipped_links: u64,
    /// Devices, sockets and the like that were passed over.
    pub skipped_special: u64,
    /// Things that were passed over because their names are not UTF-8.
    pub skipped_names: u64,
}

impl TreeReport {
    /// Counts a directory.
    fn add_directory(&mut self) -> Result<()> {
        self.directories += 1;
        self.within_entries()
    }

    /// Counts a file, before it travels.
    fn add_file(&mut self, at: &VirtualPath, size: u64) -> Result<()> {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > limits::TREE_BYTES {
            let most = limits::TREE_BYTES;
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("cannot take `{at}`: the tree has more than {most} bytes"),
            )
            .hint("take parts of it"));
        }
        self.within_entries()
    }

    fn within_entries(&self) -> Result<()> {
        let most = limits::TREE_ENTRIES;
        let passed_over = self.skipped_links + self.skipped_special + self.skipped_names;
        if self.files + self.directories + passed_over <= most {
            return Ok(());
        }
        Err(Error::new(ErrorKind::TooLarge, format!("the tree has more than {most} files and directories"))
            .hint("take parts of it"))
    }
}
