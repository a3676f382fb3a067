//! A /proc that shows only the processes of the sandbox and is read-only: no kernel setting or trigger can be
//! written.

use rustix::{io::Errno, mount::MountAttrFlags};
use workden_core::{Error, ErrorKind};

use super::{
    detached_mounts::{attach, clone_of_open, new_file_system},
    errors::refused,
    root::NewRoot,
};

/// Files with information about the machine that no program needs.
const HIDDEN_FILES: [&str; 10] = [
    "kcore",
    "keys",
    "key-users",
    "kallsyms",
    "timer_list",
    "sysrq-trigger",
    "config.gz",
    // May contain tokens of the machine.
    "cmdline",
    "locks",
    "diskstats",
];
/// Directories with such information.
const HIDDEN_DIRECTORIES: [&str; 4] = ["acpi", "scsi", "bus", "pressure"];

/// Creates /proc in the new root. `empty` hides files and directories.
pub(super) fn place(root: &NewRoot, empty: &super::protected_paths::EmptyMounts) -> Result<(), Error> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NODEV
        .union(MountAttrFlags::MOUNT_ATTR_NOEXEC)
        .union(MountAttrFlags::MOUNT_ATTR_RDONLY);
    let made = new_file_system("proc", &[], attributes).map_err(|errno| match errno {
        Errno::PERM => {
            let sentence = "the sandbox cannot start: cannot create /proc: not permitted";
            let hint = "in a container, parts of /proc are covered: start it with \
                        `--security-opt systempaths=unconfined`, and see `workden doctor`";
            Error::new(ErrorKind::Unsupported, sentence).hint(hint)
        }
        errno => refused("create /proc", errno),
    })?;
    let hide = |names: &[&str], cover| {
        names.iter().try_for_each(|name| match root.place(&format!("proc/{name}")) {
            Ok(place) => attach(clone_of_open(cover)?, place),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        })
    };
    root.mount_on_directory("proc", made)
        .and_then(|()| hide(&HIDDEN_FILES, &empty.file))
        .and_then(|()| hide(&HIDDEN_DIRECTORIES, &empty.directory))
        .map_err(|errno| refused("create /proc", errno))
}
