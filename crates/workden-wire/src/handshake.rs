//! The two lines before HTTP/2: the configuration for a keeper, and the keeper's reply.
//!
//! Invariant: neither side reads past the end of its line. The rest of the stream is HTTP/2 and has another reader.

use std::io::{ErrorKind as IoErrorKind, Read, Write};

use serde::{Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use workden_core::{Error, ErrorKind, Result};

use crate::{
    Launch, PROTOCOL, Reply, errors,
    limits::{self, LAUNCH_BYTES},
};

/// Sends a keeper its configuration, and waits until it is ready.
///
/// # Errors
///
/// Returns the error with which the keeper refuses, and `Gone` if the keeper ends without a reply.
pub async fn launch<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, launch: &Launch) -> Result<()> {
    stream.write_all(&line(launch)?).await.map_err(|error| no_word().with_source(error))?;
    stream.flush().await.map_err(|error| no_word().with_source(error))?;
    let mut said = Vec::new();
    loop {
        // Byte by byte, because the bytes after the line have another reader. The line is short.
        let byte = stream.read_u8().await.map_err(|error| no_word().with_source(error))?;
        if byte == b'\n' {
            break;
        }
        said.push(byte);
        if said.len() > LAUNCH_BYTES {
            return Err(too_long());
        }
    }
    match parse(&said)? {
        Reply::Ready => Ok(()),
        Reply::Refused(error) => Err(error.escaped(limits::ERROR_CHARACTERS)),
    }
}

/// Reads the configuration of this keeper.
///
/// # Errors
///
/// Returns `Unsupported` if the launcher speaks another version, `Gone` if it ends without sending a line, and
/// `InvalidArgument` if the line is invalid. Report the error to the launcher with [`write_reply`].
pub fn read_launch(stream: &mut impl Read) -> Result<Launch> {
    let mut said = Vec::new();
    let mut byte = [0];
    loop {
        match stream.read(&mut byte) {
            Ok(0) => return Err(no_word()),
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => said.push(byte[0]),
            Err(error) if error.kind() == IoErrorKind::Interrupted => {}
            Err(error) => return Err(no_word().with_source(error)),
        }
        if said.len() > LAUNCH_BYTES {
            return Err(too_long());
        }
    }
    // The version comes first, because the rest of another version's line may not be readable here.
    let version: Version = parse(&said)?;
    if version.protocol != PROTOCOL {
        let theirs = version.protocol;
        let why = format!("this keeper speaks version {PROTOCOL} of the protocol, and its launcher version {theirs}");
        return Err(Error::new(ErrorKind::Unsupported, why).hint("use a keeper and a program of one release"));
    }
    parse(&said)
}

/// Reports that this keeper is ready, or why it is not.
///
/// # Errors
///
/// Returns `Gone` if the other side is closed.
pub fn write_reply(stream: &mut impl Write, reply: &Reply) -> Result<()> {
    let line = line(reply)?;
    stream.write_all(&line).and_then(|()| stream.flush()).map_err(errors::gone_because)
}

#[derive(serde::Deserialize)]
struct Version {
    protocol: u32,
}

fn line(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)
        .map_err(|error| Error::new(ErrorKind::InvalidArgument, "cannot serialise the launch").with_source(error))?;
    if line.len() > LAUNCH_BYTES {
        return Err(too_long());
    }
    line.push(b'\n');
    Ok(line)
}

fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T> {
    serde_json::from_slice(line).map_err(|error| {
        Error::new(ErrorKind::InvalidArgument, format!("invalid first line of a connection: {error}"))
            .with_source(error)
    })
}

fn too_long() -> Error {
    Error::new(ErrorKind::TooLarge, format!("the first line of a connection has more than {LAUNCH_BYTES} bytes"))
}

fn no_word() -> Error {
    Error::new(ErrorKind::Gone, "the other side closed the connection without an answer")
        .hint("check that the keeper is a program that this machine can run")
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, io::Cursor, os::unix::net::UnixStream};

    use super::*;
    use crate::{LaunchTarget, Lifetime};

    fn a_launch(protocol: u32) -> Launch {
        let environment = BTreeMap::from([("K".into(), "V".into())]);
        let target = LaunchTarget::Container { directory: "/srv/a\nb".into(), environment };
        Launch { protocol, target, lifetime: Lifetime::Owned }
    }

    /// Returns the launcher's result for a keeper that behaves like this.
    async fn heard(launched: Launch, keeper: impl FnOnce(UnixStream) + Send + 'static) -> Result<()> {
        let (near, far) = UnixStream::pair().unwrap();
        let keeper = std::thread::spawn(move || keeper(far));
        near.set_nonblocking(true).unwrap();
        let mut near = tokio::net::UnixStream::from_std(near).unwrap();
        let heard = launch(&mut near, &launched).await;
        let mut rest = Vec::new();
        near.read_to_end(&mut rest).await.unwrap();
        keeper.join().unwrap();
        assert!(heard.is_err() || rest == b"PRI", "what comes after the line is left alone");
        heard
    }

    #[tokio::test]
    async fn a_keeper_hears_what_it_is_to_be_and_says_that_it_is() {
        let ready = heard(a_launch(PROTOCOL), |mut stream| {
            assert_eq!(read_launch(&mut stream).unwrap(), a_launch(PROTOCOL));
            write_reply(&mut stream, &Reply::Ready).unwrap();
            stream.write_all(b"PRI").unwrap();
        });
        ready.await.unwrap();
    }

    #[tokio::test]
    async fn a_launcher_hears_why_not() {
        let refused = Error::new(ErrorKind::Unsupported, "no namespaces here").hint("see `workden doctor`");
        let said = refused.clone();
        let heard = heard(a_launch(PROTOCOL), move |mut stream| {
            read_launch(&mut stream).unwrap();
            write_reply(&mut stream, &Reply::Refused(said)).unwrap();
        });
        assert_eq!(heard.await.unwrap_err(), refused);
    }

    #[tokio::test]
    async fn another_version_is_refused_by_the_keeper() {
        let heard = heard(a_launch(PROTOCOL + 1), move |mut stream| {
            let refused = read_launch(&mut stream).unwrap_err();
            write_reply(&mut stream, &Reply::Refused(refused)).unwrap();
        });
        let error = heard.await.unwrap_err();
        let sentence = "this keeper speaks version 1 of the protocol, and its launcher version 2";
        assert_eq!((error.kind(), error.sentence()), (ErrorKind::Unsupported, sentence));
    }

    #[tokio::test]
    async fn silence_and_nonsense_are_told_apart() {
        let silent = heard(a_launch(PROTOCOL), |mut stream| drop(read_launch(&mut stream).unwrap()));
        assert_eq!(silent.await.unwrap_err().kind(), ErrorKind::Gone);
        let nonsense = heard(a_launch(PROTOCOL), |mut stream| {
            read_launch(&mut stream).unwrap();
            stream.write_all(b"Usage: keeper\n").unwrap();
        });
        assert_eq!(nonsense.await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn a_keeper_reads_one_line_and_not_a_byte_more() {
        let mut said = line(&a_launch(PROTOCOL)).unwrap();
        said.extend_from_slice(b"PRI * HTTP/2.0");
        let mut said = Cursor::new(said);
        read_launch(&mut said).unwrap();
        let mut rest = String::new();
        Read::read_to_string(&mut said, &mut rest).unwrap();
        assert_eq!(rest, "PRI * HTTP/2.0");
    }

    #[test]
    fn a_keeper_refuses_what_is_no_launch() {
        for (said, kind) in [
            (&b""[..], ErrorKind::Gone),
            (b"{", ErrorKind::Gone),
            (b"\n", ErrorKind::InvalidArgument),
            (b"{}\n", ErrorKind::InvalidArgument),
            (b"{\"protocol\": 1}\n", ErrorKind::InvalidArgument),
            (b"{\"protocol\": 7, \"other\": {}}\n", ErrorKind::Unsupported),
            (&b"x".repeat(LAUNCH_BYTES + 2), ErrorKind::TooLarge),
        ] {
            assert_eq!(read_launch(&mut Cursor::new(said)).unwrap_err().kind(), kind);
        }
    }
}
