//! Directories in memory that end with the sandbox: /tmp, the home, /dev/shm, the logs of commands, and an ephemeral
//! workspace.

use std::os::fd::{AsFd, OwnedFd};

use rustix::{
    fs::{AtFlags, Gid, Mode, Uid, chmodat, chownat, mkdirat},
    io::Errno,
    mount::{MountAttrFlags, OpenTreeFlags, open_tree},
};
use workden_core::Error;

use super::{
    detached_mounts::{attach, clone_of_open, new_file_system},
    errors::refused,
    ids::Ids,
    layout::{HOME, LOGS, Purpose},
    root::NewRoot,
    sources::SourceKind,
};
use crate::sys::confine::{MountScope, attribute, set_mount_attributes};

/// Bytes of all logs together.
const LOGS_SIZE: u64 = 256 * 1024 * 1024;
/// Bytes of a file system in memory per file name that it may hold.
const BYTES_A_NAME: u64 = 2048;
const LEAST_NAMES: u64 = 1024;

/// Creates /tmp, the home and /dev/shm, which share one size limit.
pub(super) fn place(root: &NewRoot, ids: Ids, most_bytes: Option<u64>) -> Result<(), Error> {
    shared(root, ids, most_bytes).map_err(|errno| refused("create /tmp", errno))
}

/// Creates the directory of logs: a writable mount, covered by a read-only one of the same files. Returns the
/// descriptor of the writable one, to which no path leads. The directory cannot be listed, so commands only find logs
/// whose names they were told.
pub(super) fn logs(root: &NewRoot, purpose: Purpose, ids: Ids) -> Result<Option<OwnedFd>, Error> {
    let made = match purpose {
        Purpose::OneCommand => root.directory(LOGS).map(|_| None),
        Purpose::Keeper => log_mounts(root, ids).map(Some),
    };
    made.map_err(|errno| refused("create the log directory", errno))
}

fn log_mounts(root: &NewRoot, ids: Ids) -> Result<OwnedFd, Errno> {
    let writable = memory(ids, Some(LOGS_SIZE), "0311")?;
    root.mount_on_directory(LOGS, &writable)?;
    let shown = clone_of_open(&writable)?;
    set_mount_attributes(&shown, MountScope::Mount, attribute::READ_ONLY, None)?;
    attach(shown, root.place(LOGS)?)?;
    Ok(writable)
}

/// Creates a workspace in memory.
pub(super) fn workspace(root: &NewRoot, ids: Ids, at: &str, most_bytes: u64) -> Result<(), Error> {
    memory(ids, Some(most_bytes), "0755")
        .and_then(|tree| attach(tree, root.place_for(at, SourceKind::Directory)?))
        .map_err(|errno| refused("create a workspace in memory", errno))
}

fn shared(root: &NewRoot, ids: Ids, most_bytes: Option<u64>) -> Result<(), Errno> {
    let all = memory(ids, most_bytes, "0755")?;
    root.directory("home")?;
    // Mounted where the part for /tmp covers it, so that no path shows the whole.
    root.mount_on_directory("tmp", &all)?;
    root.mount_on_directory(HOME, part(&all, "home", ids)?)?;
    let (shm, tmp) = (part(&all, "shm", ids)?, part(&all, "tmp", ids)?);
    for name in ["shm", "tmp"] {
        // `umask` would not allow this mode.
        chmodat(&all, name, Mode::from_raw_mode(0o1777), AtFlags::empty())?;
    }
    root.mount_on_directory("dev/shm", shm)?;
    attach(tmp, root.place("tmp")?)
}

/// Returns a directory of a file system in memory, as a mount of its own.
fn part(all: &OwnedFd, name: &str, ids: Ids) -> Result<OwnedFd, Errno> {
    mkdirat(all, name, Mode::from_raw_mode(0o755))?;
    if let Ids::OfSandbox(id) = ids {
        chownat(all, name, Some(Uid::from_raw(id)), Some(Gid::from_raw(id)), AtFlags::empty())?;
    }
    open_tree(all.as_fd(), name, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)
}

/// Creates a file system in memory that belongs to the user of the commands.
fn memory(ids: Ids, most_bytes: Option<u64>, mode: &str) -> Result<OwnedFd, Errno> {
    let size = most_bytes.map(|bytes| bytes.to_string());
    let owner = match ids {
        Ids::OfSandbox(id) => Some(id.to_string()),
        // Created by the user of the commands.
        Ids::OfStarter { .. } => None,
    };
    // A file name uses kernel memory even if the file is empty.
    let names = most_bytes.map(|bytes| (bytes / BYTES_A_NAME).max(LEAST_NAMES).to_string());
    let mut options = vec![("mode", mode)];
    if let Some((size, names)) = size.as_ref().zip(names.as_ref()) {
        options.extend([("size", size.as_str()), ("nr_inodes", names.as_str())]);
    }
    if let Some(owner) = &owner {
        options.extend([("uid", owner.as_str()), ("gid", owner.as_str())]);
    }
    new_file_system("tmpfs", &options, MountAttrFlags::MOUNT_ATTR_NODEV)
}
