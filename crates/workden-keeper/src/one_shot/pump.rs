//! `Pump`: carries bytes from one descriptor to another as far as both are ready, without ever waiting
//! for either.
//!
//! A command gets pipes that were made for it: who holds a pipe of the host could open it again through
//! /proc, at its other end, too.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    event::{PollFd, PollFlags},
    io::Errno,
    pipe::{SpliceFlags, splice},
};

/// Bytes that are carried at a time.
const AT_A_TIME: usize = 64 * 1024;
/// Bytes that a pipe which is ready takes without waiting.
const SURELY: usize = 4096;

/// From where to where. One end is a pipe of ours, the other a stream of this process.
pub(super) struct Pump<'a> {
    /// Until it has ended.
    ends: Option<PumpEnds<'a>>,
    /// What is waited for: something to carry, or room for it.
    waits_for: PumpWait,
    /// Whether the kernel carries between these two by itself.
    spliced: bool,
}

pub(super) enum PumpEnds<'a> {
    /// What the command prints, to a stream of ours.
    Out(OwnedFd, BorrowedFd<'a>),
    /// A stream of ours, to what the command reads.
    In(BorrowedFd<'a>, OwnedFd),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PumpWait {
    Source,
    Sink,
}

impl<'a> Pump<'a> {
    pub(super) fn new(ends: Option<PumpEnds<'a>>) -> Self {
        Self { ends, waits_for: PumpWait::Source, spliced: true }
    }

    pub(super) fn is_over(&self) -> bool {
        self.ends.is_none()
    }

    /// What is to be waited for; nothing when it has ended.
    pub(super) fn wanted(&self) -> Option<PollFd<'_>> {
        let (source, sink) = self.descriptors()?;
        Some(match self.waits_for {
            PumpWait::Source => PollFd::from_borrowed_fd(source, PollFlags::IN),
            PumpWait::Sink => PollFd::from_borrowed_fd(sink, PollFlags::OUT),
        })
    }

    /// Goes on, now that what was waited for has come. An error is that of our own stream.
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
                // A command that does not read is no failure of ours.
                let ours = matches!(self.ends, Some(PumpEnds::Out(..)));
                self.ends = None;
                return if ours { Err(errno) } else { Ok(()) };
            }
        }
        Ok(())
    }

    /// How many bytes were carried; none is the end.
    fn carry(&self) -> Result<usize, Errno> {
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
        Ok(length)
    }

    fn descriptors(&self) -> Option<(BorrowedFd<'_>, BorrowedFd<'_>)> {
        self.ends.as_ref().map(|ends| match ends {
            PumpEnds::Out(source, sink) => (source.as_fd(), *sink),
            PumpEnds::In(source, sink) => (*source, sink.as_fd()),
        })
    }
}
