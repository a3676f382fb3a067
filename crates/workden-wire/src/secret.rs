//! `SharedSecret`: what a client and a keeper both know, and prove to each other without sending it.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use workden_core::{Error, ErrorKind, Result};

const BYTES: usize = 32;

/// A secret of a client and a keeper.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedSecret([u8; BYTES]);

impl SharedSecret {
    /// Derives the secret for a purpose from a key, which cannot be found from the secret.
    #[must_use]
    pub fn derive(key: &[u8], purpose: &str) -> Self {
        Self(mac(key, &[purpose.as_bytes()]).finalize().into_bytes().into())
    }

    /// Parses a secret from hexadecimal digits.
    ///
    /// # Errors
    ///
    /// Returns `InvalidArgument` if `digits` is not 64 hexadecimal digits.
    pub fn parse(digits: &str) -> Result<Self> {
        let invalid = || Error::new(ErrorKind::InvalidArgument, "invalid secret: use 64 hexadecimal digits");
        if digits.len() != 2 * BYTES || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(invalid());
        }
        let mut secret = [0; BYTES];
        for (byte, at) in secret.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| invalid())?;
        }
        Ok(Self(secret))
    }

    /// Returns the secret as hexadecimal digits.
    #[must_use]
    pub fn to_digits(&self) -> String {
        self.0.iter().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
    }

    /// Returns the proof that its sender knows the secret.
    pub(crate) fn proof(&self, parts: &[&[u8]]) -> [u8; 32] {
        mac(&self.0, parts).finalize().into_bytes().into()
    }

    /// Whether a proof is right. Takes the same time for every wrong one.
    pub(crate) fn accepts(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        mac(&self.0, parts).verify_slice(proof).is_ok()
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret")
    }
}

/// Returns the code over these parts. Each part is preceded by its length, so that no two lists of parts are alike.
fn mac(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| Hmac::new(&Default::default()));
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_written_and_read_as_digits_and_not_shown() {
        let secret = SharedSecret::derive(b"key", "purpose");
        assert_eq!(SharedSecret::parse(&secret.to_digits()).unwrap(), secret);
        assert_eq!(format!("{secret:?}"), "SharedSecret");
        for digits in ["", "ab", &"g".repeat(64), &"+1".repeat(32), &"0".repeat(65)] {
            assert!(SharedSecret::parse(digits).is_err(), "{digits}");
        }
    }

    #[test]
    fn keys_purposes_and_parts_make_a_difference() {
        let secret = SharedSecret::derive(b"key", "one");
        assert_ne!(secret, SharedSecret::derive(b"key", "two"));
        assert_ne!(secret, SharedSecret::derive(b"other", "one"));
        let proof = secret.proof(&[b"ab", b"c"]);
        assert!(secret.accepts(&[b"ab", b"c"], &proof));
        assert!(!secret.accepts(&[b"a", b"bc"], &proof) && !secret.accepts(&[b"ab", b"c"], &proof[..31]));
    }
}
