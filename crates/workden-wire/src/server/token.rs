//! Authentication: only clients with the token may call, and the server keeps only its hash. The server can be notified
//! of the first admitted call: before it, the other side is unknown.

use std::{
    fmt,
    sync::{Arc, Once},
};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};
use http::{StatusCode, header::AUTHORIZATION};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use workden_core::{Error, ErrorKind, Result};

use super::answer::refusal;

/// SHA-256 of a token.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Returns the hash of this token.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Parses a hash from hexadecimal digits, as in a [`Launch`](crate::Launch).
    ///
    /// # Errors
    ///
    /// Returns `InvalidArgument` if `digits` is not 64 hexadecimal digits.
    pub fn parse(digits: &str) -> Result<Self> {
        let refused = || Error::new(ErrorKind::InvalidArgument, "the hash of a token has 64 hexadecimal digits");
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(refused());
        }
        let mut hash = [0; 32];
        for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| refused())?;
        }
        Ok(Self(hash))
    }

    fn admits(&self, token: &str) -> bool {
        Self::of(token).0.ct_eq(&self.0).into()
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash")
    }
}

/// The callback for the first admitted call.
#[derive(Clone)]
pub(super) struct OnAdmission(Arc<dyn Fn() + Send + Sync>);

impl OnAdmission {
    pub(super) fn new(then: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(then))
    }
}

impl fmt::Debug for OnAdmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnAdmission")
    }
}

/// The authentication in front of the routes.
struct Guard {
    token: Option<TokenHash>,
    on_admission: Option<OnAdmission>,
    admitted: Once,
}

/// Returns the routes with a check of the token, if one is set.
pub(super) fn guard(routes: Router, token: Option<TokenHash>, on_admission: Option<OnAdmission>) -> Router {
    if token.is_none() && on_admission.is_none() {
        return routes;
    }
    let guard = Guard { token, on_admission, admitted: Once::new() };
    routes.layer(middleware::from_fn_with_state(Arc::new(guard), check))
}

async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    let given = given.and_then(|header| header.strip_prefix("Bearer "));
    if guard.token.as_ref().is_none_or(|token| given.is_some_and(|given| token.admits(given))) {
        if let Some(OnAdmission(then)) = &guard.on_admission {
            guard.admitted.call_once(|| then());
        }
        return next.run(request).await;
    }
    let why = if given.is_some() { "the token is not the right one" } else { "a token is needed" };
    let error = Error::new(ErrorKind::PermissionDenied, format!("cannot use this sandbox: {why}"))
        .hint("connect with the token that was given out when the sandbox was started");
    let mut response = refusal(&error);
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_written_and_read_as_digits() {
        let hash = TokenHash::of("abc");
        assert_eq!(hash.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(TokenHash::parse(&hash.to_string()).unwrap(), hash);
        for digits in ["", "ba", &"g".repeat(64), &"+1".repeat(32), &"ü".repeat(32), &"0".repeat(65)] {
            assert!(TokenHash::parse(digits).is_err(), "{digits}");
        }
        assert!(hash.admits("abc") && !hash.admits("abd") && !hash.admits(""));
    }
}
