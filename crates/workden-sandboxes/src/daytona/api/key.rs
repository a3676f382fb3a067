//! `ApiKey`: the key of an account. It is shown nowhere: neither in `Debug`, nor in a text that the service sends back.

use std::fmt;

use http::HeaderValue;
use workden_core::{Error, ErrorKind, Result};
use workden_wire::SharedSecret;

use crate::served::shown;

/// What stands for the key in a text.
const MASK: &str = "[key]";

/// The key of an account.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ApiKey(String);

impl ApiKey {
    pub(crate) fn new(key: &str) -> Result<Self> {
        let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        if is_key {
            return Ok(Self(key.to_owned()));
        }
        let what = if key.is_empty() { "it is empty" } else { "it contains a space or a character that is not ASCII" };
        Err(Error::new(ErrorKind::InvalidArgument, format!("invalid Daytona API key: {what}"))
            .hint("create a key in the Daytona dashboard"))
    }

    /// Returns the value of the header `Authorization`.
    pub(super) fn authorization(&self) -> Result<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0))
            .map_err(|_| Error::new(ErrorKind::InvalidArgument, "invalid Daytona API key"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Returns what this account and the keeper of a sandbox both know. Any process with the key finds it again, and the
    /// key cannot be found from it.
    pub(crate) fn secret_of(&self, sandbox: &str) -> SharedSecret {
        SharedSecret::derive(self.0.as_bytes(), &format!("workden keeper of the Daytona sandbox {sandbox}"))
    }

    /// Returns a text of the service as it can be shown: one line, bounded, without control characters or the key.
    pub(crate) fn shown(&self, text: &str) -> String {
        shown(&text.replace(&self.0, MASK))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_shown_nowhere() {
        let key = ApiKey::new("dtn_0123").unwrap();
        assert_eq!(format!("{key:?}{:?}", key.authorization().unwrap()), "ApiKeySensitive");
        let long = format!("{}dtn_0123", "x".repeat(597));
        assert!(!key.shown(&long).contains("dtn"), "a key is masked before the text is cut");
        assert_eq!(key.shown("bad\n key dtn_0123\u{1b}[31m"), "bad key [key]\\u{1b}[31m");
    }

    #[test]
    fn what_is_not_a_key_is_refused_without_being_repeated() {
        for text in ["", "a b", "a\nb", "clé"] {
            let error = ApiKey::new(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(text.is_empty() || !error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn secrets_differ_by_sandbox_and_by_key() {
        let (key, other) = (ApiKey::new("a").unwrap(), ApiKey::new("b").unwrap());
        assert_eq!(key.secret_of("1"), key.secret_of("1"));
        assert_ne!(key.secret_of("1"), key.secret_of("2"));
        assert_ne!(key.secret_of("1"), other.secret_of("1"));
    }
}
