//! `Sandbox`: a backend that also runs commands. The module has commands, results, jobs, processes with streams,
//! confinements and isolation reports as data; the trait has no default methods.
//!
//! Invariant: no orphans. When a caller stops waiting for a command (a timeout, a dropped call, a killed job, a stopped
//! sandbox), all of its processes are stopped, including daemons.

mod command;
mod confinement;
mod doctor;
mod executed;
mod facts;
mod git_identity;
mod hint;
mod isolation;
mod job;
mod port;
mod process;
mod shell;
mod usage;
mod watch;

use async_trait::async_trait;
pub use command::{Command, ExecuteRequest, JobRequest, SpawnRequest, Streams, WindowSize};
pub use confinement::{
    Access as MountAccess, Confinement, InodeId, Level, Limit, Limits, Mount, Network, RootFiles, Strength, WorkFiles,
};
pub use doctor::{Finding, Need, Outcome};
pub use executed::{Ended, Executed, FullLog, LeftOut, LimitHit, Output};
pub use facts::{CommandFacts, SHELL};
pub use git_identity::GitIdentity;
pub use hint::Hint;
pub use isolation::{Enforcement, Isolation, IsolationLevel, LimitName, LimitReport, Wall};
pub use job::{Job, JobId, JobOutput, JobRead, JobState, Killed};
pub use port::{PortConnection, PortStream};
pub use process::{Process, ProcessControl, ProcessEvent, ProcessEvents, Signal, Stream};
pub use shell::Shell;
pub use usage::Usage;
pub use watch::{FileChange, FileEvent, FileEvents, WatchDepth, WatchRequest};

use crate::{Backend, Resolved, Result, VirtualPath};

/// A store for files that also runs commands.
///
/// These rules hold for every command:
///
/// - It starts in the sandbox's working directory, unless the request names another, with the sandbox's environment and
///   the variables of the request.
/// - A shell line runs in the [`Shell`] of the sandbox; an argument vector runs without one. A missing program is exit
///   code 127, and a program that cannot be run is exit code 126.
/// - It runs under a reaper that stops all of its descendants when the caller stops waiting.
/// - The call returns when the command itself ends, even if a background process still holds its output; background
///   processes live until the sandbox ends.
#[async_trait]
pub trait Sandbox: Backend {
    /// Runs a command to its end.
    ///
    /// # Behavior
    ///
    /// - Standard output and standard error are one pipe, in exact order; standard input is empty.
    /// - Of output beyond the limit, the head and the tail are kept, and the answer describes the omitted part. Memory
    ///   is bounded by the limit, whatever the command prints.
    /// - After a timeout the answer has the output so far; the exit code is 124.
    /// - A signal is exit code 128 + its number.
    /// - Dropping the call stops the command with all of its descendants: `TERM`, then `KILL`.
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed>;

    /// Starts a command with streams.
    ///
    /// # Behavior
    ///
    /// - Standard output and standard error are separate, each in order; with a terminal they are one stream.
    /// - A slow reader slows down only this command.
    /// - Dropping [`Process::events`] stops the command with all of its descendants.
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process>;

    /// Starts a command in the background. It outlives the call, but not the sandbox.
    async fn start_job(&self, request: &JobRequest) -> Result<Job>;

    /// Returns the running and the ended background jobs, oldest first.
    async fn jobs(&self) -> Result<Vec<Job>>;

    /// Reads the output of a job, or the full log of a command, from an offset.
    ///
    /// # Behavior
    ///
    /// - `NotFound` for an unknown id.
    /// - A part that the log no longer holds is skipped, and `skipped` counts its bytes.
    async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput>;

    /// Stops a job with all of its descendants: `TERM`, then `KILL`. Returns when no process is left.
    ///
    /// # Behavior
    ///
    /// - Background processes of a finished job are stopped as well.
    /// - `NotFound` for an unknown id.
    async fn kill_job(&self, id: &JobId) -> Result<Killed>;

    /// Connects to a server in the sandbox.
    ///
    /// # Behavior
    ///
    /// - The server listens on this TCP port of the loopback interface, or of all interfaces.
    /// - `NotFound` if no server of the sandbox listens there. A server of the machine around it is not reached, also
    ///   where commands share its network.
    /// - An open connection counts as use of the sandbox.
    async fn connect_port(&self, port: u16) -> Result<PortStream>;

    /// Watches a directory: every change after the call has returned is an event.
    ///
    /// # Behavior
    ///
    /// - Changes by commands and by file calls are events, in order. Equal events may be merged, and
    ///   what is in a new directory may be told twice.
    /// - A reader that is too slow gets [`FileEvent::Missed`] in place of the events that were lost.
    /// - The stream ends with `NotFound` when the directory is removed or moved, and with `Gone` when the sandbox ends.
    /// - Symlinks are not followed. A watch does not count as use of the sandbox.
    async fn watch(&self, at: &Resolved, request: &WatchRequest) -> Result<FileEvents>;

    /// Returns the current resource usage of the sandbox.
    async fn usage(&self) -> Result<Usage>;

    /// Returns the isolation that is really enforced, and the protections that are missing.
    async fn isolation(&self) -> Result<Isolation>;

    /// Returns the directory in which commands start, as commands see it.
    async fn directory(&self) -> Result<VirtualPath>;

    /// Ends the sandbox with everything in it. Later calls are `Gone`. Stopping a stopped sandbox is not an error.
    async fn stop(&self) -> Result<()>;
}
