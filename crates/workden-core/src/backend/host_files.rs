//! `HostFiles`: additional calls of a backend whose files are on the file systems of a machine, and the identities by
//! which backends recognise that they show the same file.
//!
//! Rules are about names, and a file can have several: hard links, or two mounts of one directory. Identities are
//! scrambled when they are made, so that they disclose nothing about the host; identities of different processes cannot
//! be compared.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Attributes, Opened, Resolved, Result, VirtualPath};

/// The extension of a [`Backend`](crate::Backend) whose files are on the file systems of a machine: the names of a
/// file, its attributes, and the open file itself. [`Backend::host_files`](crate::Backend::host_files) is the only way to get it.
#[async_trait]
pub trait HostFiles: Send + Sync {
    /// Opens a file of this machine, or reads the content of a file elsewhere.
    ///
    /// # Behavior
    ///
    /// - Behaves like [`read`](crate::Backend::read) of the whole file: `TooLarge` for more than `most` bytes.
    async fn open_file(&self, at: &Resolved, most: u64) -> Result<Opened>;

    /// Returns the attributes of a file whose names start with `prefix`.
    ///
    /// # Behavior
    ///
    /// - A file system without attributes has none. Attributes that are not text are left out.
    /// - `TooLarge` for more than [`limits::ATTRIBUTE_BYTES`](crate::limits::ATTRIBUTE_BYTES), which commands can set.
    async fn read_attributes(&self, at: &Resolved, prefix: &str) -> Result<Attributes>;

    /// Replaces the attributes of a file whose names start with the prefix. Content and other attributes stay.
    ///
    /// # Behavior
    ///
    /// - All attributes with the prefix are replaced, or none.
    /// - `Unsupported` where files have no attributes, unless none are to be set.
    /// - A write of the content keeps them, and so does `rename`; a copy has none.
    async fn write_attributes(&self, at: &Resolved, attributes: &Attributes) -> Result<()>;

    /// Returns the other paths in this workspace that lead to the same files: hard links, and other mounts of one
    /// directory. The answer has one list per file, in order; it is for judging a call, not for showing.
    ///
    /// # Behavior
    ///
    /// - Symbolic links are not names. A missing file has no names.
    /// - Names outside the workspace or in unreadable directories are not found.
    /// - `TimedOut` if the search for names takes too long.
    async fn find_other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>>;

    /// Returns the identity by which another backend can recognise a file or a directory; `None` if no other backend
    /// can show it.
    async fn find_identity(&self, at: &Resolved) -> Result<Option<FileIdentity>>;

    /// Returns the real directories of this backend's files, each with its path in the backend: the root for a host
    /// directory, the roots of the mounts for a mount table.
    async fn find_origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>>;

    /// Returns the paths at which this backend shows identified files. The answer has one list per file, in order.
    ///
    /// # Behavior
    ///
    /// - Behaves like `find_other_names`, but includes the name by which a file was identified.
    async fn find_names(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>>;
}

/// The identity of one file or directory, in every backend that shows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u128);

impl FileId {
    /// Creates an id from a value that a backend has scrambled, so that it cannot be traced back to the host.
    #[must_use]
    pub fn from_scrambled(scrambled: u128) -> Self {
        Self(scrambled)
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileId({:032x})", self.0)
    }
}

impl Serialize for FileId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", self.0))
    }
}

impl<'de> Deserialize<'de> for FileId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16).map(Self).map_err(|_| serde::de::Error::custom("invalid file identity"))
    }
}

/// A file or a directory and its location: enough for another backend to find the names under which it shows the same
/// file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileIdentity {
    /// The file or directory itself.
    pub file: FileId,
    /// The parent directory, its parent, and so on, beyond the root of the backend.
    pub above: Vec<FileId>,
    /// How many names the file has; 1 for a directory.
    pub names: u64,
}

impl FileIdentity {
    /// Creates the identity of a file or a directory from its parents and its number of names.
    #[must_use]
    pub fn new(file: FileId, above: Vec<FileId>, names: u64) -> Self {
        Self { file, above, names }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_a_wire() {
        let identity = FileIdentity { file: FileId(u128::MAX), above: vec![FileId(1), FileId(0)], names: 2 };
        let sent = serde_json::to_string(&identity).unwrap();
        assert_eq!(serde_json::from_str::<FileIdentity>(&sent).unwrap(), identity);
        assert!(serde_json::from_str::<FileId>("\"x\"").is_err());
    }
}
