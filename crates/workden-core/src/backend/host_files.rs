//! `HostFiles`: what a backend can also do because its files are on a machine's file systems, and the
//! identities by which backends tell that they show one file.
//!
//! Rules are about names, and a file can have several: hard links, or two mounts of one directory.
//! Identities are scrambled where they are made, so that they say nothing of the host; they compare
//! only with those of the same process.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Opened, Resolved, Result, VirtualPath};

/// The extension of a [`Backend`](crate::Backend) whose files are on a machine's file systems: the names
/// of a file, and the file itself, open. Only [`Backend::host_files`](crate::Backend::host_files) gives it.
#[async_trait]
pub trait HostFiles: Send + Sync {
    /// Opens a file where it is one of this machine's, and reads its content elsewhere.
    ///
    /// # Behavior
    ///
    /// - As [`read`](crate::Backend::read) of the whole: `TooLarge` for more than `most` bytes.
    async fn open_file(&self, at: &Resolved, most: u64) -> Result<Opened>;

    /// The other paths in this workspace that lead to the same files: hard links, and other mounts
    /// of one directory. An answer for each, in order; for judging, not for showing.
    ///
    /// # Behavior
    ///
    /// - Symbolic links are not names. A file that has no other name, or does not exist, has none.
    /// - Names outside the workspace, or in directories that cannot be read, are not known.
    /// - `TimedOut` when there is more to look through than a search may take.
    async fn find_other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>>;

    /// The identity by which another backend could know a file or a directory; `None` where nothing
    /// else can show it.
    async fn find_identity(&self, at: &Resolved) -> Result<Option<FileIdentity>>;

    /// The directories in which the files of this backend really are, each with its path here: of a
    /// host directory its root, of a mount table those of its mounts.
    async fn find_origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>>;

    /// The paths under which this backend shows files that some backend has identified. An answer
    /// for each, in order.
    ///
    /// # Behavior
    ///
    /// - As `find_other_names`; the name by which a file was identified is among them.
    async fn find_names(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>>;
}

/// One file or directory, wherever it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u128);

impl FileId {
    /// From what a backend has made of its host's knowledge. It must not be undone to that.
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

/// A file or a directory, and where it is: enough for another backend to say under which names it
/// shows the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileIdentity {
    /// The thing itself.
    pub file: FileId,
    /// The directory it is in, the one above that, and so on, past the root of its backend.
    pub above: Vec<FileId>,
    /// How many names it has; 1 for a directory.
    pub names: u64,
}

impl FileIdentity {
    /// Creates the identity of a file or a directory, with the directories above it and how many names it has.
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
