//! The words of what can go wrong while a confinement is made.
//!
//! Invariant: a sentence names virtual places and our own steps, never a path of the host.

use rustix::io::Errno;
use workden_core::{Error, ErrorKind};

/// Where a reader learns more about what this machine can do.
pub(super) const ASK_DOCTOR: &str = "`workden doctor` says what this machine lacks, and how to get it";

/// A step of the set-up that the kernel refused.
pub(crate) fn refused(step: &str, errno: Errno) -> Error {
    let kind = match errno {
        Errno::PERM | Errno::ACCESS => ErrorKind::PermissionDenied,
        Errno::NOSYS | Errno::OPNOTSUPP => ErrorKind::Unsupported,
        Errno::NOSPC => ErrorKind::NoSpace,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("the sandbox cannot start: {step}: {}", in_words(errno))).hint(ASK_DOCTOR)
}

/// Something about a place that the caller named.
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
        Errno::ROFS => error.hint(
            "nothing is there yet, and it cannot be made where everything is read-only: name a place that exists, or \
             one like `/data`",
        ),
        _ => error,
    }
}

/// The errno of an I/O error.
pub(super) fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// An error of the kernel in words.
pub(crate) fn in_words(errno: Errno) -> String {
    let words = match errno {
        Errno::PERM => "it is not permitted",
        Errno::ACCESS => "permission denied",
        Errno::NOENT => "there is no such file or directory",
        Errno::NOTDIR => "it is not a directory",
        Errno::LOOP => "a symbolic link is in the way",
        Errno::INVAL => "the kernel does not take it",
        Errno::NOSYS | Errno::OPNOTSUPP => "the kernel does not have it",
        Errno::NOSPC => "there is no room, or a ceiling of the kernel is reached",
        Errno::BUSY => "it is in use",
        Errno::ROFS => "the place is read-only",
        Errno::USERS => "there are too many namespaces",
        _ => return format!("error {} of the kernel", errno.raw_os_error()),
    };
    words.to_owned()
}
