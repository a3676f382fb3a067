//! The line between the supervisor and the process that becomes PID 1, while that is being made:
//! a request for its ids, "ready", or why not.

use std::os::fd::OwnedFd;

use rustix::{
    io::{Errno, read, retry_on_intr, write},
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
};
use workden_core::{Error, ErrorKind};

use super::errors::refused;

/// Bytes that one message may have.
const MESSAGE: usize = 16 * 1024;

/// What the new process says.
pub(super) enum Said {
    /// It is in a user namespace of its own and wants its ids mapped.
    WantsIds,
    /// Everything is done.
    Ready,
    /// It ended, or ends now.
    Failed(Error),
}

/// One end of the line.
pub(super) struct Link(OwnedFd);

/// A line: one end for the supervisor, one for the new process.
pub(super) fn link() -> Result<(Link, Link), Error> {
    let kind = SocketType::SEQPACKET;
    let (one, other) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
        .map_err(|errno| refused("a socket pair", errno))?;
    Ok((Link(one), Link(other)))
}

impl Link {
    /// Waits for the next message of the new process.
    pub(super) fn hear(&self) -> Said {
        let mut message = vec![0; MESSAGE];
        let length = retry_on_intr(|| read(&self.0, &mut message)).unwrap_or(0);
        match message.get(..length).unwrap_or_default() {
            b"ids" => Said::WantsIds,
            b"ready" => Said::Ready,
            told => Said::Failed(serde_json::from_slice(told).unwrap_or_else(|_| died())),
        }
    }

    /// Tells the new process that its ids are mapped.
    pub(super) fn ids_are_mapped(&self) -> Result<(), Error> {
        self.say(b"mapped")
    }

    /// Asks the supervisor for ids, and waits until they are mapped.
    pub(super) fn ask_for_ids(&self) -> Result<(), Error> {
        self.say(b"ids")?;
        let mut answer = [0; 8];
        match retry_on_intr(|| read(&self.0, &mut answer)) {
            Ok(length) if answer.get(..length) == Some(b"mapped") => Ok(()),
            _ => Err(died()),
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
