//! The relay: what comes in on standard input goes to the socket of a keeper, and what that answers
//! to standard output. It understands nothing of it.
//!
//! It is one thread: where processes have run out there is no second to be had. Invariant: it waits nowhere but in
//! one place, for all of its descriptors at once. The standard streams stay as they are, for whether they block
//! belongs to everybody who has them open: so they are read and written only when they are ready, and no more is
//! written than a pipe that is ready takes for sure.

use std::{
    io,
    net::Shutdown,
    ops::Range,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::{Errno, retry_on_intr},
    pipe::PIPE_BUF,
    process::{DumpableBehavior, set_dumpable_behavior},
    stdio::{stdin, stdout},
};
use workden_core::{Error, ErrorKind, Result};

/// How long a keeper may take from its start until it listens.
const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes that are read at a time, and held at most each way.
const PIECE: usize = 64 * 1024;
/// Bytes that can be written to a pipe that is ready, without waiting.
const SURE: usize = PIPE_BUF;

/// Relays until the keeper has said everything.
pub(super) fn run(socket: &Path) -> Result<()> {
    let failed = |error: io::Error| {
        Error::new(ErrorKind::Gone, format!("cannot connect to the keeper: {}", error.kind()))
            .hint("it may have ended: its lease is over, or it was stopped")
    };
    // The token passes through: commands must not look into it.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let keeper = connect(socket).map_err(failed)?;
    keeper.set_nonblocking(true).map_err(failed)?;
    relay(&keeper).map_err(|error| Error::new(ErrorKind::Io, format!("cannot relay to the keeper: {}", error.kind())))
}

/// Connects, also to a keeper that is about to listen: whoever starts a container is not told when that is.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let began = Instant::now();
    loop {
        match UnixStream::connect(socket) {
            Err(error) if is_early(&error) && began.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(2)),
            connected => return connected,
        }
    }
}

fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// One of the two ways through the relay. What was read is passed on before more is read.
struct RelayBuffer {
    bytes: Box<[u8]>,
    /// What was read and not passed on.
    left: Range<usize>,
    /// Nothing more will be read.
    ended: bool,
}

impl RelayBuffer {
    fn new() -> Self {
        Self { bytes: vec![0; PIECE].into(), left: 0..0, ended: false }
    }

    fn wants_more(&self) -> bool {
        self.left.is_empty() && !self.ended
    }

    /// What to wait for at the source.
    fn to_read(&self) -> PollFlags {
        if self.wants_more() { PollFlags::IN } else { PollFlags::empty() }
    }

    /// What to wait for where it goes.
    fn to_write(&self) -> PollFlags {
        if self.left.is_empty() { PollFlags::empty() } else { PollFlags::OUT }
    }

    fn is_over(&self) -> bool {
        self.left.is_empty() && self.ended
    }

    /// Reads once. A source that fails has ended.
    fn read(&mut self, from: impl AsFd) {
        match rustix::io::read(from, &mut self.bytes[..]) {
            Ok(0) => self.ended = true,
            Ok(length) => self.left = 0..length,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.ended = true,
        }
    }

    /// Writes once. Where nobody takes it, there is no use in reading more.
    fn write(&mut self, to: impl AsFd, most: usize) {
        let end = self.left.end.min(self.left.start + most);
        match rustix::io::write(to, &self.bytes[self.left.start..end]) {
            Ok(length) => self.left.start += length,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => (self.left, self.ended) = (0..0, true),
        }
    }
}

/// Relays both ways until the keeper has said everything, or nobody listens to it any more.
fn relay(keeper: &UnixStream) -> io::Result<()> {
    let (input, output) = (stdin(), stdout());
    let (mut there, mut back) = (RelayBuffer::new(), RelayBuffer::new());
    let mut told_the_end = false;
    while !back.is_over() {
        if there.is_over() && !told_the_end {
            let _ = keeper.shutdown(Shutdown::Write);
            told_the_end = true;
        }
        let on_socket = back.to_read() | there.to_write();
        let wanted = [(input, there.to_read()), (keeper.as_fd(), on_socket), (output, back.to_write())];
        let [from_input, on_keeper, to_output] = wait(wanted, output)?;
        if to_output.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) {
            return Ok(());
        }
        if !to_output.is_empty() {
            back.write(output, SURE);
        }
        if !from_input.is_empty() && there.wants_more() {
            there.read(input);
        }
        // The socket never blocks: to try is enough.
        if !there.left.is_empty() {
            there.write(keeper, PIECE);
        }
        if !on_keeper.is_empty() && back.wants_more() {
            back.read(keeper);
        }
    }
    Ok(())
}

/// Waits until something can be done. Of what nothing is wanted nothing is heard either, not even that it ended: that
/// would be said again and again. In its place stands the output, whose end matters always.
fn wait(wanted: [(BorrowedFd<'_>, PollFlags); 3], output: BorrowedFd<'_>) -> io::Result<[PollFlags; 3]> {
    let mut polled = wanted
        .map(|(descriptor, flags)| PollFd::from_borrowed_fd(if flags.is_empty() { output } else { descriptor }, flags));
    retry_on_intr(|| poll(&mut polled, None))?;
    Ok(polled.map(|polled| polled.revents()))
}
