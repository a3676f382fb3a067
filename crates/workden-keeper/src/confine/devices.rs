//! A minimal /dev: the harmless devices of the host, terminals of the sandbox's own, and the usual links.

use std::os::fd::OwnedFd;

use rustix::{io::Errno, mount::MountAttrFlags};
use workden_core::Error;

use super::{
    detached_mounts::{clone_as_it_is, new_file_system},
    errors::refused,
    root::NewRoot,
};

/// Devices that give access to nothing.
const HARMLESS: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The most terminals of a sandbox: the machine has a few thousand in all.
const MOST_TERMINALS: &str = "512";

const LINKS: [(&str, &str); 5] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/ptmx", "pts/ptmx"),
];

/// The devices of the host to show.
pub(super) struct Devices(Vec<(&'static str, OwnedFd)>);

/// Clones the devices, while the host can still be seen.
pub(super) fn gather() -> Result<Devices, Error> {
    let clones = HARMLESS.into_iter().map(|name| Ok((name, clone_as_it_is(format!("/dev/{name}"))?)));
    clones.collect::<Result<_, Errno>>().map(Devices).map_err(|errno| refused("mount the devices", errno))
}

impl Devices {
    /// Creates /dev in the new root.
    pub(super) fn place(self, root: &NewRoot) -> Result<(), Error> {
        self.try_place(root).map_err(|errno| refused("create /dev", errno))
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
