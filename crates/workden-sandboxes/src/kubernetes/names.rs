//! The names of pods. A session always has the same pod name, and two sessions never share one.

use sha2::{Digest, Sha256};
use workden_core::Result;

use crate::{SessionId, token};

/// Precedes the name of every pod of workden.
const PREFIX: &str = "workden";
/// The most characters of a session id that a name repeats, for people who read it.
const SHOWN: usize = 30;
/// Bytes of the hash in a name.
const HASH_BYTES: usize = 8;

/// Returns the pod name of a session. The hash distinguishes `user_1`, `user-1` and `User.1`, which are one name in
/// the characters that Kubernetes allows.
pub(super) fn of_session(owner: &str, session: &SessionId) -> String {
    let hash = hash_of(owner, session);
    let shown: String = session.as_str().chars().take(SHOWN).map(allowed).collect();
    match shown.trim_matches('-') {
        "" => format!("{PREFIX}-{hash}"),
        shown => format!("{PREFIX}-{shown}-{hash}"),
    }
}

/// Returns the name of the Lease of a session.
pub(super) fn of_lease(owner: &str, session: &SessionId) -> String {
    format!("{PREFIX}-{}", hash_of(owner, session))
}

/// Returns the name of a spare pod of an owner.
pub(super) fn of_spare(owner: &str, index: usize) -> String {
    format!("{PREFIX}-spare-{}-{index}", digits(&Sha256::digest(owner)))
}

/// Returns a hash that identifies the session of an owner.
pub(super) fn hash_of(owner: &str, session: &SessionId) -> String {
    // Neither has a NUL, so the pair is unambiguous.
    digits(&Sha256::digest(format!("{owner}\0{session}")))
}

fn digits(digest: &[u8]) -> String {
    digest.iter().take(HASH_BYTES).fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}

/// Returns a name that no other pod has.
pub(super) fn random() -> Result<String> {
    Ok(format!("{PREFIX}-{}", token::random_digits(HASH_BYTES)?))
}

fn allowed(character: char) -> char {
    let lower = character.to_ascii_lowercase();
    if lower.is_ascii_alphanumeric() { lower } else { '-' }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn name(session: &str) -> String {
        of_session("me", &session.parse().unwrap())
    }

    fn is_a_name(name: &str) -> bool {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        name.len() <= 63 && name.bytes().all(is_part) && !name.starts_with('-') && !name.ends_with('-')
    }

    #[test]
    fn sessions_that_look_alike_have_different_pods() {
        let names: BTreeSet<String> = ["user_1", "user-1", "User.1", "user.1", "USER-1"].map(name).into();
        assert_eq!(names.len(), 5);
        assert_eq!(name("user-1"), name("user-1"));
        assert_ne!(name("user-1"), of_session("you", &"user-1".parse().unwrap()));
    }

    proptest! {
        #[test]
        fn names_are_valid(id in "[A-Za-z0-9][A-Za-z0-9._-]{0,63}") {
            prop_assert!(is_a_name(&name(&id)), "{}", name(&id));
        }
    }
}
