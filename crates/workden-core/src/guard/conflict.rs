//! Changes while a question was open: the error for them, and the failures that indicate them.

use super::Op;
use crate::{Error, ErrorKind, Result};

/// Returns the outcome of an approved call; a failure that indicates a changed target becomes a conflict.
pub(super) fn as_approved<T>(op: Op<'_>, outcome: Result<T>) -> Result<T> {
    outcome.map_err(|error| match (op, error.kind()) {
        (
            Op::Read(_) | Op::Write(_) | Op::Change(_) | Op::Remove(_) | Op::Rename { .. } | Op::Copy { .. },
            ErrorKind::Moved | ErrorKind::Conflict | ErrorKind::NotFound | ErrorKind::AlreadyExists,
        ) => changed_meanwhile(op),
        _ => error,
    })
}

/// Returns the error for a target that changed after the question was asked.
pub(super) fn changed_meanwhile(op: Op<'_>) -> Error {
    let path = op.paths().next().map(|at| at.typed.to_string()).unwrap_or_default();
    Error::new(ErrorKind::Conflict, format!("cannot {} `{path}`: it changed while approval was pending", op.name()))
        .hint("nothing was done; look at what is there now, and repeat the call")
}
