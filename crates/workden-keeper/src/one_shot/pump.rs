//! `Pump`: carries bytes from one descriptor to another while both are ready, and never blocks.
//!
//! A command gets pipes that were made for it: through /proc it could reopen a pipe of the host, including its other
//! end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    event::{PollFd, PollFlags},
    io::Errno,
    pipe::{SpliceFlags, splice},
};

/// Bytes that are carried at a time.
const AT_A_TIME: usize = 64 * 1024;
/// Bytes that a ready pipe accepts without blocking.
const SURELY: usize = 4096;

/// Bytes that are kept before the last ones.
const KEPT: usize = 12 * 1024;

/// A source and a sink: one is a pipe of the command, the other a stream of this process.
pub(super) struct Pump<'a> {
    /// `None` after the end.
    ends: Option<PumpEnds<'a>>,
    /// The side to wait for.
    waits_for: PumpWait,
    /// Whether `splice` works for this pair.
    spliced: bool,
    /// The last bytes that were carried, if they are kept.
    tail: Option<Vec<u8>>,
}

pub(super) enum PumpEnds<'a> {
    /// Output of the command, to a stream of this process.
    Out(OwnedFd, BorrowedFd<'a>),
    /// A stream of this process, to the input of the command.
    In(BorrowedFd<'a>, OwnedFd),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PumpWait {
    Source,
    Sink,
}

impl<'a> Pump<'a> {
    pub(super) fn new(ends: Option<PumpEnds<'a>>) -> Self {
        Self { ends, waits_for: PumpWait::Source, spliced: true, tail: None }
    }

    /// Like `new`, and keeps the last bytes, which it must read for that.
    pub(super) fn keeping_tail(ends: PumpEnds<'a>) -> Self {
        Self { spliced: false, tail: Some(Vec::new()), ..Self::new(Some(ends)) }
    }

    /// Returns the last bytes that were carried, as text.
    pub(super) fn tail(&self) -> String {
        String::from_utf8_lossy(self.tail.as_deref().unwrap_or_default()).into_owned()
    }

    pub(super) fn is_over(&self) -> bool {
        self.ends.is_none()
    }

    /// Returns the descriptor to poll; `None` after the end.
    pub(super) fn wanted(&self) -> Option<PollFd<'_>> {
        let (source, sink) = self.descriptors()?;
        Some(match self.waits_for {
            PumpWait::Source => PollFd::from_borrowed_fd(source, PollFlags::IN),
            PumpWait::Sink => PollFd::from_borrowed_fd(sink, PollFlags::OUT),
        })
    }

    /// Continues, when the polled descriptor is ready. An error is one of this process's stream.
    pub(super) fn go_on(&mut self) -> Result<(), Errno> {
        if self.waits_for == PumpWait::Source {
            self.waits_for = PumpWait::Sink;
            return Ok(());
        }
        self.waits_for = PumpWait::Source;
        match self.carry() {
            Ok(0) => self.ends = None,
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::INVAL) if self.spliced => self.spliced = false,
            Err(errno) => {
                // A command that does not read its input is not an error.
                let ours = matches!(self.ends, Some(PumpEnds::Out(..)));
                self.ends = None;
                return if ours { Err(errno) } else { Ok(()) };
            }
        }
        Ok(())
    }

    /// Returns how many bytes were carried; zero is the end.
    fn carry(&mut self) -> Result<usize, Errno> {
        let Some((source, sink)) = self.descriptors() else { return Ok(0) };
        if self.spliced {
            return splice(source, None, sink, None, AT_A_TIME, SpliceFlags::NONBLOCK | SpliceFlags::MOVE);
        }
        let mut buffer = [0_u8; SURELY];
        let length = rustix::io::read(source, &mut buffer)?;
        let mut rest = buffer.get(..length).unwrap_or_default();
        while !rest.is_empty() {
            let written = rustix::io::retry_on_intr(|| rustix::io::write(sink, rest))?;
            rest = rest.get(written..).unwrap_or_default();
        }
        if let Some(tail) = &mut self.tail {
            tail.drain(..tail.len().saturating_sub(KEPT));
            tail.extend(buffer.get(..length).unwrap_or_default());
        }
        Ok(length)
    }

    fn descriptors(&self) -> Option<(BorrowedFd<'_>, BorrowedFd<'_>)> {
        self.ends.as_ref().map(|ends| match ends {
            PumpEnds::Out(source, sink) => (source.as_fd(), *sink),
            PumpEnds::In(source, sink) => (*source, sink.as_fd()),
        })
    }
}
