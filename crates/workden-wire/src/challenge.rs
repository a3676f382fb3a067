//! The mutual proof before HTTP/2 on a stream whose other end is unknown: a port that any process of a sandbox could
//! have taken.
//!
//! The client sends a random number; the keeper answers with one of its own and its proof; the client sends its proof.
//! Invariant: the secret is never sent, neither side sends anything else before the other has proven itself, and a proof
//! is of use only for its side, its place and its two numbers. The place is the port of the keeper, so that a process at
//! another port cannot pass the numbers on.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use workden_core::{Error, ErrorKind, Result};

use crate::SharedSecret;

const NONCE: usize = 32;
const PROOF: usize = 32;
const CLIENT: &[u8] = b"workden client";
const KEEPER: &[u8] = b"workden keeper";

/// Proves to a keeper that this client knows the secret, after the keeper has proven it.
///
/// # Errors
///
/// Returns `PermissionDenied` if the other side does not know the secret, and `Gone` if it closes the connection.
pub async fn challenge<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    secret: &SharedSecret,
    place: &str,
) -> Result<()> {
    let ours = nonce()?;
    stream.write_all(&ours).await.map_err(closed)?;
    stream.flush().await.map_err(closed)?;
    let (mut theirs, mut proof) = ([0; NONCE], [0; PROOF]);
    stream.read_exact(&mut theirs).await.map_err(closed)?;
    stream.read_exact(&mut proof).await.map_err(closed)?;
    if !secret.accepts(&[KEEPER, place.as_bytes(), &ours, &theirs], &proof) {
        return Err(stranger("the process at the keeper's port is not the keeper: it does not know the secret"));
    }
    stream.write_all(&secret.proof(&[CLIENT, place.as_bytes(), &ours, &theirs])).await.map_err(closed)?;
    stream.flush().await.map_err(closed)
}

/// Proves to a client that this keeper knows the secret, and checks that the client does.
///
/// # Errors
///
/// Returns `PermissionDenied` if the client does not know the secret, and `Gone` if it closes the connection.
pub async fn answer_challenge<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    secret: &SharedSecret,
    place: &str,
) -> Result<()> {
    let (mut theirs, ours) = ([0; NONCE], nonce()?);
    stream.read_exact(&mut theirs).await.map_err(closed)?;
    let mut answer = ours.to_vec();
    answer.extend(secret.proof(&[KEEPER, place.as_bytes(), &theirs, &ours]));
    stream.write_all(&answer).await.map_err(closed)?;
    stream.flush().await.map_err(closed)?;
    let mut proof = [0; PROOF];
    stream.read_exact(&mut proof).await.map_err(closed)?;
    if secret.accepts(&[CLIENT, place.as_bytes(), &theirs, &ours], &proof) {
        return Ok(());
    }
    Err(stranger("the client does not know the secret"))
}

fn nonce() -> Result<[u8; NONCE]> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|_| Error::new(ErrorKind::Io, "this machine has no random numbers"))?;
    Ok(nonce)
}

fn stranger(why: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, why.to_owned())
}

fn closed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Gone, "the other side closed the connection before it proved itself").with_source(error)
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    async fn between(client: (&str, &str), keeper: (&str, &str)) -> (Result<()>, Result<()>) {
        let (mut near, mut far) = duplex(1024);
        let secrets = [client, keeper].map(|(key, _)| SharedSecret::derive(key.as_bytes(), "test"));
        let client = async {
            let asked = challenge(&mut near, &secrets[0], client.1).await;
            drop(near);
            asked
        };
        tokio::join!(client, answer_challenge(&mut far, &secrets[1], keeper.1))
    }

    #[tokio::test]
    async fn both_sides_are_told_who_knows_the_secret() {
        let (client, keeper) = between(("one", "7"), ("one", "7")).await;
        assert_eq!((client, keeper), (Ok(()), Ok(())));
    }

    #[tokio::test]
    async fn another_secret_or_another_place_is_refused_before_the_client_proves_anything() {
        for (client, keeper) in [(("one", "7"), ("two", "7")), (("one", "7"), ("one", "8"))] {
            let (client, keeper) = between(client, keeper).await;
            assert_eq!(client.unwrap_err().kind(), ErrorKind::PermissionDenied);
            assert_eq!(keeper.unwrap_err().kind(), ErrorKind::Gone, "the client has sent no proof");
        }
    }

    #[tokio::test]
    async fn a_keeper_refuses_a_client_that_sends_its_own_proof_back() {
        let secret = SharedSecret::derive(b"key", "test");
        let (mut near, mut far) = duplex(1024);
        let reflecting = async {
            near.write_all(&[1; NONCE]).await.unwrap();
            let mut answer = [0; NONCE + PROOF];
            near.read_exact(&mut answer).await.unwrap();
            near.write_all(&answer[NONCE..]).await.unwrap();
        };
        let (refused, ()) = tokio::join!(answer_challenge(&mut far, &secret, "7"), reflecting);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
}
