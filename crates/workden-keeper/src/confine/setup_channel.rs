//! The line between the supervisor and the process that becomes PID 1, while that is being made.
//! One way go user namespaces for its mounts, a network, the user namespace of its commands, and control
//! groups; the other way "ready", or why not.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    io::{Errno, retry_on_intr, write},
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
};
use serde::{Serialize, de::DeserializeOwned};
use workden_core::{Error, ErrorKind};

use super::{errors::refused, ids::OwnerNamespaces};
use crate::{
    cgroup::Group,
    message::{length_of_next, receive, receive_with, send_with},
};

/// Bytes that the reason of a failure may have.
const MESSAGE: usize = 16 * 1024;

/// What the new process says.
enum SetupReply {
    /// Everything is done.
    Ready,
    /// It ended, or ends now.
    Failed(Error),
}

/// One end of the line.
pub(super) struct SetupChannel(OwnedFd);

/// A line: one end for the supervisor, one for the new process.
pub(super) fn pair() -> Result<(SetupChannel, SetupChannel), Error> {
    let kind = SocketType::SEQPACKET;
    let (one, other) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
        .map_err(|errno| refused("a socket pair", errno))?;
    Ok((SetupChannel(one), SetupChannel(other)))
}

impl SetupChannel {
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The descriptor alone.
    pub(super) fn into_descriptor(self) -> OwnedFd {
        self.0
    }

    /// Waits until the new process is ready; or why it will not be.
    pub(super) fn wait_until_ready(&self) -> Result<(), Error> {
        match self.hear() {
            SetupReply::Ready => Ok(()),
            SetupReply::Failed(error) => Err(error),
        }
    }

    /// Waits for the next message of the new process.
    fn hear(&self) -> SetupReply {
        let message = loop {
            match receive(&self.0) {
                // The other end is closed and had not read everything; what it said comes behind that.
                Err(Errno::CONNRESET) => {}
                heard => break heard.unwrap_or_default(),
            }
        };
        match message.as_slice() {
            b"ready" => SetupReply::Ready,
            told => SetupReply::Failed(serde_json::from_slice(told).unwrap_or_else(|_| died())),
        }
    }

    /// Gives the new process the namespaces for its mounts.
    pub(super) fn give_owners(&self, owners: OwnerNamespaces) -> Result<(), Error> {
        let (owners, namespaces) = owners.apart();
        self.give(&owners, &namespaces)
    }

    /// Waits for the namespaces for the mounts.
    pub(super) fn owners(&self) -> Result<OwnerNamespaces, Error> {
        let (owners, namespaces) = self.take()?;
        Ok(OwnerNamespaces::together(owners, namespaces))
    }

    /// Gives the new process its network.
    pub(super) fn give_network(&self, made: OwnedFd) -> Result<(), Error> {
        self.give(&(), &[made])
    }

    /// Waits for the network.
    pub(super) fn network(&self) -> Result<OwnedFd, Error> {
        self.take_one()
    }

    /// Gives the new process the user namespace of its commands.
    pub(super) fn give_user_namespace(&self, made: OwnedFd) -> Result<(), Error> {
        self.give(&(), &[made])
    }

    /// Waits for the user namespace.
    pub(super) fn user_namespace(&self) -> Result<OwnedFd, Error> {
        self.take_one()
    }

    fn take_one(&self) -> Result<OwnedFd, Error> {
        let ((), descriptors) = self.take()?;
        descriptors.into_iter().next().ok_or_else(died)
    }

    /// Gives the new process its control groups.
    pub(super) fn give_group(&self, group: Group) -> Result<(), Error> {
        let (letter, descriptors) = group.apart();
        self.give(&letter, &descriptors)
    }

    /// Waits for the control groups.
    pub(super) fn group(&self) -> Result<Group, Error> {
        let (letter, descriptors) = self.take()?;
        Ok(Group::together(letter, descriptors))
    }

    fn give(&self, letter: &impl Serialize, descriptors: &[OwnedFd]) -> Result<(), Error> {
        let letter = serde_json::to_vec(&(descriptors.len(), letter)).unwrap_or_default();
        let descriptors: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
        match send_with(&self.0, &letter, &descriptors) {
            Ok(()) => Ok(()),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(self.why_it_died()),
            Err(errno) => Err(refused("handing over what it needs", errno)),
        }
    }

    fn take<T: DeserializeOwned>(&self) -> Result<(T, Vec<OwnedFd>), Error> {
        let length = length_of_next(&self.0).unwrap_or(0);
        let (letter, descriptors) = receive_with(&self.0, length).unwrap_or_default();
        let letter = serde_json::from_slice(&letter).ok();
        let (enclosed, letter): (usize, T) = letter.ok_or_else(died)?;
        // A process that may open no more gets fewer, and would do without what it was to have.
        if descriptors.len() != enclosed {
            return Err(refused("what it needs: too many open files", Errno::MFILE));
        }
        Ok((letter, descriptors))
    }

    /// What the new process said before it closed its end.
    fn why_it_died(&self) -> Error {
        match self.hear() {
            SetupReply::Failed(error) => error,
            SetupReply::Ready => died(),
        }
    }

    /// Tells the supervisor that everything is done. An error when there is no supervisor any more.
    pub(super) fn ready(&self) -> Result<(), Error> {
        self.say(b"ready")
    }

    /// Tells the supervisor why there will be no sandbox.
    pub(super) fn failed(&self, error: &Error) {
        let told = serde_json::to_vec(error).unwrap_or_default();
        // Whoever does not hear it sees the end of the line, which says the same with fewer words.
        let _ = self.say(told.get(..MESSAGE).unwrap_or(&told));
    }

    fn say(&self, message: &[u8]) -> Result<(), Error> {
        match retry_on_intr(|| write(&self.0, message)) {
            Ok(_) => Ok(()),
            Err(Errno::PIPE) => Err(died()),
            Err(errno) => Err(refused("a message between its processes", errno)),
        }
    }
}

fn died() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox cannot start: a process of it ended while it was being made")
}
