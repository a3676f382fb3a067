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
        match self.receive_reply() {
            SetupReply::Ready => Ok(()),
            SetupReply::Failed(error) => Err(error),
        }
    }

    /// Waits for the next message of the new process.
    fn receive_reply(&self) -> SetupReply {
        let message = loop {
            match receive(&self.0) {
                // The other end closed with unread data. Its message is still in the queue.
                Err(Errno::CONNRESET) => {}
                heard => break heard.unwrap_or_default(),
            }
        };
        match message.as_slice() {
            b"ready" => SetupReply::Ready,
            told => SetupReply::Failed(serde_json::from_slice(told).unwrap_or_else(|_| ended_during_setup())),
        }
    }

    /// Sends the namespaces for mounts.
    pub(super) fn send_owners(&self, owners: OwnerNamespaces) -> Result<(), Error> {
        let (owners, namespaces) = owners.into_parts();
        self.send(&owners, &namespaces)
    }

    /// Receives the namespaces for mounts.
    pub(super) fn receive_owners(&self) -> Result<OwnerNamespaces, Error> {
        let (owners, namespaces) = self.receive()?;
        Ok(OwnerNamespaces::from_parts(owners, namespaces))
    }

    /// Sends the network namespace.
    pub(super) fn send_network(&self, made: OwnedFd) -> Result<(), Error> {
        self.send(&(), &[made])
    }

    /// Receives the network namespace.
    pub(super) fn receive_network(&self) -> Result<OwnedFd, Error> {
        self.receive_one()
    }

    /// Sends the user namespace of commands.
    pub(super) fn send_user_namespace(&self, made: OwnedFd) -> Result<(), Error> {
        self.send(&(), &[made])
    }

    /// Receives the user namespace of commands.
    pub(super) fn receive_user_namespace(&self) -> Result<OwnedFd, Error> {
        self.receive_one()
    }

    fn receive_one(&self) -> Result<OwnedFd, Error> {
        let ((), descriptors) = self.receive()?;
        descriptors.into_iter().next().ok_or_else(ended_during_setup)
    }

    /// Sends the control groups.
    pub(super) fn send_group(&self, group: Group) -> Result<(), Error> {
        let (message, descriptors) = group.into_parts();
        self.send(&message, &descriptors)
    }

    /// Receives the control groups.
    pub(super) fn receive_group(&self) -> Result<Group, Error> {
        let (message, descriptors) = self.receive()?;
        Ok(Group::from_parts(message, descriptors))
    }

    fn send(&self, message: &impl Serialize, descriptors: &[OwnedFd]) -> Result<(), Error> {
        let message = serde_json::to_vec(&(descriptors.len(), message)).unwrap_or_default();
        let descriptors: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
        match send_with(&self.0, &message, &descriptors) {
            Ok(()) => Ok(()),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(self.last_reply()),
            Err(errno) => Err(refused("send descriptors", errno)),
        }
    }

    fn receive<T: DeserializeOwned>(&self) -> Result<(T, Vec<OwnedFd>), Error> {
        let length = length_of_next(&self.0).unwrap_or(0);
        let (message, descriptors) = receive_with(&self.0, length).unwrap_or_default();
        let message = serde_json::from_slice(&message).ok();
        let (enclosed, message): (usize, T) = message.ok_or_else(ended_during_setup)?;
        // A process at its limit of open files receives fewer, and must not go on without them.
        if descriptors.len() != enclosed {
            return Err(refused("receive descriptors: too many open files", Errno::MFILE));
        }
        Ok((message, descriptors))
    }

    /// Returns the error that the new process sent before it closed its end.
    fn last_reply(&self) -> Error {
        match self.receive_reply() {
            SetupReply::Failed(error) => error,
            SetupReply::Ready => ended_during_setup(),
        }
    }

    /// Reports to the supervisor that the setup is complete. Fails when the supervisor is gone.
    pub(super) fn ready(&self) -> Result<(), Error> {
        self.send_reply(b"ready")
    }

    /// Reports to the supervisor why the setup failed.
    pub(super) fn failed(&self, error: &Error) {
        let told = serde_json::to_vec(error).unwrap_or_default();
        // Without the message the supervisor sees the channel close, which means the same.
        let _ = self.send_reply(told.get(..MESSAGE).unwrap_or(&told));
    }

    fn send_reply(&self, message: &[u8]) -> Result<(), Error> {
        match retry_on_intr(|| write(&self.0, message)) {
            Ok(_) => Ok(()),
            Err(Errno::PIPE) => Err(ended_during_setup()),
            Err(errno) => Err(refused("send a message", errno)),
        }
    }
}

fn ended_during_setup() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox cannot start: one of its processes ended during setup")
}
