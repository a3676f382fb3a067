//! The commands of a sandbox at the other end of a byte stream.

use async_trait::async_trait;
use workden_core::{
    ErrorKind, Resolved, Result, Sandbox, VirtualPath,
    sandbox::{
        ExecuteRequest, Executed, FileEvents, Isolation, Job, JobId, JobOutput, JobRead, JobRequest, Killed,
        PortStream, Process, SpawnRequest, Usage, WatchRequest,
    },
};

use super::{RemoteSandbox, ports, process, watching};
use crate::{
    calls::{Execute, IsolationOf, Jobs, KillJob, ReadJob, Spawn, StartJob, Stop, UsageNow, Watch},
    errors,
};

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Sandbox for RemoteSandbox {
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
        self.connection.call(&Execute::new(request)).await
    }

    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        let response = self.connection.post(&Spawn::new(request)).await?;
        process::started(self.connection.clone(), response.into_body()).await
    }

    async fn start_job(&self, request: &JobRequest) -> Result<Job> {
        self.connection.call(&StartJob::new(request)).await
    }

    async fn jobs(&self) -> Result<Vec<Job>> {
        self.connection.call(&Jobs::new()).await
    }

    async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
        self.connection.call(&ReadJob::new(id, read)).await
    }

    async fn kill_job(&self, id: &JobId) -> Result<Killed> {
        self.connection.call(&KillJob::new(id)).await
    }

    async fn connect_port(&self, port: u16) -> Result<PortStream> {
        ports::connect(&self.connection, port).await
    }

    async fn watch(&self, at: &Resolved, request: &WatchRequest) -> Result<FileEvents> {
        let response = self.connection.post(&Watch::new(at, request)).await?;
        Ok(watching::events(response.into_body()))
    }

    async fn usage(&self) -> Result<Usage> {
        self.connection.call(&UsageNow::new()).await
    }

    async fn isolation(&self) -> Result<Isolation> {
        self.connection.call(&IsolationOf::new()).await.map(Isolation::escaped)
    }

    async fn directory(&self) -> Result<VirtualPath> {
        // The directory was in the greeting, and does not change while the sandbox lives.
        match self.is_gone() {
            true => Err(errors::gone()),
            false => Ok(self.hello.directory.clone()),
        }
    }

    async fn stop(&self) -> Result<()> {
        match self.connection.call(&Stop::new()).await {
            // The sandbox is gone, as requested.
            Err(error) if error.kind() == ErrorKind::Gone => Ok(()),
            stopped => stopped,
        }
    }
}
