//! Commands of a Python backend, if it has any.

use std::time::Instant;

use async_trait::async_trait;
use pyo3::prelude::*;
use workden_core::{
    Error, ErrorKind, Resolved, Result, Sandbox, VirtualPath,
    sandbox::{
        Ended, ExecuteRequest, Executed, FileEvents, Isolation, IsolationLevel, Job, JobId, JobOutput, JobRead,
        JobRequest, JobState, Killed, LeftOut, Output, PortStream, Process, SpawnRequest, Usage, WatchRequest,
    },
};

use super::Foreign;

fn unsupported(what: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("this backend {what}"))
}

/// Returns a command line for a directory, if it differs from the backend's own.
fn line(command: &workden_core::sandbox::Command) -> String {
    command.as_line()
}

fn job(id: String, pid: u32, line: String, running: bool, code: Option<i32>) -> Job {
    let state = match running {
        true => JobState::Running,
        false => JobState::Ended(Ended::Exited(code.unwrap_or_default())),
    };
    Job::new(JobId(id), pid, line, state)
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Sandbox for Foreign {
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
        let started = Instant::now();
        let timeout = request.timeout.map(|time| time.as_secs().max(1));
        let read = |answer: &Bound<'_, PyAny>| {
            let output: String = answer.getattr("output")?.extract()?;
            let code: Option<i32> = answer.getattr("exit_code")?.extract()?;
            Ok((output, code, answer.getattr("truncated")?.is_truthy()?))
        };
        // A cancellable method is preferred.
        let method = if self.has("async_execute") { "async_execute" } else { "execute" };
        let (output, code, is_cut) = self.call(method, (line(&request.command), timeout), read).await?;
        let left_out = is_cut.then_some(LeftOut::new(0, 0));
        let ended = match code {
            Some(124) => Ended::TimedOut,
            code => Ended::Exited(code.unwrap_or_default()),
        };
        let output = Output::new(output).left_out(left_out);
        Ok(Executed::new(output, ended, started.elapsed()))
    }

    async fn spawn(&self, _: &SpawnRequest) -> Result<Process> {
        Err(unsupported("does not support processes with separate streams"))
    }

    async fn start_job(&self, request: &JobRequest) -> Result<Job> {
        if !self.has("execute_background") {
            return Err(unsupported("does not support background processes"));
        }
        let line = line(&request.command);
        let read = |answer: &Bound<'_, PyAny>| {
            Ok((answer.getattr("shell_id")?.extract()?, answer.getattr("pid")?.extract::<u32>().unwrap_or_default()))
        };
        let (id, pid) = self.call("execute_background", (line.clone(),), read).await?;
        Ok(job(id, pid, line, true, None))
    }

    async fn jobs(&self) -> Result<Vec<Job>> {
        if !self.has("list_background") {
            return Ok(Vec::new());
        }
        self.call("list_background", (), |answer| {
            let one = |info: PyResult<Bound<'_, PyAny>>| {
                let info = info?;
                Ok(job(
                    info.getattr("shell_id")?.extract()?,
                    info.getattr("pid")?.extract().unwrap_or_default(),
                    info.getattr("command")?.extract()?,
                    info.getattr("running")?.is_truthy()?,
                    info.getattr("exit_code")?.extract()?,
                ))
            };
            answer.try_iter()?.map(one).collect()
        })
        .await
    }

    async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
        let known = self.jobs().await?.into_iter().find(|job| job.id == *id);
        let Some(known) = known else {
            return Err(Error::new(ErrorKind::NotFound, format!("background shell `{id}` not found")));
        };
        // The backend itself remembers how much output it has returned.
        let (text, running, code) = self
            .call("read_background", (id.to_string(),), |answer| {
                let (output, errors): (String, String) =
                    (answer.getattr("stdout")?.extract()?, answer.getattr("stderr")?.extract()?);
                let running = answer.getattr("running")?.is_truthy()?;
                Ok((output + &errors, running, answer.getattr("exit_code")?.extract::<Option<i32>>()?))
            })
            .await?;
        let next = read.offset + text.len() as u64;
        let job = job(known.id.0, known.pid, known.line, running, code);
        Ok(JobOutput::new(text, next, job))
    }

    async fn kill_job(&self, id: &JobId) -> Result<Killed> {
        let was_running = self.call("kill_background", (id.to_string(),), |answer| answer.is_truthy()).await?;
        Ok(if was_running { Killed::Stopped } else { Killed::AlreadyOver })
    }

    async fn connect_port(&self, _: u16) -> Result<PortStream> {
        Err(unsupported("does not support connections to ports"))
    }

    async fn watch(&self, _: &Resolved, _: &WatchRequest) -> Result<FileEvents> {
        Err(unsupported("does not support watching files"))
    }

    async fn usage(&self) -> Result<Usage> {
        Err(unsupported("does not report its usage"))
    }

    async fn isolation(&self) -> Result<Isolation> {
        let lacking = vec!["the isolation of a custom backend is unknown".to_owned()];
        Ok(Isolation::new(IsolationLevel::None).lacking(lacking))
    }

    async fn directory(&self) -> Result<VirtualPath> {
        // Commands run where relative paths start.
        if let Some(named) = self.named_directory() {
            return Ok(named);
        }
        // Without that answer, its files still work.
        let Ok(asked) = self.execute(&ExecuteRequest::shell("pwd")).await else { return Ok(VirtualPath::root()) };
        let told = asked.output.head.trim();
        match told.starts_with('/') && !told.contains('\n') {
            true => VirtualPath::parse(told),
            false => Ok(VirtualPath::root()),
        }
    }

    async fn stop(&self) -> Result<()> {
        match self.has("stop") {
            true => self.call("stop", (), |_| Ok(())).await,
            false => Ok(()),
        }
    }
}
