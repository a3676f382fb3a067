//! The metadata that a file keeps when its content is replaced: mode, owner, extended attributes and ACLs.
//!
//! Set-user-ID, set-group-ID and file capabilities are not kept: as with an ordinary write, new content does not
//! inherit the privileges of the old content.

use std::{ffi::CStr, os::fd::BorrowedFd};

use rustix::{
    buffer::spare_capacity,
    fs::{self, Gid, Mode, Stat, Uid, XattrFlags},
    io::Errno,
};

/// The attribute in which Linux stores a file's access control list.
const ACCESS_LIST: &CStr = c"system.posix_acl_access";

/// Copies the metadata of the replaced file to the new file.
pub(super) fn carry_over(old: BorrowedFd<'_>, stat: &Stat, new: BorrowedFd<'_>) -> Result<(), Errno> {
    let fresh = fs::fstat(new)?;
    let mut mode = Mode::from_raw_mode(stat.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
    if (fresh.st_uid, fresh.st_gid) != (stat.st_uid, stat.st_gid) {
        let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        // Only root can change the owner; otherwise the writer becomes the owner. The group stays if the writer is a
        // member.
        let given = fs::fchown(new, Some(owner), Some(group)).or_else(|_| fs::fchown(new, None, Some(group)));
        if given.is_err() && fresh.st_gid != stat.st_gid {
            // The new group must not inherit the permissions of the old one: it gets those of all other users.
            let others = Mode::from_raw_mode((stat.st_mode & 0o007) << 3);
            mode &= others | Mode::RWXU | Mode::RWXO;
        }
    }
    carry_attributes(old, new)?;
    fs::fchmod(new, mode)
}

fn carry_attributes(old: BorrowedFd<'_>, new: BorrowedFd<'_>) -> Result<(), Errno> {
    let names = match sized(|buffer| fs::flistxattr(old, spare_capacity(buffer)), || fs::flistxattr_query(old)) {
        Ok(names) => names,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    // The default ACL of the directory must not replace the missing ACL of the old file.
    if !names.split(|byte| *byte == 0).any(|name| name == ACCESS_LIST.to_bytes()) {
        match fs::fremovexattr(new, ACCESS_LIST) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(errno) => return Err(errno),
        }
    }
    for name in names.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok()) {
        let is_label = name.to_bytes().starts_with(b"security.");
        if name == c"security.capability" || name.to_bytes().starts_with(b"trusted.") {
            continue;
        }
        let value = sized(|buffer| fs::fgetxattr(old, name, spare_capacity(buffer)), || fs::fgetxattr_query(old, name));
        match value.and_then(|value| fs::fsetxattr(new, name, &value, XattrFlags::empty())) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            // Only the system can set labels.
            Err(Errno::PERM | Errno::ACCESS) if is_label => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Reads a value whose size has to be queried first, and may change in between.
pub(super) fn sized(
    read: impl Fn(&mut Vec<u8>) -> Result<usize, Errno>,
    ask: impl Fn() -> Result<usize, Errno>,
) -> Result<Vec<u8>, Errno> {
    loop {
        let size = ask()?;
        if size == 0 {
            return Ok(Vec::new());
        }
        let mut buffer = Vec::with_capacity(size);
        match read(&mut buffer) {
            Ok(_) => return Ok(buffer),
            Err(Errno::RANGE) => {}
            Err(errno) => return Err(errno),
        }
    }
}
