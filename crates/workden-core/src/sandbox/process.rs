//! A process with streams: what comes out of it, and what can be done to it.

use std::{fmt, pin::Pin};

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Ended, LimitHit, WindowSize};
use crate::Result;

/// A process that was started with streams.
#[non_exhaustive]
pub struct Process {
    /// The process, as commands in the sandbox see it.
    pub pid: u32,
    /// What comes out of it. Dropping this stops the process with all that it started.
    pub events: ProcessEvents,
    /// What can be done to it.
    pub control: Box<dyn ProcessControl>,
}

impl Process {
    /// Creates a process from what comes out of it and what can be done to it.
    #[must_use]
    pub fn new(pid: u32, events: ProcessEvents, control: Box<dyn ProcessControl>) -> Self {
        Self { pid, events, control }
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Process({})", self.pid)
    }
}

/// Output, and at last how it ended.
pub type ProcessEvents = Pin<Box<dyn futures_core::Stream<Item = Result<ProcessEvent>> + Send>>;

/// Something that happened to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// It printed.
    Printed(Stream, Bytes),
    /// It ran into a limit. After all that it printed, before its end.
    LimitHit(LimitHit),
    /// It ended. The last event.
    Ended(Ended),
}

/// Which of the standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output, or the terminal.
    Output,
    /// Standard error.
    Error,
}

/// What can be done to a process from outside.
#[async_trait]
pub trait ProcessControl: Send + Sync {
    /// Writes to its standard input; returns when all of it is taken.
    ///
    /// # Behavior
    ///
    /// - An error of kind `Gone` when it reads no more.
    async fn write(&self, bytes: Bytes) -> Result<()>;

    /// Ends its standard input. In a terminal, that is the character for the end of a file.
    async fn close_input(&self) -> Result<()>;

    /// Sends a signal to the process and its group.
    ///
    /// # Behavior
    ///
    /// - One that has ended is fine.
    async fn signal(&self, signal: Signal) -> Result<()>;

    /// Changes the size of its terminal. `Unsupported` without one.
    async fn resize(&self, size: WindowSize) -> Result<()>;
}

/// The signals that can be sent from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "they are called what they are called everywhere")]
pub enum Signal {
    Hup,
    Int,
    Quit,
    Kill,
    Usr1,
    Usr2,
    Term,
    Cont,
    Stop,
    Tstp,
    Winch,
}
