//! Errors about the fields of a runtime.

use workden_core::{Error, ErrorKind};

/// Returns the error of one field.
pub(super) fn wrong(why: &str, hint: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, why).hint(hint)
}

/// Shortens a value for an error, and escapes control characters.
pub(super) fn shown(value: &str) -> String {
    let escaped = value.escape_debug().to_string();
    match escaped.char_indices().nth(100) {
        Some((at, _)) => format!("{}...", &escaped[..at]),
        None => escaped,
    }
}
