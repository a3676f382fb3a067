//! The errors of the operating system in workden's words: a kind and a virtual path, never a host path.

use rustix::io::Errno;
use workden_core::{Error, ErrorKind, VirtualPath};

use super::root::Root;

/// Returns the error for a call that failed on this path.
pub(super) fn refused(verb: &str, path: &VirtualPath, errno: Errno) -> Error {
    let say = |kind, why: &str| Error::new(kind, format!("cannot {verb} `{path}`: {why}"));
    let refused = match errno {
        Errno::NOENT => Error::not_found(verb, path),
        Errno::NOTDIR => Error::not_directory(verb, path),
        Errno::ISDIR => Error::is_directory(verb, path),
        Errno::EXIST => Error::already_exists(verb, path),
        Errno::NOTEMPTY => Error::not_empty(verb, path),
        Errno::ACCESS | Errno::PERM => say(ErrorKind::PermissionDenied, "the operating system does not permit it")
            .hint("use another path, or ask the owner of the workspace to change its permissions"),
        Errno::ROFS => say(ErrorKind::ReadOnly, "it is on a read-only file system").hint("choose another place"),
        Errno::NOSPC | Errno::DQUOT => {
            say(ErrorKind::NoSpace, "there is no space left").hint("remove what is no longer needed")
        }
        Errno::FBIG => {
            say(ErrorKind::TooLarge, "it is larger than a file may be here").hint("write it in several files")
        }
        Errno::LOOP | Errno::XDEV | Errno::AGAIN | Errno::STALE => moved(verb, path),
        Errno::NAMETOOLONG => say(ErrorKind::InvalidPath, "the name is too long").hint("choose a shorter name"),
        Errno::BUSY => say(ErrorKind::Busy, "it is in use, or something is mounted there")
            .hint("try again later, or choose another path"),
        Errno::MFILE | Errno::NFILE => say(ErrorKind::Busy, "too many files are open").hint("try again"),
        other => say(ErrorKind::Io, &answered(other)),
    };
    let cause = std::io::Error::from(errno);
    // Everyday errors concern only the caller; a failing disk also concerns operators.
    if matches!(refused.kind(), ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::Busy) {
        tracing::debug!(error = &cause as &dyn std::error::Error, path = %path, verb, "file call failed");
    }
    refused.with_source(cause)
}

/// Returns why the host directory of a workspace could not be opened: a kind and a few words, without the host path.
pub(super) fn root_refused(errno: Errno) -> (ErrorKind, String) {
    match errno {
        Errno::NOENT => (ErrorKind::NotFound, "there is no such directory".to_owned()),
        Errno::NOTDIR => (ErrorKind::NotDirectory, "it is not a directory".to_owned()),
        Errno::ACCESS | Errno::PERM => {
            (ErrorKind::PermissionDenied, "the operating system does not permit it".to_owned())
        }
        Errno::LOOP => (ErrorKind::LinkLoop, "its links go in circles".to_owned()),
        Errno::NAMETOOLONG | Errno::INVAL => (ErrorKind::InvalidPath, "it is not a path".to_owned()),
        Errno::MFILE | Errno::NFILE => (ErrorKind::Busy, "too many files are open".to_owned()),
        other => (ErrorKind::Io, answered(other)),
    }
}

/// Describes an error code without a message here, by its name if that is known.
fn answered(errno: Errno) -> String {
    let name = match errno {
        Errno::IO => "EIO, an error of the device",
        Errno::INVAL => "EINVAL, which it says of names that the file system cannot hold, too",
        Errno::NOMEM => "ENOMEM, no memory left",
        Errno::NOSYS => "ENOSYS, not implemented",
        Errno::OPNOTSUPP => "EOPNOTSUPP, not supported",
        Errno::TIMEDOUT => "ETIMEDOUT, no answer in time",
        Errno::MLINK => "EMLINK, too many links",
        Errno::OVERFLOW => "EOVERFLOW, a number too large",
        other => return format!("the operating system answered with error {}", other.raw_os_error()),
    };
    format!("the operating system answered {name}")
}

/// Adds the file in the path to an error about a path through a file.
pub(super) fn with_file_on_the_way(root: &Root, path: &VirtualPath, error: Error) -> Error {
    if error.kind() != ErrorKind::NotDirectory {
        return error;
    }
    match root.file_above(path) {
        Some(file) => error.because_of_file(path, &file),
        None => error,
    }
}

/// Returns the error for a path that changed since it was resolved.
pub(super) fn moved(verb: &str, path: &VirtualPath) -> Error {
    Error::new(ErrorKind::Moved, format!("cannot {verb} `{path}`: it was moved or replaced while it was being opened"))
        .hint("try again")
}

/// Returns the error for a file on which another process holds a lease, so that opening it would wait.
pub(super) fn leased(verb: &str, path: &VirtualPath) -> Error {
    Error::new(ErrorKind::Busy, format!("cannot {verb} `{path}`: another process holds a lease on it"))
        .hint("try again later, or end the process that holds it")
}

/// Returns the error for a FIFO, a socket or a device.
pub(super) fn not_regular(verb: &str, path: &VirtualPath) -> Error {
    Error::new(ErrorKind::NotRegular, format!("cannot {verb} `{path}`: it is a FIFO, a socket or a device"))
        .hint("only regular files are read and written")
}
