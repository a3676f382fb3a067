//! What tells a file from all others, under whatever name it is shown.
//!
//! Rules are about names, and a file can have several: hard links, or two mounts of one directory.
//! These are the plain data by which backends compare notes. They are scrambled where they are
//! made, so that they say nothing of the host, and compare only with those of the same process.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
        u128::from_str_radix(&text, 16).map(Self).map_err(|_| serde::de::Error::custom("this is not a file's identity"))
    }
}

/// A file or a directory, and where it is: enough for another backend to say under which names it
/// shows the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The thing itself.
    pub file: FileId,
    /// The directory it is in, the one above that, and so on, past the root of its backend.
    pub above: Vec<FileId>,
    /// How many names it has; 1 for a directory.
    pub names: u64,
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
