//! A process with streams: its output and its control.

use std::{fmt, pin::Pin};

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Ended, LimitHit, WindowSize};
use crate::Result;

/// A process that was started with streams.
#[non_exhaustive]
pub struct Process {
    /// The pid, as commands in the sandbox see it.
    pub pid: u32,
    /// The output and the end of the process. Dropping this stops the process with all of its descendants.
    pub events: ProcessEvents,
    /// The input and the signals of the process.
    pub control: Box<dyn ProcessControl>,
}

impl Process {
    /// Creates a process from its events and its control.
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

/// The output of a process, and finally how it ended.
pub type ProcessEvents = Pin<Box<dyn futures_core::Stream<Item = Result<ProcessEvent>> + Send>>;

/// An event of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// The process printed these bytes.
    Printed(Stream, Bytes),
    /// The process hit a limit. This event comes after all output and before the end.
    LimitHit(LimitHit),
    /// The process ended. This is the last event.
    Ended(Ended),
}

/// A standard stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output, or the terminal.
    Output,
    /// Standard error.
    Error,
}

/// Controls a process from outside.
#[async_trait]
pub trait ProcessControl: Send + Sync {
    /// Writes to standard input; returns when all bytes are accepted.
    ///
    /// # Behavior
    ///
    /// - `Gone` if the process no longer reads.
    async fn write(&self, bytes: Bytes) -> Result<()>;

    /// Closes standard input. In a terminal, this types the end-of-file character.
    async fn close_input(&self) -> Result<()>;

    /// Sends a signal to the process and its group.
    ///
    /// # Behavior
    ///
    /// - A signal to an ended process is not an error.
    async fn signal(&self, signal: Signal) -> Result<()>;

    /// Changes the size of the terminal. `Unsupported` for a process without a terminal.
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
