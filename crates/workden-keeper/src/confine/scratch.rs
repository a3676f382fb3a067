//! Places that live and die with the sandbox, in memory: /tmp, the home, /dev/shm, the logs of
//! commands, and a workspace that is nobody's directory.

use std::os::fd::{AsFd, OwnedFd};

use rustix::{
    fs::{AtFlags, Gid, Mode, Uid, chmodat, chownat, mkdirat},
    io::Errno,
    mount::{MountAttrFlags, OpenTreeFlags, open_tree},
};
use workden_core::Error;

use super::{
    errors::refused,
    etc::HOME,
    ids::Ids,
    root::NewRoot,
    sources::Kind,
    trees::{attach, new_file_system},
};

/// Where the logs of commands are.
pub(super) const LOGS: &str = "/run/workden";
/// Bytes that all logs together may have.
const LOGS_SIZE: u64 = 256 * 1024 * 1024;
/// Bytes of a file system in memory for which it may have one more name.
const BYTES_A_NAME: u64 = 2048;
const LEAST_NAMES: u64 = 1024;

/// Makes /tmp, the home and /dev/shm, which share one ceiling, and the place for logs.
pub(super) fn place(root: &NewRoot, ids: Ids, most_bytes: Option<u64>) -> Result<(), Error> {
    let placed = shared(root, ids, most_bytes).and_then(|()| {
        let logs = memory(ids, Some(LOGS_SIZE))?;
        attach(logs, root.directory(LOGS)?)
    });
    placed.map_err(|errno| refused("a /tmp of its own", errno))
}

/// A workspace in memory.
pub(super) fn workspace(root: &NewRoot, ids: Ids, at: &str, most_bytes: u64) -> Result<(), Error> {
    memory(ids, Some(most_bytes))
        .and_then(|tree| attach(tree, root.place_for(at, Kind::Directory)?))
        .map_err(|errno| refused("a workspace in memory", errno))
}

fn shared(root: &NewRoot, ids: Ids, most_bytes: Option<u64>) -> Result<(), Errno> {
    let all = memory(ids, most_bytes)?;
    let tmp = root.directory("tmp")?;
    root.directory("home")?;
    // It is mounted where its part for /tmp covers it: nobody sees the whole.
    attach(&all, &tmp)?;
    for (name, place, mode) in [
        ("home", root.directory(HOME)?, 0o755),
        ("shm", root.directory("dev/shm")?, 0o1777),
        ("tmp", root.place("tmp")?, 0o1777),
    ] {
        mkdirat(&all, name, Mode::from_raw_mode(0o755))?;
        if let Ids::OfSandbox(id) = ids {
            chownat(&all, name, Some(Uid::from_raw(id)), Some(Gid::from_raw(id)), AtFlags::empty())?;
        }
        chmodat(&all, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        attach(open_tree(all.as_fd(), name, flags)?, place)?;
    }
    Ok(())
}

/// A file system in memory that belongs to the commands.
fn memory(ids: Ids, most_bytes: Option<u64>) -> Result<OwnedFd, Errno> {
    let size = most_bytes.map(|bytes| bytes.to_string());
    let owner = match ids {
        Ids::OfSandbox(id) => Some(id.to_string()),
        // Made by the one who uses it.
        Ids::OfStarter { .. } => None,
    };
    // A name costs memory of the kernel, also when nothing is in it.
    let names = most_bytes.map(|bytes| (bytes / BYTES_A_NAME).max(LEAST_NAMES).to_string());
    let mut options = vec![("mode", "0755")];
    if let Some((size, names)) = size.as_ref().zip(names.as_ref()) {
        options.extend([("size", size.as_str()), ("nr_inodes", names.as_str())]);
    }
    if let Some(owner) = &owner {
        options.extend([("uid", owner.as_str()), ("gid", owner.as_str())]);
    }
    new_file_system("tmpfs", &options, MountAttrFlags::MOUNT_ATTR_NODEV)
}
