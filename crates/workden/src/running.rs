//! Commands of a workspace: they run in its sandbox, behind the same policy as its files.

use std::{collections::BTreeMap, time::Duration};

use workden_core::{
    Error, ErrorKind, Result, Sandbox,
    sandbox::{
        Command, ExecuteRequest, Executed, Job, JobId, JobOutput, JobRead, JobRequest, Killed, Process, SpawnRequest,
        Streams,
    },
};

use crate::{Commands, Workspace};

impl Workspace {
    /// Its sandbox behind everything that has a say, for everything that is not below.
    ///
    /// # Errors
    ///
    /// `Unsupported` when the workspace has files only; so for all calls below.
    pub fn commands(&self) -> Result<&Commands> {
        self.sandbox().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "cannot run a command: the workspace has files only")
                .hint("build the workspace with a sandbox, or use the file calls")
        })
    }

    /// Runs a line in a shell to its end, in the working directory. Without a timeout it has the usual
    /// one.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::execute`], and when the policy refuses; so for all calls below.
    pub async fn execute(&self, line: &str, timeout: Option<Duration>) -> Result<Executed> {
        let mut request = ExecuteRequest::shell(line);
        request.timeout = timeout.or(request.timeout);
        request.directory = self.named_directory();
        self.commands()?.execute(&request).await
    }

    /// Starts a command with streams, in the working directory.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::spawn`].
    pub async fn spawn(&self, command: Command, streams: Streams) -> Result<Process> {
        let (directory, environment) = (self.named_directory(), BTreeMap::new());
        self.commands()?.spawn(&SpawnRequest { command, directory, environment, streams }).await
    }

    /// Starts a line in the background, in the working directory.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::start_job`].
    pub async fn start_job(&self, line: &str) -> Result<Job> {
        let request = JobRequest { directory: self.named_directory(), ..JobRequest::shell(line) };
        self.commands()?.start_job(&request).await
    }

    /// The background jobs of this workspace, oldest first.
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

    /// Stops a job with all that it started.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::kill_job`].
    pub async fn kill_job(&self, id: &JobId) -> Result<Killed> {
        self.commands()?.kill_job(id).await
    }
}
