//! What changed while a question was open: the error that says so, and which failures mean it.

use super::Op;
use crate::{Error, ErrorKind, Result};

/// The outcome of an approved call: a failure that shows that its target is no longer the same is told
/// as that.
pub(super) fn as_approved<T>(op: Op<'_>, outcome: Result<T>) -> Result<T> {
    outcome.map_err(|error| match (op, error.kind()) {
        (
            Op::Read(_) | Op::Write(_) | Op::Change(_) | Op::Remove(_) | Op::Rename { .. } | Op::Copy { .. },
            ErrorKind::Moved | ErrorKind::Conflict | ErrorKind::NotFound | ErrorKind::AlreadyExists,
        ) => changed_meanwhile(op),
        _ => error,
    })
}

/// The error for a file that is no longer the one that the question was about.
pub(super) fn changed_meanwhile(op: Op<'_>) -> Error {
    let path = op.paths().next().map(|at| at.typed.to_string()).unwrap_or_default();
    Error::new(ErrorKind::Conflict, format!("cannot {} `{path}`: it changed while approval was pending", op.name()))
        .hint("nothing was done; look at what is there now, and repeat the call")
}
