//! Signatures of URLs of files, with which a browser reads or writes one file without a token.

use axum::http::Method;
use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::{clock::Moment, identity::equal};

/// The form of a signature: the version, and a hash in base64.
const VERSION: &str = "v1_";
const HASH_CHARS: usize = 43;

/// The query of a URL that may be signed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SignedQuery {
    pub(super) path: String,
    pub(super) username: String,
    signature: Option<String>,
    signature_expiration: Option<i64>,
}

/// What is wrong with a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignatureFault {
    Invalid,
    Expired,
}

impl SignatureFault {
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Invalid => "invalid signature",
            Self::Expired => "signature is already expired",
        }
    }
}

impl SignedQuery {
    /// Whether it has something that could be a signature.
    pub(super) fn is_signed(&self) -> bool {
        let hash = self.signature.as_deref().and_then(|signature| signature.strip_prefix(VERSION));
        hash.is_some_and(|hash| hash.len() == HASH_CHARS)
    }

    /// Checks the signature against the token of a sandbox.
    pub(super) fn check(&self, method: &Method, token: &str, now: Moment) -> Result<(), SignatureFault> {
        let operation = match *method {
            Method::GET => "read",
            Method::POST => "write",
            _ => return Err(SignatureFault::Invalid),
        };
        let given = self.signature.as_deref().unwrap_or_default();
        let mut signed = format!("{}:{operation}:{}:{token}", self.path, self.username);
        if let Some(expiration) = self.signature_expiration {
            signed = format!("{signed}:{expiration}");
        }
        let hash = BASE64_STANDARD_NO_PAD.encode(Sha256::digest(signed.as_bytes()));
        if !equal(given, &format!("{VERSION}{hash}")) {
            return Err(SignatureFault::Invalid);
        }
        match self.signature_expiration {
            Some(expiration) if expiration.saturating_mul(1000) < now.0 => Err(SignatureFault::Expired),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_for_one_path_operation_user_token_and_time() {
        let hash = |text: &str| format!("v1_{}", BASE64_STANDARD_NO_PAD.encode(Sha256::digest(text)));
        let query = |path: &str, username: &str, signature: String, expires: Option<i64>| SignedQuery {
            path: path.to_owned(),
            username: username.to_owned(),
            signature: Some(signature),
            signature_expiration: expires,
        };
        let (get, now) = (Method::GET, Moment(100_000));
        let signed = || hash("/a:read::token");
        assert!(query("/a", "", signed(), None).is_signed());
        assert_eq!(query("/a", "", signed(), None).check(&get, "token", now), Ok(()));
        let invalid = Err(SignatureFault::Invalid);
        assert_eq!(query("/b", "", signed(), None).check(&get, "token", now), invalid);
        assert_eq!(query("/a", "user", signed(), None).check(&get, "token", now), invalid);
        assert_eq!(query("/a", "", signed(), None).check(&get, "other", now), invalid);
        assert_eq!(query("/a", "", signed(), Some(200)).check(&get, "token", now), invalid);
        assert_eq!(query("/a", "", signed(), None).check(&Method::POST, "token", now), invalid);
        let until = |time: i64| query("/a", "", hash(&format!("/a:read::token:{time}")), Some(time));
        assert_eq!(until(100).check(&get, "token", now), Ok(()));
        assert_eq!(until(99).check(&get, "token", now), Err(SignatureFault::Expired));
        assert_eq!(SignedQuery::default().check(&get, "token", now), invalid);
    }
}
