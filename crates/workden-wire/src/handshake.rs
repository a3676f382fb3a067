//! The two lines before HTTP/2: what a keeper is to be, and whether it is.
//!
//! Invariant: neither side reads past the end of its line. What comes after is HTTP/2, and another
//! reader's.

use std::io::{ErrorKind as IoErrorKind, Read, Write};

use serde::{Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use workden_core::{Error, ErrorKind, Result};

use crate::{Launch, PROTOCOL, Reply, errors, limits::LAUNCH_BYTES};

/// Tells a keeper what to be, and waits until it is.
///
/// # Errors
///
/// What the keeper refuses with, and `Gone` when it ends without a word.
pub async fn launch<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, launch: &Launch) -> Result<()> {
    stream.write_all(&line(launch)?).await.map_err(|_| no_word())?;
    stream.flush().await.map_err(|_| no_word())?;
    let mut said = Vec::new();
    loop {
        // Byte by byte: what comes after the line is not for this reader. It is a short line.
        let byte = stream.read_u8().await.map_err(|_| no_word())?;
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
        Reply::Refused(error) => Err(error),
    }
}

/// Reads what this keeper is to be.
///
/// # Errors
///
/// `Unsupported` when the launcher speaks another version, `Gone` when it ends without a word,
/// `InvalidArgument` when what it says makes no sense. The launcher should hear of it: see
/// [`write_reply`].
pub fn read_launch(stream: &mut impl Read) -> Result<Launch> {
    let mut said = Vec::new();
    let mut byte = [0];
    loop {
        match stream.read(&mut byte) {
            Ok(0) => return Err(no_word()),
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => said.push(byte[0]),
            Err(error) if error.kind() == IoErrorKind::Interrupted => {}
            Err(_) => return Err(no_word()),
        }
        if said.len() > LAUNCH_BYTES {
            return Err(too_long());
        }
    }
    // The version first: what else another version says may not be readable here.
    let version: Version = parse(&said)?;
    if version.protocol != PROTOCOL {
        let theirs = version.protocol;
        let why = format!("this keeper speaks version {PROTOCOL} of the protocol, and its launcher version {theirs}");
        return Err(Error::new(ErrorKind::Unsupported, why).hint("use a keeper and a program of one release"));
    }
    parse(&said)
}

/// Says that this keeper is ready, or why it is not.
///
/// # Errors
///
/// `Gone` when nobody listens.
pub fn write_reply(stream: &mut impl Write, reply: &Reply) -> Result<()> {
    let line = line(reply)?;
    stream.write_all(&line).and_then(|()| stream.flush()).map_err(|_| errors::gone())
}

#[derive(serde::Deserialize)]
struct Version {
    protocol: u32,
}

fn line(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)
        .map_err(|_| Error::new(ErrorKind::InvalidArgument, "what the keeper is to be cannot be written down"))?;
    if line.len() > LAUNCH_BYTES {
        return Err(too_long());
    }
    line.push(b'\n');
    Ok(line)
}

fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T> {
    serde_json::from_slice(line).map_err(|error| {
        Error::new(ErrorKind::InvalidArgument, format!("the first line of a connection makes no sense: {error}"))
    })
}

fn too_long() -> Error {
    Error::new(ErrorKind::TooLarge, format!("the first line of a connection has more than {LAUNCH_BYTES} bytes"))
}

fn no_word() -> Error {
    Error::new(ErrorKind::Gone, "the other side ended before it said a word")
        .hint("the keeper may not be a program that this machine can run")
}
