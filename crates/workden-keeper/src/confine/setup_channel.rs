//! The channel between the supervisor and the process that becomes PID 1, during setup. The supervisor sends
//! namespaces, a network and control groups; the process answers "ready", or the reason why not.

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

/// The most bytes of a failure message.
const MESSAGE: usize = 16 * 1024;

/// A message of the new process.
enum SetupReply {
    /// The setup is complete.
    Ready,
    /// The process has ended, or ends now.
    Failed(Error),
}

/// One end of the channel.
pub(super) struct SetupChannel(OwnedFd);

/// Creates a channel: one end for the supervisor, one for the new process.
pub(super) fn pair() -> Result<(SetupChannel, SetupChannel), Error> {
    let kind = SocketType::SEQPACKET;
    let (one, other) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
        .map_err(|errno| refused("create a socket pair", errno))?;
    Ok((SetupChannel(one), SetupChannel(other)))
}

impl SetupChannel {
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Returns the descriptor.
    pub(super) fn into_descriptor(self) -> OwnedFd {
        self.0
    }

    /// Waits until the new process is ready. Returns its error otherwise.
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
                // The other end closed with unread data. Its message is still in the queue.
                Err(Errno::CONNRESET) => {}
                heard => break heard.unwrap_or_default(),
            }
        };
        match message.as_slice() {
            b"ready" => SetupReply::Ready,
            told => SetupReply::Failed(serde_json::from_slice(told).unwrap_or_else(|_| died())),
        }
    }

    /// Sends the namespaces for mounts.
    pub(super) fn give_owners(&self, owners: OwnerNamespaces) -> Result<(), Error> {
        let (owners, namespaces) = owners.apart();
        self.give(&owners, &namespaces)
    }

    /// Receives the namespaces for mounts.
    pub(super) fn owners(&self) -> Result<OwnerNamespaces, Error> {
        let (owners, namespaces) = self.take()?;
        Ok(OwnerNamespaces::together(owners, namespaces))
    }

    /// Sends the network namespace.
    pub(super) fn give_network(&self, made: OwnedFd) -> Result<(), Error> {
        self.give(&(), &[made])
    }

    /// Receives the network namespace.
    pub(super) fn network(&self) -> Result<OwnedFd, Error> {
        self.take_one()
    }

    /// Sends the user namespace of commands.
    pub(super) fn give_user_namespace(&self, made: OwnedFd) -> Result<(), Error> {
        self.give(&(), &[made])
    }

    /// Receives the user namespace of commands.
    pub(super) fn user_namespace(&self) -> Result<OwnedFd, Error> {
        self.take_one()
    }

    fn take_one(&self) -> Result<OwnedFd, Error> {
        let ((), descriptors) = self.take()?;
        descriptors.into_iter().next().ok_or_else(died)
    }

    /// Sends the control groups.
    pub(super) fn give_group(&self, group: Group) -> Result<(), Error> {
        let (letter, descriptors) = group.apart();
        self.give(&letter, &descriptors)
    }

    /// Receives the control groups.
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
            Err(errno) => Err(refused("send descriptors", errno)),
        }
    }

    fn take<T: DeserializeOwned>(&self) -> Result<(T, Vec<OwnedFd>), Error> {
        let length = length_of_next(&self.0).unwrap_or(0);
        let (letter, descriptors) = receive_with(&self.0, length).unwrap_or_default();
        let letter = serde_json::from_slice(&letter).ok();
        let (enclosed, letter): (usize, T) = letter.ok_or_else(died)?;
        // A process at its limit of open files receives fewer, and must not go on without them.
        if descriptors.len() != enclosed {
            return Err(refused("receive descriptors: too many open files", Errno::MFILE));
        }
        Ok((letter, descriptors))
    }

    /// Returns the error that the new process sent before it closed its end.
    fn why_it_died(&self) -> Error {
        match self.hear() {
            SetupReply::Failed(error) => error,
            SetupReply::Ready => died(),
        }
    }

    /// Reports to the supervisor that the setup is complete. Fails when the supervisor is gone.
    pub(super) fn ready(&self) -> Result<(), Error> {
        self.say(b"ready")
    }

    /// Reports to the supervisor why the setup failed.
    pub(super) fn failed(&self, error: &Error) {
        let told = serde_json::to_vec(error).unwrap_or_default();
        // Without the message the supervisor sees the channel close, which means the same.
        let _ = self.say(told.get(..MESSAGE).unwrap_or(&told));
    }

    fn say(&self, message: &[u8]) -> Result<(), Error> {
        match retry_on_intr(|| write(&self.0, message)) {
            Ok(_) => Ok(()),
            Err(Errno::PIPE) => Err(died()),
            Err(errno) => Err(refused("send a message", errno)),
        }
    }
}

fn died() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox cannot start: one of its processes ended during setup")
}
