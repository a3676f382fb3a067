//! Trees of files as tar archives, over the calls of any backend: only a piece of one file is in memory, and the gates
//! of the backend apply.
//!
//! Archives contain files and directories. Links, special files and names that are not UTF-8 are skipped and counted.
//! Modes, owners and times are not transferred: a [`Backend`](workden_core::Backend) does not know the first two, and
//! sets the third itself.

mod pack;
mod record;
mod source;
mod unpack;

use serde::{Deserialize, Serialize};
use workden_core::{Error, ErrorKind, Result, VirtualPath};

pub use self::{pack::Packer, unpack::unpack};
use crate::limits;

/// The report of a transferred tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeReport {
    /// Transferred files.
    pub files: u64,
    /// Transferred directories.
    pub directories: u64,
    /// Bytes of all files together.
    pub bytes: u64,
    /// Skipped links: symbolic and hard links of an archive, or symbolic links of a tree.
    pub skipped_links: u64,
    /// Skipped devices, sockets and other special files.
    pub skipped_special: u64,
    /// Entries skipped because their names are not UTF-8.
    pub skipped_names: u64,
}

impl TreeReport {
    /// Counts a directory.
    fn add_directory(&mut self) -> Result<()> {
        self.directories += 1;
        self.within_entries()
    }

    /// Counts a file before it is transferred.
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
