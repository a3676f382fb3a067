//! Which names can be created, the same on every backend.

use crate::{Error, ErrorKind, Result, VirtualPath};

/// What workden's own temporary files start with. They are never shown and never opened.
pub const TEMPORARY_PREFIX: &str = ".workden-tmp-";

/// The longest name that file systems of the field take, in bytes.
pub const LONGEST_NAME: usize = 255;

/// The longest path that they take, in bytes.
pub const LONGEST_PATH: usize = 4_095;

/// Whether a name is one of workden's own temporary files.
#[must_use]
pub fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(TEMPORARY_PREFIX.as_bytes())
}

/// Refuses paths that could never be a file here: too long, or with a name that is too long or
/// workden's own.
///
/// # Errors
///
/// `InvalidPath`, with the name that is at fault.
pub fn check_names(verb: &str, path: &VirtualPath) -> Result<()> {
    for name in path.components() {
        if name.len() > LONGEST_NAME {
            let start: String = name.chars().take(40).collect();
            return Err(Error::new(
                ErrorKind::InvalidPath,
                format!(
                    "cannot {verb} a path with the name `{start}...`: it has {} bytes, and a name may have {LONGEST_NAME}",
                    name.len()
                ),
            ));
        }
        if is_temporary(name.as_bytes()) {
            return Err(Error::new(
                ErrorKind::InvalidPath,
                format!("cannot {verb} `{path}`: names that start with `{TEMPORARY_PREFIX}` are reserved"),
            )
            .hint("choose another name"));
        }
    }
    check_length(verb, path.as_str().len())
}

/// Refuses a path of this many bytes if it is too long.
///
/// # Errors
///
/// `InvalidPath`, with the most there may be.
pub fn check_length(verb: &str, bytes: usize) -> Result<()> {
    if bytes > LONGEST_PATH {
        let sentence = format!("cannot {verb} a path of {bytes} bytes: {LONGEST_PATH} is the most");
        return Err(Error::new(ErrorKind::InvalidPath, sentence).hint("use fewer or shorter directories"));
    }
    Ok(())
}
