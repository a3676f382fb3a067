//! Protects symbolic links to git directories by mounting a file over them that names the same directory.
//!
//! A directory cannot be mounted over a link, and a link that is not a mount point can be replaced. A file can be
//! mounted there, and git reads `gitdir: path` in it as it would follow the link.

use rustix::{
    fs::{CWD, FileType, Gid, Mode, OFlags, Uid, fchown, fstat, openat, readlinkat},
    io::{Errno, write},
};
use workden_core::{Error, VirtualPath};

use super::{
    detached_mounts::{attach, clone_of_open},
    errors::at_place,
    ids::Ids,
    protected_paths::pin_in_place,
};
use crate::sys::confine::{MountScope, attribute, set_mount_attributes};

/// Covers these links, in the current root, which is still writable.
pub(super) fn protect(places: &[VirtualPath], ids: Ids) -> Result<(), Error> {
    for (number, path) in places.iter().enumerate() {
        cover(number, path, ids).map_err(|errno| at_place(path.as_str(), errno))?;
    }
    Ok(())
}

fn cover(number: usize, path: &VirtualPath, ids: Ids) -> Result<(), Errno> {
    let as_it_is = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let link = match openat(CWD, path.as_str(), as_it_is, Mode::empty()) {
        Ok(link) => link,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    if FileType::from_raw_mode(fstat(&link)?.st_mode) != FileType::Symlink {
        return Ok(());
    }
    let target = readlinkat(&link, "", Vec::new())?;
    let cover = format!("/run/git-link-{number}");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(CWD, &cover, flags, Mode::from_raw_mode(0o444))?;
    let content = [b"gitdir: ", target.as_bytes(), b"\n"].concat();
    let mut rest = content.as_slice();
    while !rest.is_empty() {
        let written = write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    // Git refuses files of another owner.
    if let Ids::OfSandbox(id) = ids {
        fchown(&file, Some(Uid::from_raw(id)), Some(Gid::from_raw(id)))?;
    }
    let tree = clone_of_open(openat(CWD, &cover, as_it_is, Mode::empty())?)?;
    set_mount_attributes(&tree, MountScope::Mount, attribute::READ_ONLY, None)?;
    attach(tree, pin_in_place(link)?)
}
