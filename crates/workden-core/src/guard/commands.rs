//! A sandbox behind gates: every command is an [`Op::Execute`], however it is started.
//!
//! Reading or killing a job needs no further judgement, but only works through the wrapper (or a clone of it) that
//! started the job; for any other caller the job is `NotFound`. So an agent under stricter rules cannot read the job of
//! another agent. The same holds for the full logs of commands, and behind gates running commands are not listed.
//!
//! Watching a directory is a listing that goes on: the same gates judge it, and the same names are shown.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;

use super::{Execution, Guarded, Op, execution::ExecutionInput, judging::Depth, trace::Trace};
use crate::{
    Error, ErrorKind, Resolved, Result, Symlink, VirtualPath,
    sandbox::{
        Command, ExecuteRequest, Executed, FileEvents, Isolation, Job, JobId, JobOutput, JobRead, JobRequest, Killed,
        PortStream, Process, Sandbox, SpawnRequest, Usage, WatchRequest,
    },
};

/// How many jobs and logs a wrapper remembers as started through it; the sandbox keeps no older ones.
const MOST_OWN: usize = 4_096;

/// The jobs and logs that were started through one guarded sandbox.
#[derive(Debug, Default)]
pub(super) struct OwnJobs(Mutex<VecDeque<JobId>>);

impl OwnJobs {
    fn add(&self, id: &JobId) {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if own.len() >= MOST_OWN {
            own.pop_front();
        }
        own.push_back(id.clone());
    }

    fn has(&self, id: &JobId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }
}

impl<S: Sandbox> Guarded<S> {
    /// Returns the command in the form that gates judge.
    async fn execution(
        &self,
        command: &Command,
        directory: Option<&VirtualPath>,
        environment: &BTreeMap<String, String>,
        input: ExecutionInput,
    ) -> Result<Execution> {
        let directory = match directory {
            // A link is followed, so that gates judge the directory in which the command really runs.
            Some(directory) => self.inner.resolve(directory, Symlink::Follow).await?,
            None => Resolved::literal(self.inner.directory().await?),
        };
        Execution::new(command, directory, environment, input)
    }

    async fn pass_command(&self, trace: &mut Trace<'_>, op: Op<'_>) -> Result<()> {
        self.pass(trace, op, Depth::One).await
    }

    fn check_own(&self, verb: &str, id: &JobId) -> Result<()> {
        match self.is_open() || self.own_jobs.has(id) {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::NotFound,
                format!("cannot {verb} the background command `{id}`: it was not found"),
            )
            .hint("only the caller that started a background command can read or stop it")),
        }
    }
}

/// Makes a call for a command with a trace, which records the outcome.
macro_rules! traced_command {
    ($guarded:ident, $request:ident, $input:expr, |$real:ident| $act:expr) => {{
        let execution =
            $guarded.execution(&$request.command, $request.directory.as_ref(), &$request.environment, $input).await?;
        let op = Op::Execute(&execution);
        let mut trace = $guarded.trace(op);
        let outcome = async {
            $guarded.pass_command(&mut trace, op).await?;
            // The command runs in the directory that was judged.
            let $real = $request.directory.as_ref().map(|_| execution.directory.real.clone());
            $act
        };
        let outcome = outcome.await;
        trace.end(outcome)
    }};
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S: Sandbox> Sandbox for Guarded<S> {
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
        let done: Executed = traced_command!(self, request, ExecutionInput::Nothing, |directory| {
            self.inner.execute(&ExecuteRequest { directory, ..request.clone() }).await
        })?;
        if let Some(log) = done.output.left_out.as_ref().and_then(|left_out| left_out.log.as_ref()) {
            self.own_jobs.add(&log.id);
        }
        Ok(done)
    }

    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        traced_command!(self, request, ExecutionInput::Later, |directory| {
            self.inner.spawn(&SpawnRequest { directory, ..request.clone() }).await
        })
    }

    async fn start_job(&self, request: &JobRequest) -> Result<Job> {
        let job: Job = traced_command!(self, request, ExecutionInput::Nothing, |directory| {
            self.inner.start_job(&JobRequest { directory, ..request.clone() }).await
        })?;
        self.own_jobs.add(&job.id);
        Ok(job)
    }

    async fn jobs(&self) -> Result<Vec<Job>> {
        let mut jobs = self.inner.jobs().await?;
        jobs.retain(|job| self.is_open() || self.own_jobs.has(&job.id));
        Ok(jobs)
    }

    async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
        self.check_own("read", id)?;
        self.inner.read_job(id, read).await
    }

    async fn kill_job(&self, id: &JobId) -> Result<Killed> {
        self.check_own("stop", id)?;
        self.inner.kill_job(id).await
    }

    /// No gate judges this call: the server runs because a command was allowed, and its bytes are no file's.
    async fn connect_port(&self, port: u16) -> Result<PortStream> {
        self.inner.connect_port(port).await
    }

    /// Judged like a listing, and limited to what a listing shows.
    async fn watch(&self, at: &Resolved, request: &WatchRequest) -> Result<FileEvents> {
        let op = Op::List(at);
        let mut trace = self.trace(op);
        let outcome = async {
            self.pass(&mut trace, op, Depth::One).await?;
            let request = WatchRequest { visibility: self.visibility(op, &request.visibility), ..request.clone() };
            self.inner.watch(at, &request).await
        };
        let outcome = outcome.await;
        trace.end(outcome)
    }

    async fn usage(&self) -> Result<Usage> {
        let usage = self.inner.usage().await?;
        Ok(if self.is_open() { usage } else { usage.commands(Vec::new()) })
    }

    async fn isolation(&self) -> Result<Isolation> {
        self.inner.isolation().await
    }

    async fn directory(&self) -> Result<VirtualPath> {
        self.inner.directory().await
    }

    /// Any holder of the sandbox may stop it: no gate judges this call.
    async fn stop(&self) -> Result<()> {
        self.inner.stop().await
    }
}
