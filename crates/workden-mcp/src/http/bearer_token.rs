//! The bearer token that clients of a server over HTTP send.

use std::fmt;

use axum::http::{HeaderMap, header::AUTHORIZATION};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use workden::{Error, ErrorKind, Result};

/// The shortest accepted token; shorter ones can be guessed.
const MIN_CHARS: usize = 16;

/// A secret that clients send with every request. `Debug` does not show it.
#[derive(Clone)]
pub struct BearerToken(String);

impl BearerToken {
    /// Accepts a token.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` when it is shorter than 16 characters or has other than visible ASCII characters.
    pub fn new(token: impl Into<String>) -> Result<Self> {
        let token = token.into();
        if token.len() < MIN_CHARS || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::new(ErrorKind::InvalidArgument, "invalid token")
                .hint("use at least 16 characters, all of them visible ASCII"));
        }
        Ok(Self(token))
    }

    /// Creates a random token of 256 bits.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|_| Error::new(ErrorKind::Io, "cannot create a token: the system has no random numbers"))?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Returns the token itself, for a client.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a request has the token, in constant time.
    pub(super) fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((scheme, token)) = value.to_str().ok().and_then(|value| value.split_once(' ')) else { return false };
        let same = Sha256::digest(token.trim()).ct_eq(&Sha256::digest(&self.0));
        scheme.eq_ignore_ascii_case("bearer") && bool::from(same)
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (AUTHORIZATION, value.parse().unwrap())).collect()
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = BearerToken::new("0123456789abcdef").unwrap();
        let has = |values: &[&str]| token.is_in(&headers(values));
        assert!(has(&["Bearer 0123456789abcdef"]) && has(&["bearer 0123456789abcdef"]));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "0123456789abcdef",
            "Basic 0123456789abcdef",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Bearer 0123456789ABCDEF",
        ] {
            assert!(!has(&[wrong]), "{wrong}");
        }
        assert!(!has(&[]) && !has(&["Bearer wrong", "Bearer 0123456789abcdef"]));
    }

    #[test]
    fn tokens_are_long_and_secret() {
        assert!(BearerToken::new("short").is_err() && BearerToken::new("with a space in it").is_err());
        let random = BearerToken::random().unwrap();
        assert_eq!((random.reveal().len(), format!("{random:?}").as_str()), (43, "BearerToken(..)"));
        assert_ne!(random.reveal(), BearerToken::random().unwrap().reveal());
    }
}
