//! A network namespace with nothing but a loopback interface, which is up.

use std::os::fd::{AsFd, OwnedFd};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    net::{AddressFamily, SocketFlags, SocketType, socket_with},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use workden_core::Error;

use super::errors::refused;
use crate::sys::confine::{loopback_up, new_network_namespace};

/// Moves this process into a new network namespace and returns its descriptor. For a process that needs no network
/// itself.
pub(super) fn make() -> Result<OwnedFd, Error> {
    new_network_namespace()
        .and_then(|()| openat(CWD, "/proc/self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))
        .map_err(|errno| refused("create a network namespace", errno))
        .and_then(|made| raise_loopback().map(|()| made))
}

/// Enters a network namespace that the supervisor made.
pub(super) fn enter(made: &OwnedFd) -> Result<(), Error> {
    move_into_link_name_space(made.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|errno| refused("enter the network namespace", errno))
}

/// Brings up the loopback interface of the current network namespace.
pub(super) fn raise_loopback() -> Result<(), Error> {
    socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .and_then(loopback_up)
        .map_err(|errno| refused("bring up the loopback interface", errno))
}
