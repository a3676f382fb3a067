//! Where minders come from: this process forks them, or a nursery does.

use std::{
    ffi::CStr,
    fmt,
    os::fd::{BorrowedFd, OwnedFd},
};

use async_trait::async_trait;
use rustix::{
    io::Errno,
    net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair},
};

use crate::{
    minder::{Tells, Terminal},
    sys::Program,
};

/// A minder, to those who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MinderId(pub(crate) u64);

/// What a minder is to start.
pub(crate) struct Start<'a> {
    pub(crate) program: Program,
    pub(crate) directory: &'a CStr,
    pub(crate) streams: [BorrowedFd<'a>; 3],
    pub(crate) terminal: Terminal,
    pub(crate) tells: Tells,
}

/// Makes minders, and ends those that do not do as they are told.
#[async_trait]
pub(crate) trait Minders: fmt::Debug + Send + Sync {
    /// Has a minder start something: our end of its link, and who it is.
    fn start(&self, start: Start<'_>) -> Result<(OwnedFd, MinderId), Errno>;

    /// Lets one go on that a command may have stopped.
    fn wake(&self, minder: MinderId);

    /// Ends one, which leaves what it minded.
    fn kill(&self, minder: MinderId);

    /// Whether they are children of this process, which reaps them.
    fn are_children(&self) -> bool;

    /// Waits for one that is about to end.
    async fn reaped(&self, minder: MinderId);

    /// Has everything killed that dead minders have left, this one among them, which is about to die; returns when
    /// nothing is left of it, or what is cannot be killed.
    async fn swept(&self, dying: Option<MinderId>);

    /// Reaps all that have ended, where all children are commands'.
    fn reap_all(&self);

    /// Has one that was never given an order use its link for something else; its last report was read.
    fn take_back(&self, minder: MinderId, link: &OwnedFd);

    /// Nobody will start anything any more, and nothing is to live on.
    fn let_go(&self);
}

/// Ends a link, whoever else holds our end of it: a process that was forked meanwhile does.
pub(crate) fn hang_up(link: &OwnedFd) {
    let _ = shutdown(link, Shutdown::Both);
}

/// The two ends of a link: the keeper's and the minder's.
pub(crate) fn link() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}
