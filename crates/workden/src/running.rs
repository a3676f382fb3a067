//! Commands of a workspace: they run in its sandbox, under the same policy as its files.

use std::time::Duration;

use workden_core::{
    Error, ErrorKind, Result, Sandbox,
    sandbox::{
        Command, ExecuteRequest, Executed, Job, JobId, JobOutput, JobRead, JobRequest, Killed, Process, SpawnRequest,
        Streams,
    },
};

use crate::{Commands, Workspace, stack::AtEnd};

impl Workspace {
    /// Returns its sandbox behind the policy, approvals and records, for calls that have no method below.
    ///
    /// # Errors
    ///
    /// `Unsupported` when the workspace has no sandbox; so for all calls below.
    pub fn commands(&self) -> Result<&Commands> {
        self.sandbox().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "cannot run a command: the workspace has no sandbox")
                .hint("build the workspace with a sandbox, or use the file calls")
        })
    }

    /// Starts the sandbox now, before a call needs it. Does nothing in a workspace without one.
    ///
    /// # Errors
    ///
    /// Why the sandbox cannot start.
    pub async fn start(&self) -> Result<()> {
        match self.lazy() {
            Some(lazy) => lazy.started().await.map(drop),
            None => Ok(()),
        }
    }

    /// Stops the sandbox that this workspace started, with all that runs in it, and waits until it has stopped. The
    /// next call that needs one starts another. A sandbox that was given to the builder stops for good, and a session
    /// goes on.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::stop`].
    pub async fn stop(&self) -> Result<()> {
        match (self.lazy(), self.sandbox()) {
            (Some(lazy), _) if self.at_end() == AtEnd::Leave => {
                lazy.let_go();
                Ok(())
            }
            (Some(lazy), _) => lazy.end().await,
            (None, Some(commands)) => commands.stop().await,
            (None, None) => Ok(()),
        }
    }

    /// Whether the sandbox runs. Does not start it.
    #[must_use]
    pub fn has_started(&self) -> bool {
        match self.lazy() {
            Some(lazy) => lazy.has_started(),
            None => self.sandbox().is_some(),
        }
    }

    /// Runs a shell command to its end, in the working directory. Without a timeout, the default applies.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::execute`], and when the policy refuses; so for all calls below.
    pub async fn execute(&self, line: &str, timeout: Option<Duration>) -> Result<Executed> {
        let mut request = ExecuteRequest::shell(line);
        request.timeout = timeout.or(self.timeout()).or(request.timeout);
        request.directory = self.named_directory();
        self.commands()?.execute(&request).await
    }

    /// Starts a command with streams, in the working directory.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::spawn`].
    pub async fn spawn(&self, command: Command, streams: Streams) -> Result<Process> {
        self.commands()?.spawn(&SpawnRequest::new(command, streams).directory(self.named_directory())).await
    }

    /// Starts a shell command in the background, in the working directory.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::start_job`].
    pub async fn start_job(&self, line: &str) -> Result<Job> {
        let request = JobRequest::shell(line).directory(self.named_directory());
        self.commands()?.start_job(&request).await
    }

    /// Lists the background jobs of this workspace, oldest first.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::jobs`].
    pub async fn jobs(&self) -> Result<Vec<Job>> {
        self.commands()?.jobs().await
    }

    /// Reads the output of a job, or the full log of a command.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::read_job`].
    pub async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
        self.commands()?.read_job(id, read).await
    }

    /// Stops a job and all its processes.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::kill_job`].
    pub async fn kill_job(&self, id: &JobId) -> Result<Killed> {
        self.commands()?.kill_job(id).await
    }
}
