//! The keeper's own program file: its checksum, after it was streamed into a pod, and its copy, out of an image that
//! brings it into a pod.

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use sha2::{Digest, Sha256};
use workden_core::{Error, ErrorKind, Result};

/// The program file of this process.
const OWN: &str = "/proc/self/exe";

/// Prints the SHA-256 of this program, as hexadecimal digits.
pub(super) fn checksum() -> Result<()> {
    // Piece by piece: the memory limit of a pod may be little more than the program.
    let mut file = fs::File::open(OWN).map_err(|error| failed("read", &error))?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 64 * 1024]);
    loop {
        match file.read(&mut piece).map_err(|error| failed("read", &error))? {
            0 => break,
            length => hash.update(&piece[..length]),
        }
    }
    let digits = hash.finalize().iter().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"));
    writeln!(std::io::stdout(), "{digits}").map_err(|error| failed("print the checksum of", &error))
}

/// Copies this program to a path, for any user of the pod.
pub(super) fn install(at: &Path) -> Result<()> {
    fs::copy(OWN, at)
        .and_then(|_| fs::set_permissions(at, fs::Permissions::from_mode(0o555)))
        .map_err(|error| failed("copy", &error))
}

fn failed(what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot {what} the keeper program: {}", error.kind()))
}
