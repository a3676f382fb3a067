//! Mounts that are not attached yet: clones of host directories, and new file systems in memory. A clone is made
//! before anything is covered, so that the sandbox shows exactly what was named.
//!
//! Invariant: no clone honours setuid bits or devices, and a read-only clone is read-only with all mounts below it.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::CWD,
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_string,
        fsmount, fsopen, move_mount, open_tree,
    },
};
use workden_core::sandbox::MountAccess;

use crate::sys::confine::{MountScope, attribute, set_mount_attributes};

/// Clones a path of the host with all mounts below it. For paths that only the host can change.
pub(super) fn clone_of(source: &Path, access: MountAccess) -> Result<OwnedFd, Errno> {
    restricted(clone_as_it_is(source)?, access)
}

/// Clones an open file or directory of the host with all mounts below it.
pub(super) fn clone_with(source: impl AsFd, access: MountAccess) -> Result<OwnedFd, Errno> {
    restricted(clone_of_open(source)?, access)
}

fn restricted(tree: OwnedFd, access: MountAccess) -> Result<OwnedFd, Errno> {
    let mut set = attribute::NO_SETUID | attribute::NO_DEVICES;
    if access == MountAccess::ReadOnly {
        set |= attribute::READ_ONLY;
    }
    set_mount_attributes(&tree, MountScope::Tree, set, None)?;
    Ok(tree)
}

/// Makes a clone show ids as a user namespace maps them.
pub(super) fn map_ids(tree: &OwnedFd, mapping: &OwnedFd) -> Result<(), Errno> {
    set_mount_attributes(tree, MountScope::Tree, 0, Some(mapping.as_fd()))
}

/// Clones a path with its attributes unchanged: for device nodes, and for our own mounts.
pub(super) fn clone_as_it_is(source: impl AsRef<Path>) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, source.as_ref(), flags)
}

/// Clones the mount behind a descriptor with its attributes unchanged.
pub(super) fn clone_of_open(place: impl AsFd) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(place, "", flags)
}

/// Creates a new file system of this kind.
pub(super) fn new_file_system(kind: &str, options: &[(&str, &str)], more: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(context.as_fd(), *key, *value)?;
    }
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | more;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Attaches a mount at the place that a descriptor stands for.
pub(super) fn attach(tree: impl AsFd, place: impl AsFd) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", place, "", flags)
}
