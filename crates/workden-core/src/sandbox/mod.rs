//! `Sandbox`: a backend that also runs commands. What a command, its answer, a job, a process with
//! streams, a confinement and a report of isolation are, as data; the trait has no default methods.
//!
//! Invariant: no orphans. A caller that stops waiting for a command (a timeout, a dropped call, a killed
//! job, a stopped sandbox) stops all that it started, daemonised processes included.

mod command;
mod confinement;
mod doctor;
mod executed;
mod isolation;
mod job;
mod process;
mod usage;

use async_trait::async_trait;
pub use command::{Command, ExecuteRequest, JobRequest, SpawnRequest, Streams, WindowSize};
pub use confinement::{
    Access as MountAccess, Confinement, Level, Limit, Limits, Mount, Network, RootFiles, Strength, WorkFiles,
};
pub use doctor::{Finding, Need, Outcome};
pub use executed::{Ended, Executed, FullLog, LeftOut, LimitHit, Output};
pub use isolation::{Enforcement, Isolation, IsolationLevel, LimitName, LimitReport, Wall};
pub use job::{Job, JobId, JobOutput, JobRead, JobState, Killed};
pub use process::{Process, ProcessControl, ProcessEvent, ProcessEvents, Signal, Stream};
pub use usage::Usage;

use crate::{Backend, Result, VirtualPath};

/// A place that holds files and runs commands.
///
/// What holds for every command:
///
/// - It starts in the sandbox's working directory unless another is named, with the sandbox's
///   environment and what the request adds.
/// - A shell line runs in `sh`; an argument vector runs as it is. A program that is not there is
///   exit code 127, one that cannot be run 126.
/// - It runs under a reaper that stops all its descendants when its caller stops waiting.
/// - When it ends by itself the call returns, also when something that it left in the background
///   still holds its output; such processes live until the sandbox ends.
#[async_trait]
pub trait Sandbox: Backend {
    /// Runs a command to its end.
    ///
    /// # Behavior
    ///
    /// - Standard output and standard error are one pipe, in exact order; standard input is closed.
    /// - Past the ceiling the head and the tail of the output are kept, and what was left out is
    ///   said. Memory is bounded by the ceiling, whatever the command prints.
    /// - On a timeout what was printed until then is in the answer; the exit code is 124.
    /// - A signal is exit code 128 + its number.
    /// - Dropping the call stops the command with all that it started: `TERM`, then `KILL`.
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed>;

    /// Starts a command with streams of its own.
    ///
    /// # Behavior
    ///
    /// - Standard output and standard error come apart, each in order; with a terminal they are one.
    /// - A slow reader slows down this command and nothing else.
    /// - Dropping [`Process::events`] stops the command with all that it started.
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process>;

    /// Starts a command in the background. It outlives the call, not the sandbox.
    async fn start_job(&self, request: &JobRequest) -> Result<Job>;

    /// The background jobs there are and were, oldest first.
    async fn jobs(&self) -> Result<Vec<Job>>;

    /// Reads the output of a job, or the full log of a command, from an offset on.
    ///
    /// # Behavior
    ///
    /// - `NotFound` for an unknown id.
    /// - A part that the log no longer holds is skipped, and said.
    async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput>;

    /// Stops a job with all that it started: `TERM`, then `KILL`. Returns when nothing is left.
    ///
    /// # Behavior
    ///
    /// - What a finished job left in the background is stopped as well.
    /// - `NotFound` for an unknown id.
    async fn kill_job(&self, id: &JobId) -> Result<Killed>;

    /// What the sandbox uses at the moment.
    async fn usage(&self) -> Result<Usage>;

    /// What really separates the commands from the machine, and what does not.
    async fn isolation(&self) -> Result<Isolation>;

    /// Where commands run and relative paths start, as commands see it.
    async fn directory(&self) -> Result<VirtualPath>;

    /// Ends the sandbox with everything in it. Later calls are `Gone`. A sandbox that is gone
    /// already is fine.
    async fn stop(&self) -> Result<()>;
}
