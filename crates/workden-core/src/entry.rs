//! The descriptions of files and directories: `Entry`, `Timestamp` and `Version`.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use twox_hash::XxHash3_128;

use crate::{Attributes, Error, ErrorKind, Result, VirtualPath, setters::setters};

/// One file, directory or special file, as listings and searches show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// The path of the entry.
    pub path: VirtualPath,
    /// The kind of the entry; for a link, the kind of its target.
    pub kind: EntryKind,
    /// Size in bytes of a regular file; `None` for everything else.
    pub size: Option<u64>,
    /// When the content last changed; `None` if the backend does not know.
    pub modified: Option<Timestamp>,
    /// Whether the entry itself is a symbolic link.
    pub link: Link,
    /// Whether `path` spells the name exactly.
    pub name: NameForm,
    /// How many names (hard links) the file has; for a link, those of its target. 1 for everything that is not a file,
    /// and if the backend does not know.
    #[serde(default = "one_name")]
    pub names: u64,
    /// The attributes of a file, where a listing was asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Box<Attributes>>,
}

fn one_name() -> u64 {
    1
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link whose target is missing or outside the workspace, or that is part of a loop.
    BrokenLink,
    /// A FIFO, a socket or a device.
    Special,
}

/// Whether an entry was reached through a symbolic link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// The entry is not a link.
    #[default]
    Direct,
    /// The entry is a symbolic link, and `kind` is the kind of its target.
    Symbolic,
}

/// Whether a path spells a name exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameForm {
    /// The path spells the name exactly, and opens the file.
    #[default]
    Exact,
    /// The name is not UTF-8: the path shows U+FFFD in place of the invalid bytes, and cannot open the file.
    NotUtf8,
}

impl Entry {
    /// Creates an entry with one name that is not a link; its size and time are unknown.
    #[must_use]
    pub fn new(path: VirtualPath, kind: EntryKind) -> Self {
        Self {
            path,
            kind,
            size: None,
            modified: None,
            link: Link::Direct,
            name: NameForm::Exact,
            names: 1,
            attributes: None,
        }
    }

    setters! {
        /// Sets the size in bytes of a regular file.
        size: impl Into<Option<u64>>,
        /// Sets when the content last changed.
        modified: impl Into<Option<Timestamp>>,
        /// Sets whether the entry itself is a symbolic link.
        link: Link,
        /// Sets whether `path` spells the name exactly.
        name: NameForm,
        /// Sets how many names the file has.
        names: u64,
        /// Sets the attributes of a file.
        attributes: impl Into<Option<Box<Attributes>>>,
    }

    /// Whether this is a directory, or a link to one.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        self.kind == EntryKind::Directory
    }

    /// Whether this is a regular file, or a link to one.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }
}

/// A moment, in nanoseconds since 1970 (UTC). Written as ISO 8601.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from nanoseconds since 1970; moments outside the years 1677 to 2262 are clamped.
    #[must_use]
    pub fn from_nanos(nanos: i128) -> Self {
        Self(i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX }))
    }

    /// Returns the nanoseconds since 1970.
    #[must_use]
    pub fn as_nanos(self) -> i64 {
        self.0
    }

    /// Returns the time since `earlier`; zero if `earlier` is later than this timestamp.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Parses ISO 8601 with an offset or `Z`.
    ///
    /// # Errors
    ///
    /// Returns `InvalidArgument` if `text` is not a timestamp in this format.
    pub fn parse(text: &str) -> Result<Self> {
        match text.parse::<jiff::Timestamp>() {
            Ok(moment) => Ok(Self::from_nanos(moment.as_nanosecond())),
            Err(_) => Err(Error::new(ErrorKind::InvalidArgument, format!("`{text}` is not a time in ISO 8601"))
                .hint("write it like 2026-01-31T12:00:00.000000+00:00")),
        }
    }
}

impl fmt::Display for Timestamp {
    /// Writes the timestamp in UTC to the microsecond, with the offset `+00:00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_nanosecond(i128::from(self.0)) {
            Ok(moment) => write!(f, "{}", moment.strftime("%Y-%m-%dT%H:%M:%S.%6f+00:00")),
            Err(_) => write!(f, "{}ns", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Nine digits here, not six: a timestamp must keep its order across the wire.
        match jiff::Timestamp::from_nanosecond(i128::from(self.0)) {
            Ok(moment) => serializer.collect_str(&moment.strftime("%Y-%m-%dT%H:%M:%S.%9f+00:00")),
            Err(error) => Err(serde::ser::Error::custom(error)),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The identity of a file's content: a 128-bit hash of its bytes (XXH3).
///
/// A version detects changes, as fast as memory can be read. It does not resist an attacker who builds two contents
/// with one version; no security check relies on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(u128);

impl Version {
    /// Returns the version of this content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self(XxHash3_128::oneshot(content))
    }
}

/// Computes a `Version` from content in pieces.
#[derive(Clone, Default)]
pub struct VersionHasher(XxHash3_128);

impl VersionHasher {
    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.write(piece);
    }

    /// Returns the version of all pieces so far.
    #[must_use]
    pub fn finish(&self) -> Version {
        Version(self.0.finish_128())
    }
}

impl fmt::Debug for VersionHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VersionHasher({})", self.finish())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({self})")
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match u128::from_str_radix(&text, 16) {
            Ok(hash) if text.len() == 32 => Ok(Self(hash)),
            _ => Err(serde::de::Error::custom(format!("`{text}` is not a version"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_in_pieces_is_the_version_of_the_whole() {
        let mut pieces = VersionHasher::default();
        pieces.update(b"hello ");
        pieces.update(b"world");
        assert_eq!(pieces.finish(), Version::of(b"hello world"));
        assert_ne!(pieces.finish(), Version::of(b"hello worle"));
    }

    #[test]
    fn moments_are_written_as_the_documents_of_the_field_write_them() {
        let moment = Timestamp::parse("2026-01-31T12:00:00.123456+00:00").unwrap();
        assert_eq!(moment.to_string(), "2026-01-31T12:00:00.123456+00:00");
        assert_eq!(Timestamp::parse("2026-01-31T13:00:00.123456+01:00").unwrap(), moment);
        assert_eq!(Timestamp::parse("yesterday").unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn version_and_time_survive_a_wire() {
        let version = Version::of(b"x");
        let sent = serde_json::to_string(&version).unwrap();
        assert_eq!(serde_json::from_str::<Version>(&sent).unwrap(), version);
        let moment = Timestamp::from_nanos(1_700_000_000_123_456_789);
        let sent = serde_json::to_string(&moment).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&sent).unwrap(), moment);
    }
}
