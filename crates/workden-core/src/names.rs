//! The names that can be created, the same on every backend.

use crate::{Error, ErrorKind, Result, VirtualPath};

/// The prefix of workden's temporary files. They are never shown and never opened.
pub const TEMPORARY_PREFIX: &str = ".workden-tmp-";

/// The longest name that common file systems accept, in bytes.
pub const LONGEST_NAME: usize = 255;

/// The longest path that common file systems accept, in bytes.
pub const LONGEST_PATH: usize = 4_095;

/// Whether a name belongs to one of workden's temporary files.
#[must_use]
pub fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(TEMPORARY_PREFIX.as_bytes())
}

/// Refuses paths that can never be a file: a path that is too long, or has a name that is too long or reserved for
/// workden.
///
/// # Errors
///
/// Returns `InvalidPath` with the offending name.
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

/// Refuses a path that has too many bytes.
///
/// # Errors
///
/// Returns `InvalidPath` with the limit.
pub fn check_length(verb: &str, bytes: usize) -> Result<()> {
    if bytes > LONGEST_PATH {
        let sentence = format!("cannot {verb} a path of {bytes} bytes: {LONGEST_PATH} is the most");
        return Err(Error::new(ErrorKind::InvalidPath, sentence).hint("use fewer or shorter directories"));
    }
    Ok(())
}
