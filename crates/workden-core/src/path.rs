//! `VirtualPath`: the one kind of path above the backends.
//!
//! Invariant: a `VirtualPath` starts with `/`, has no empty, `.` or `..` component, no trailing
//! `/` (except the root itself) and no NUL. Parsing is the only way to make one from outside, so
//! nothing below the parse ever looks for dots.

use std::{cmp::Ordering, fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, ErrorKind, Result};

/// A normalised absolute path inside a workspace.
///
/// # Behavior
///
/// - A relative path starts at the working directory: `/` for [`VirtualPath::parse`], any directory for
///   [`VirtualPath::parse_from`].
/// - `.` and `//` collapse. `..` resolves lexically and may not climb above `/`.
/// - NUL is refused. Every other character is a legal part of a name.
/// - Paths are ordered by component, so that a directory comes right before its content.
///
/// ```
/// use workden_core::{ErrorKind, VirtualPath};
///
/// let path = VirtualPath::parse("src//./lib/../main.rs")?;
/// assert_eq!(path.as_str(), "/src/main.rs");
///
/// let escape = VirtualPath::parse("/src/../../etc/passwd").unwrap_err();
/// assert_eq!(escape.kind(), ErrorKind::Escapes);
/// # Ok::<(), workden_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct VirtualPath(Arc<str>);

impl VirtualPath {
    /// Returns the root of the workspace, `/`.
    #[must_use]
    pub fn root() -> Self {
        Self(Arc::from("/"))
    }

    /// Parses a path as a person or a model typed it; relative paths start at `/`.
    ///
    /// # Errors
    ///
    /// Returns `Escapes` if `..` climbs above `/`, and `InvalidPath` if the path contains a NUL.
    pub fn parse(typed: &str) -> Result<Self> {
        Self::root().resolve_typed(typed)
    }

    /// Parses a path as typed; relative paths start at `working_directory`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`VirtualPath::parse`].
    pub fn parse_from(working_directory: &Self, typed: &str) -> Result<Self> {
        working_directory.resolve_typed(typed)
    }

    /// Parses the bytes of a path that may not be text.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPath` if the bytes are not UTF-8 (for example, a lone surrogate written as three bytes), and the
    /// errors of [`VirtualPath::parse`].
    pub fn parse_bytes(typed: &[u8]) -> Result<Self> {
        match std::str::from_utf8(typed) {
            Ok(text) => Self::parse(text),
            Err(_) => Err(Error::new(
                ErrorKind::InvalidPath,
                format!("`{}` is not a valid path: its bytes are not UTF-8", shown(&String::from_utf8_lossy(typed))),
            )),
        }
    }

    fn resolve_typed(&self, typed: &str) -> Result<Self> {
        if typed.contains('\0') {
            return Err(Error::new(
                ErrorKind::InvalidPath,
                format!("`{}` is not a valid path: it contains a NUL character", shown(typed)),
            ));
        }
        let mut parts: Vec<&str> = if typed.starts_with('/') { Vec::new() } else { self.components().collect() };
        for part in typed.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        return Err(Error::new(
                            ErrorKind::Escapes,
                            format!("`{}` climbs above the root of the workspace", shown(typed)),
                        )
                        .hint("paths start at `/`, the root of the workspace"));
                    }
                }
                name => parts.push(name),
            }
        }
        Ok(Self::from_parts(&parts))
    }

    fn from_parts(parts: &[&str]) -> Self {
        if parts.is_empty() {
            return Self::root();
        }
        let mut text = String::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
        for part in parts {
            text.push('/');
            text.push_str(part);
        }
        Self(Arc::from(text))
    }

    /// Returns the path as text, starting with `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path without its leading `/`, for an open relative to the root. Empty for `/`.
    #[must_use]
    pub fn relative(&self) -> &str {
        &self.0[1..]
    }

    /// Whether this is `/`.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns the names from the root down.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// Returns the number of names in the path; 0 for `/`.
    #[must_use]
    pub fn depth(&self) -> usize {
        if self.is_root() { 0 } else { memchr::memchr_iter(b'/', self.0.as_bytes()).count() }
    }

    /// Returns the last name; `None` for `/`.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// Returns the parent directory; `None` for `/`.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (parent, name) = self.0.rsplit_once('/')?;
        match (parent, name) {
            ("", "") => None,
            ("", _) => Some(Self::root()),
            (parent, _) => Some(Self(Arc::from(parent))),
        }
    }

    /// Returns the path of `name` in this directory. A name read from a directory is always legal; a name that is
    /// empty, `.` or `..`, or contains a `/` or a NUL, is an error.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPath` if `name` is not a single name.
    pub fn child(&self, name: &str) -> Result<Self> {
        if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) {
            return Err(Error::new(ErrorKind::InvalidPath, format!("`{}` is not a file name", shown(name))));
        }
        Ok(self.child_unchecked(name))
    }

    /// Like [`VirtualPath::child`], for a name from a directory listing.
    #[must_use]
    pub fn child_unchecked(&self, name: &str) -> Self {
        let mut text = String::with_capacity(self.0.len() + 1 + name.len());
        if !self.is_root() {
            text.push_str(&self.0);
        }
        text.push('/');
        text.push_str(name);
        Self(Arc::from(text))
    }

    /// Returns this path with `prefix` in front of it.
    #[must_use]
    pub fn below(&self, prefix: &Self) -> Self {
        if prefix.is_root() {
            return self.clone();
        }
        if self.is_root() {
            return prefix.clone();
        }
        Self(Arc::from([&*prefix.0, &*self.0].concat()))
    }

    /// Returns this path relative to `prefix`; `None` if it is not within `prefix`.
    #[must_use]
    pub fn strip_prefix(&self, prefix: &Self) -> Option<Self> {
        if prefix.is_root() {
            return Some(self.clone());
        }
        match self.0.strip_prefix(&*prefix.0)? {
            "" => Some(Self::root()),
            rest if rest.starts_with('/') => Some(Self(Arc::from(rest))),
            _ => None,
        }
    }

    /// Returns the first path, in order, after all paths below this one.
    #[must_use]
    pub fn after_subtree(&self) -> Self {
        // No byte of a name sorts between `/` and U+0001.
        Self(Arc::from(format!("{self}\u{1}")))
    }

    /// Whether this is `prefix` or below it.
    #[must_use]
    pub fn is_within(&self, prefix: &Self) -> bool {
        prefix.is_root() || self.0.strip_prefix(&*prefix.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Formats a typed path for an error: on one line, and of bounded length.
fn shown(typed: &str) -> String {
    const SHOWN_CHARS: usize = 200;
    let mut text: String = typed.chars().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if typed.chars().nth(SHOWN_CHARS).is_some() {
        text.push_str("...");
    }
    text
}

impl Ord for VirtualPath {
    /// Compares bytes, with `/` below every other byte, which orders by component.
    fn cmp(&self, other: &Self) -> Ordering {
        // Neighbours in a tree share long prefixes, which are compared a word at a time.
        const WORD: usize = 8;
        let (left, right) = (self.0.as_bytes(), other.0.as_bytes());
        let words = left.as_chunks::<WORD>().0.iter().zip(right.as_chunks::<WORD>().0);
        let same = words.take_while(|(l, r)| l == r).count() * WORD;
        let (left, right) = (&left[same..], &right[same..]);
        match left.iter().zip(right).position(|(l, r)| l != r) {
            None => left.len().cmp(&right.len()),
            Some(at) => {
                let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
                rank(left[at]).cmp(&rank(right[at]))
            }
        }
    }
}

impl PartialOrd for VirtualPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for VirtualPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VirtualPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl AsRef<str> for VirtualPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for VirtualPath {
    type Err = Error;

    fn from_str(typed: &str) -> Result<Self> {
        Self::parse(typed)
    }
}

impl Serialize for VirtualPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for VirtualPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let typed = String::deserialize(deserializer)?;
        Self::parse(&typed).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for VirtualPath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "VirtualPath".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "A path inside the workspace, such as `/docs/a.md`." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, expected: Result<&str, ErrorKind>) {
        let parsed = VirtualPath::parse(typed);
        let parsed = parsed.as_ref().map(VirtualPath::as_str).map_err(|error| error.kind());
        assert_eq!(parsed, expected, "{typed:?}");
    }

    #[test]
    fn spellings_collapse_to_one_path() {
        for typed in ["/a/b", "a/b", "./a/b", "//a//b/", "/a/./b", "/a/c/../b", "x/../a/b/."] {
            check(typed, Ok("/a/b"));
        }
        for typed in ["", "/", ".", "./", "//", "a/.."] {
            check(typed, Ok("/"));
        }
    }

    #[test]
    fn odd_names_are_legal() {
        for name in ["...", "..a..md", "a b", " ", "~", "C:", "a\nb", "it's", "\"", "-rf", "\\", "*"] {
            check(name, Ok(&format!("/{name}")));
        }
    }

    #[test]
    fn climbing_above_the_root_and_nul_are_refused() {
        for typed in ["..", "/..", "../x", "/a/../../etc/passwd", "a/b/../../.."] {
            check(typed, Err(ErrorKind::Escapes));
        }
        check("a\0b", Err(ErrorKind::InvalidPath));
    }

    #[test]
    fn a_lone_surrogate_from_a_face_is_a_clear_error() {
        let error = VirtualPath::parse_bytes(b"/a\xED\xA0\x80b").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidPath);
        assert!(error.to_string().contains("not UTF-8"), "{error}");
    }

    #[test]
    fn a_relative_path_starts_at_the_working_directory() {
        let cwd = VirtualPath::parse("/project/src").unwrap();
        assert_eq!(VirtualPath::parse_from(&cwd, "../a").unwrap().as_str(), "/project/a");
        assert_eq!(VirtualPath::parse_from(&cwd, "/a").unwrap().as_str(), "/a");
    }

    #[test]
    fn a_directory_sorts_right_before_its_content() {
        let mut paths: Vec<_> =
            ["/a.b", "/a/z", "/a", "/a-b", "/", "/a/b/c"].iter().map(|p| VirtualPath::parse(p).unwrap()).collect();
        paths.sort();
        let sorted: Vec<_> = paths.iter().map(VirtualPath::as_str).collect();
        assert_eq!(sorted, ["/", "/a", "/a/b/c", "/a/z", "/a-b", "/a.b"]);
    }

    #[test]
    fn prefixes_are_whole_components() {
        let path = |typed| VirtualPath::parse(typed).unwrap();
        assert!(path("/data/x").is_within(&path("/data")));
        assert!(!path("/database").is_within(&path("/data")));
        assert_eq!(path("/data").strip_prefix(&path("/data")), Some(VirtualPath::root()));
        assert_eq!(path("/database").strip_prefix(&path("/data")), None);
        assert_eq!(path("/x").below(&path("/data")).as_str(), "/data/x");
        assert_eq!(path("/").below(&path("/data")).as_str(), "/data");
    }
}
