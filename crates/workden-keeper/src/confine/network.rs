//! A network namespace of a sandbox's own, in which there is nothing but a loopback, which is up.

use std::os::fd::{AsFd, OwnedFd};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    net::{AddressFamily, SocketFlags, SocketType, socket_with},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use workden_core::Error;

use super::errors::refused;
use crate::sys::confine::{loopback_up, new_network_namespace};

/// Leaves the network of this process for a new one: a descriptor of that. To be called by a process that
/// needs no network itself.
pub(super) fn make() -> Result<OwnedFd, Error> {
    new_network_namespace()
        .and_then(|()| openat(CWD, "/proc/self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))
        .map_err(|errno| refused("a network of its own", errno))
        .and_then(|made| raise_loopback().map(|()| made))
}

/// Goes where a supervisor made a network.
pub(super) fn enter(made: &OwnedFd) -> Result<(), Error> {
    move_into_link_name_space(made.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|errno| refused("a network of its own", errno))
}

/// Brings the loopback of the namespace that this process is in up.
pub(super) fn raise_loopback() -> Result<(), Error> {
    socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .and_then(loopback_up)
        .map_err(|errno| refused("a loopback of its own", errno))
}
