//! The relay: copies standard input to the socket of a keeper, and the answers to standard output, without
//! interpreting them.
//!
//! It has one thread, so that it works where the process limit is reached. Invariant: it blocks only in `poll`, for
//! all descriptors at once. The flags of the standard streams are shared with other processes and stay unchanged, so
//! the streams are read and written only when they are ready, and a write never exceeds what a ready pipe accepts.

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

/// The time a keeper gets from its start until it listens.
const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes of one read, and the most that is buffered in each direction.
const PIECE: usize = 64 * 1024;
/// Bytes that a ready pipe accepts without blocking.
const SURE: usize = PIPE_BUF;

/// Relays until the keeper has closed its side.
pub(super) fn run(socket: &Path) -> Result<()> {
    let failed = |error: io::Error| {
        Error::new(ErrorKind::Gone, format!("cannot connect to the keeper: {}", error.kind()))
            .hint("its lease has ended, or it was stopped: start another sandbox")
    };
    // The token passes through: commands must not read it.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let keeper = connect(socket).map_err(failed)?;
    keeper.set_nonblocking(true).map_err(failed)?;
    relay(&keeper).map_err(|error| Error::new(ErrorKind::Io, format!("cannot relay to the keeper: {}", error.kind())))
}

/// Connects, also to a keeper that is about to listen: the start of a container does not report when that is.
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

/// One direction of the relay. Bytes are passed on before more are read.
struct RelayBuffer {
    bytes: Box<[u8]>,
    /// Bytes that were read and not passed on.
    left: Range<usize>,
    /// The source has ended.
    ended: bool,
}

impl RelayBuffer {
    fn new() -> Self {
        Self { bytes: vec![0; PIECE].into(), left: 0..0, ended: false }
    }

    fn wants_more(&self) -> bool {
        self.left.is_empty() && !self.ended
    }

    /// Returns the events to wait for at the source.
    fn to_read(&self) -> PollFlags {
        if self.wants_more() { PollFlags::IN } else { PollFlags::empty() }
    }

    /// Returns the events to wait for at the sink.
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

    /// Writes once. When the sink is closed, nothing more is read.
    fn write(&mut self, to: impl AsFd, most: usize) {
        let end = self.left.end.min(self.left.start + most);
        match rustix::io::write(to, &self.bytes[self.left.start..end]) {
            Ok(length) => self.left.start += length,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => (self.left, self.ended) = (0..0, true),
        }
    }
}

/// Relays both ways until the keeper has closed its side, or the output is closed.
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
        // The socket never blocks, so the write is simply tried.
        if !there.left.is_empty() {
            there.write(keeper, PIECE);
        }
        if !on_keeper.is_empty() && back.wants_more() {
            back.read(keeper);
        }
    }
    Ok(())
}

/// Waits until something can be done. A descriptor without wanted events is replaced by the output: `poll` would
/// report its end again and again, while the end of the output always matters.
fn wait(wanted: [(BorrowedFd<'_>, PollFlags); 3], output: BorrowedFd<'_>) -> io::Result<[PollFlags; 3]> {
    let mut polled = wanted
        .map(|(descriptor, flags)| PollFd::from_borrowed_fd(if flags.is_empty() { output } else { descriptor }, flags));
    retry_on_intr(|| poll(&mut polled, None))?;
    Ok(polled.map(|polled| polled.revents()))
}
