//! `SessionId`: the name of a session, which is also the name of a directory and part of a container name.

use std::{fmt, str::FromStr};

use workden_core::{Error, ErrorKind, Result};

/// Longest id, in characters.
const LONGEST: usize = 64;

/// The name of a session: a letter or digit, then up to 63 of letters, digits, `.`, `_` and `-`.
///
/// ```
/// use workden_sandboxes::SessionId;
///
/// assert!("user-42.main".parse::<SessionId>().is_ok());
/// for not_an_id in ["", "..", "../x", "a/b", "a b", "-x", ".x", "é", "x\n"] {
///     assert!(not_an_id.parse::<SessionId>().is_err());
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let begins = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if begins && text.len() <= LONGEST && text.bytes().all(is_part) {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.chars().take(LONGEST + 1).flat_map(char::escape_debug).collect();
        Err(Error::new(ErrorKind::InvalidArgument, format!("invalid session id `{shown}`"))
            .hint("use at most 64 letters, digits, `.`, `_` and `-`, starting with a letter or digit"))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_what_they_may_be_and_nothing_else() {
        for good in ["a", "0", "A.b_c-d", &"x".repeat(64), "user-1", "a..b"] {
            assert_eq!(good.parse::<SessionId>().unwrap().as_str(), good);
        }
        for bad in ["", ".", "..", "../x", "a/../b", "/a", "-a", "_a", "a b", "a\n", "\na", "a\0", "ä", &"x".repeat(65)]
        {
            let error = bad.parse::<SessionId>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{bad:?}");
            assert!(!error.to_string().contains('\0'), "{error}");
        }
    }
}
