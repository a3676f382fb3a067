//! A /dev with what programs need and nothing that is a way to the machine: the harmless devices of
//! the host, terminals of its own, and the usual links.

use std::os::fd::OwnedFd;

use rustix::{io::Errno, mount::MountAttrFlags};
use workden_core::Error;

use super::{
    detached_mounts::{clone_as_it_is, new_file_system},
    errors::refused,
    root::NewRoot,
};

/// The devices that hold nothing of anybody's.
const HARMLESS: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Terminals that a sandbox may have: the machine has some thousands for everybody.
const MOST_TERMINALS: &str = "512";

const LINKS: [(&str, &str); 5] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/ptmx", "pts/ptmx"),
];

/// The devices of the host that are to be shown.
pub(super) struct Devices(Vec<(&'static str, OwnedFd)>);

/// Looks at the host, while it can still be seen.
pub(super) fn gather() -> Result<Devices, Error> {
    let clones = HARMLESS.into_iter().map(|name| Ok((name, clone_as_it_is(format!("/dev/{name}"))?)));
    clones.collect::<Result<_, Errno>>().map(Devices).map_err(|errno| refused("the devices that programs need", errno))
}

impl Devices {
    /// Makes /dev in the new root.
    pub(super) fn place(self, root: &NewRoot) -> Result<(), Error> {
        self.try_place(root).map_err(|errno| refused("a /dev of its own", errno))
    }

    fn try_place(self, root: &NewRoot) -> Result<(), Errno> {
        root.directory("dev")?;
        for (name, tree) in self.0 {
            root.mount_on_file(&format!("dev/{name}"), tree)?;
        }
        LINKS.into_iter().try_for_each(|(path, target)| root.link(path, target))?;
        let options = [("ptmxmode", "0666"), ("mode", "0620"), ("max", MOST_TERMINALS)];
        let terminals = new_file_system("devpts", &options, MountAttrFlags::MOUNT_ATTR_NOEXEC)?;
        root.mount_on_directory("dev/pts", terminals)
    }
}
