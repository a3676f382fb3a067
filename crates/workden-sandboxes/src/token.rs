//! Tokens, which authenticate clients to a keeper that serves a socket.

use workden_core::{Error, ErrorKind, Result};

/// Returns a new token: 32 random bytes, as hexadecimal digits.
pub(crate) fn random() -> Result<String> {
    random_digits(32)
}

/// Returns this many random bytes, as hexadecimal digits.
pub(crate) fn random_digits(bytes: usize) -> Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|_| Error::new(ErrorKind::Io, "this machine has no random numbers"))?;
    Ok(random.iter().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let (one, other) = (random().unwrap(), random().unwrap());
        assert_eq!(one.len(), 64);
        assert_ne!(one, other);
    }
}
