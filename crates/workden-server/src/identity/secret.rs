//! Keys and tokens: how they are made, hashed and checked.
//!
//! A key is `e2b_`, 16 digits that name it, and 48 random ones: hexadecimal, as the SDKs of E2B require. The token of a
//! session is derived from the secret of the service, so that nothing is stored and every process knows it.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use workden::{Error, ErrorKind, Result};
use workden_wire::SharedSecret;

const KEY: &str = "e2b_";
const KEY_ID_DIGITS: usize = 16;
const KEY_DIGITS: usize = 64;
const TOKEN: &str = "wds_";
const PORT_TOKEN: &str = "wdp_";

/// A new key: what its owner keeps, and what the database keeps.
pub(crate) struct NewKey {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) hash: String,
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| Error::new(ErrorKind::Io, "the system has no random numbers for a key"))?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
        text
    })
}

/// Returns a new random key.
pub(crate) fn new_key() -> Result<NewKey> {
    let digits = hex(&random::<{ KEY_DIGITS / 2 }>()?);
    let key = format!("{KEY}{digits}");
    Ok(NewKey { id: digits[..KEY_ID_DIGITS].to_owned(), hash: hash(&key), key })
}

/// Returns a new random id of lower-case letters and digits, which may be part of a host name.
pub(crate) fn new_id() -> Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let letter = |byte: u8| char::from(LETTERS[usize::from(byte & 31)]);
    Ok(random::<20>()?.into_iter().map(letter).collect())
}

/// Returns the id in a key, if it has the form of one.
pub(crate) fn key_id(key: &str) -> Option<&str> {
    let digits = key.strip_prefix(KEY).filter(|digits| digits.len() == KEY_DIGITS)?;
    digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')).then(|| &digits[..KEY_ID_DIGITS])
}

/// Returns what the database keeps of a key. A key is random, so a fast hash is enough.
pub(crate) fn hash(key: &str) -> String {
    hex(&Sha256::digest(key.as_bytes()))
}

/// Compares two texts in a time that does not depend on where they differ.
pub(crate) fn equal(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// The secret that all processes of a service share, from which the tokens of sessions are derived.
#[derive(Clone)]
pub(crate) struct ServiceSecret(String);

impl ServiceSecret {
    /// Returns a new random secret, as text to store.
    pub(crate) fn random() -> Result<String> {
        Ok(hex(&random::<32>()?))
    }

    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the token of a session.
    pub(crate) fn session_token(&self, session: &str) -> String {
        let derived = SharedSecret::derive(self.0.as_bytes(), &format!("token of session {session}"));
        format!("{TOKEN}{session}_{}", derived.to_digits())
    }

    /// Returns the token of a port of a session, after its links were ended some times; 0 stands for all ports.
    pub(crate) fn port_token(&self, session: &str, port: u16, ended: i64) -> String {
        let what = match ended {
            0 => format!("token of port {port} of session {session}"),
            _ => format!("token {ended} of port {port} of session {session}"),
        };
        let derived = SharedSecret::derive(self.0.as_bytes(), &what);
        format!("{PORT_TOKEN}{}", derived.to_digits())
    }

    /// Returns the session whose token this is.
    pub(crate) fn session_of<'a>(&self, token: &'a str) -> Option<&'a str> {
        let (session, _) = token.strip_prefix(TOKEN)?.rsplit_once('_')?;
        equal(&self.session_token(session), token).then_some(session)
    }
}

impl std::fmt::Debug for ServiceSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServiceSecret")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_key_is_one_that_the_sdks_accept_and_names_its_row() {
        let new = new_key().unwrap();
        assert!(new.key.starts_with("e2b_") && new.key.len() == 68);
        assert_eq!(key_id(&new.key), Some(new.id.as_str()));
        assert!(equal(&hash(&new.key), &new.hash) && !new.hash.contains(&new.key[4..]));
        for other in ["", "e2b_", "e2b_12", &new.key.to_uppercase(), &new.key[1..], &format!("{}0", new.key)] {
            assert_eq!(key_id(other), None, "{other}");
        }
    }

    #[test]
    fn a_token_is_valid_for_its_session_and_secret_only() {
        let secret = ServiceSecret::new(ServiceSecret::random().unwrap());
        let token = secret.session_token("abc");
        assert_eq!(secret.session_of(&token), Some("abc"));
        let other = ServiceSecret::new(ServiceSecret::random().unwrap());
        assert_eq!(other.session_of(&token), None);
        for wrong in [token.replace("abc", "abd"), token[..token.len() - 1].to_owned(), "wds_abc_".into(), "abc".into()]
        {
            assert_eq!(secret.session_of(&wrong), None, "{wrong}");
        }
        assert_eq!(format!("{secret:?}"), "ServiceSecret");
        assert_eq!(secret.session_of(&secret.port_token("abc", 0, 0)), None);
        let ports = [("abc", 0, 0), ("abc", 1, 0), ("abd", 0, 0), ("abc", 0, 1), ("abc", 0, 2)];
        let tokens: BTreeSet<String> =
            ports.iter().map(|(of, port, ended)| secret.port_token(of, *port, *ended)).collect();
        assert!(tokens.len() == ports.len() && tokens.iter().all(|token| token.starts_with("wdp_")));
    }

    #[test]
    fn ids_may_be_part_of_a_host_name() {
        let id = new_id().unwrap();
        assert!(id.len() == 20 && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()));
        assert_ne!(id, new_id().unwrap());
    }
}
