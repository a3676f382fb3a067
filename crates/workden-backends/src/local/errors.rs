//! What the operating system says, in workden's words: a kind, a virtual path, never a host path.

use rustix::io::Errno;
use workden_core::{Error, ErrorKind, VirtualPath};

/// The error for a call that failed on this path.
pub(super) fn refused(verb: &str, path: &VirtualPath, errno: Errno) -> Error {
    let say = |kind, why: &str| Error::new(kind, format!("cannot {verb} `{path}`: {why}"));
    match errno {
        Errno::NOENT => Error::not_found(verb, path),
        Errno::NOTDIR => Error::not_directory(verb, path),
        Errno::ISDIR => Error::is_directory(verb, path),
        Errno::EXIST => Error::already_exists(verb, path),
        Errno::NOTEMPTY => say(ErrorKind::NotEmpty, "the directory is not empty")
            .hint("remove what is in it first, or remove the whole tree"),
        Errno::ACCESS | Errno::PERM => say(ErrorKind::PermissionDenied, "the operating system does not permit it"),
        Errno::ROFS => say(ErrorKind::ReadOnly, "it is on a read-only file system"),
        Errno::NOSPC | Errno::DQUOT => {
            say(ErrorKind::NoSpace, "there is no space left").hint("remove what is no longer needed")
        }
        Errno::FBIG => say(ErrorKind::TooLarge, "it is larger than a file may be here"),
        Errno::LOOP | Errno::XDEV | Errno::AGAIN | Errno::STALE => moved(verb, path),
        Errno::NAMETOOLONG => say(ErrorKind::InvalidPath, "the name is too long"),
        Errno::BUSY => say(ErrorKind::Busy, "it is in use, or something is mounted there"),
        Errno::MFILE | Errno::NFILE => say(ErrorKind::Busy, "too many files are open").hint("try again"),
        other => say(ErrorKind::Io, &other.to_string()),
    }
}

/// The error for a path that is no longer what it was when it was resolved.
pub(super) fn moved(verb: &str, path: &VirtualPath) -> Error {
    Error::new(ErrorKind::Moved, format!("cannot {verb} `{path}`: it was moved or replaced while it was being opened"))
        .hint("try again")
}

/// The error for a FIFO, a socket or a device.
pub(super) fn not_regular(verb: &str, path: &VirtualPath) -> Error {
    Error::new(ErrorKind::NotRegular, format!("cannot {verb} `{path}`: it is a FIFO, a socket or a device"))
        .hint("only regular files are read and written")
}

/// The error for what cannot be done to the root.
pub(super) fn root_stays(verb: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("cannot {verb} `/`, the root of the workspace"))
}
