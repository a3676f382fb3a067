//! Proves that a file in a container is a file of the host, where their numbers cannot show it.
//!
//! A daemon in a virtual machine (Docker Desktop, colima) shares directories of the host through a file system with
//! device and inode numbers of its own. What both sides see is the content: a directory is proven by a new file with
//! a random name that appears on the other side, a file by its bytes. A directory in which this user cannot create a
//! file cannot be proven: equal names could be those of a copy.

use std::{
    fs::File,
    io::{ErrorKind as IoErrorKind, Read, Write},
    os::{fd::OwnedFd, unix::fs::MetadataExt},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, fchmod, open, openat, unlinkat},
    io::Errno,
};
use workden_core::{Backend, BackendExt, ByteRange, Error, ErrorKind, Result, Symlink, VirtualPath, sandbox::InodeId};

use super::protected_paths::HostFile;
use crate::token;

/// How much of a file is compared, beside its size.
const COMPARED_BYTES: u64 = 1024 * 1024;

/// Whether the file at this path of the container is the file of the host.
///
/// # Errors
///
/// What the host answers for its own file; a path that the container cannot show is not the same.
pub(super) async fn is_same(container: &impl Backend, at: &VirtualPath, file: &HostFile) -> Result<bool> {
    let host = file.clone();
    let opened = blocking(move || open_unchanged(&host)).await?;
    let Some(opened) = opened else { return Ok(false) };
    if !opened.metadata().map_err(|error| unreadable(&error))?.is_dir() {
        return has_same_content(container, at, opened).await;
    }
    let name = format!(".workden-{}", token::random_digits(16)?);
    let directory = opened.try_clone().map_err(|error| unreadable(&error))?;
    let token = match blocking(move || Token::create(directory.into(), name)).await? {
        Ok(token) => token,
        Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => return Err(unprovable(at, errno)),
        Err(errno) => return Err(unreadable(&errno.into())),
    };
    let seen = container.read_bytes(&at.child(&token.name)?).await;
    let is_same = seen.is_ok_and(|seen| seen == token.name.as_bytes());
    blocking(move || drop(token)).await?;
    Ok(is_same)
}

/// Opens the file of the host, unless it was replaced since it was looked at.
fn open_unchanged(file: &HostFile) -> Option<File> {
    let opened =
        open(&file.path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    let opened = File::from(opened.ok()?);
    let now = opened.metadata().ok()?;
    (InodeId { device: now.dev(), inode: now.ino() } == file.id).then_some(opened)
}

/// A file with a random name, removed when dropped. Its content is its name.
struct Token {
    directory: OwnedFd,
    name: String,
}

impl Token {
    fn create(directory: OwnedFd, name: String) -> std::result::Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Commands may run as another user, and must read it.
        let readable = Mode::from_raw_mode(0o644);
        let mut file = File::from(openat(&directory, &name, flags, readable)?);
        let token = Self { directory, name };
        // Whatever the umask of this process is.
        fchmod(&file, readable)?;
        match file.write_all(token.name.as_bytes()) {
            Ok(()) => Ok(token),
            Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}

async fn has_same_content(container: &impl Backend, at: &VirtualPath, file: File) -> Result<bool> {
    let (ours, size) = blocking(move || {
        let mut ours = Vec::new();
        let size = file.metadata().map(|file| file.len());
        file.take(COMPARED_BYTES).read_to_end(&mut ours).and_then(|_| Ok((ours, size?)))
    })
    .await?
    .map_err(|error| unreadable(&error))?;
    let part = ByteRange::Part { offset: 0, length: COMPARED_BYTES };
    let theirs = async { container.read(&container.resolve(at, Symlink::NoFollow).await?, part).await }.await;
    Ok(theirs.is_ok_and(|theirs| theirs.size == size && theirs.bytes == ours))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let interrupted = |_| Error::new(ErrorKind::Io, "checking a mount was interrupted");
    tokio::task::spawn_blocking(work).await.map_err(interrupted)
}

fn unprovable(at: &VirtualPath, errno: Errno) -> Error {
    let why = if errno == Errno::ROFS { "its file system is read-only" } else { "this user may not write to it" };
    let sentence = format!("cannot verify the mount at `{at}`: the daemon sees other file numbers, and {why}");
    Error::new(ErrorKind::Unsupported, sentence).hint("mount a directory that you may write to, or a single file")
}

fn unreadable(error: &std::io::Error) -> Error {
    let kind = if error.kind() == IoErrorKind::PermissionDenied { ErrorKind::PermissionDenied } else { ErrorKind::Io };
    Error::new(kind, format!("cannot check a mounted directory: {}", error.kind()))
}
