//! Error messages for setting up a confinement.
//!
//! Invariant: a message names virtual paths and our own steps, never a path of the host.

use rustix::io::Errno;
use workden_core::{Error, ErrorKind};

/// The hint that leads to a check of this machine.
pub(super) const ASK_DOCTOR: &str = "run `workden doctor` to see what this machine lacks";

/// Returns the error for a setup step that the kernel refused.
pub(crate) fn refused(step: &str, errno: Errno) -> Error {
    let kind = match errno {
        Errno::PERM | Errno::ACCESS => ErrorKind::PermissionDenied,
        Errno::NOSYS | Errno::OPNOTSUPP => ErrorKind::Unsupported,
        Errno::NOSPC => ErrorKind::NoSpace,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("the sandbox cannot start: cannot {step}: {}", in_words(errno))).hint(ASK_DOCTOR)
}

/// Returns the error for a path that the caller named.
pub(crate) fn at_place(place: &str, errno: Errno) -> Error {
    let kind = match errno {
        Errno::NOENT => ErrorKind::NotFound,
        Errno::NOTDIR => ErrorKind::NotDirectory,
        Errno::ROFS => ErrorKind::ReadOnly,
        Errno::LOOP => ErrorKind::LinkLoop,
        Errno::PERM | Errno::ACCESS => ErrorKind::PermissionDenied,
        _ => ErrorKind::Io,
    };
    let error = Error::new(kind, format!("cannot mount `{place}`: {}", in_words(errno)));
    match errno {
        Errno::ROFS => error.hint("use a path that exists, or a new one like `/data`"),
        _ => error,
    }
}

/// Returns the errno of an I/O error.
pub(super) fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Returns the message for a kernel error.
pub(crate) fn in_words(errno: Errno) -> String {
    let words = match errno {
        Errno::PERM => "not permitted",
        Errno::ACCESS => "permission denied",
        Errno::NOENT => "no such file or directory",
        Errno::NOTDIR => "not a directory",
        Errno::LOOP => "a symbolic link is on the path",
        Errno::INVAL => "rejected by the kernel",
        Errno::NOSYS | Errno::OPNOTSUPP => "not supported by the kernel",
        Errno::NOSPC => "no space left, or a kernel limit is reached",
        Errno::BUSY => "in use",
        Errno::ROFS => "the path is read-only",
        Errno::USERS => "too many namespaces",
        _ => return format!("kernel error {}", errno.raw_os_error()),
    };
    words.to_owned()
}
