//! Short forms of the calls that many sandbox checks make.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_timer::Delay;
use futures_util::{
    StreamExt,
    future::{Either, select},
};
use workden_core::{
    VirtualPath,
    sandbox::{
        Command, Ended, ExecuteRequest, Executed, Job, JobId, JobRead, JobRequest, JobState, Process, ProcessControl,
        ProcessEvent, ProcessEvents, Sandbox, SpawnRequest, Stream, WindowSize,
    },
};

use crate::{
    Failure, Outcome,
    verdict::{ensure, equal},
};

/// The longest time that a busy machine needs for an immediate action. A defect takes at least ten times as long.
pub(super) const AT_ONCE: Duration = Duration::from_secs(60);

/// Sleeps.
pub(super) async fn pause(milliseconds: u64) {
    Delay::new(Duration::from_millis(milliseconds)).await;
}

/// Returns the output of a future, or a failure if it takes too long.
pub(super) async fn within<T>(
    what: &str,
    time: Duration,
    future: impl Future<Output = T> + Send,
) -> Result<T, Failure> {
    match select(Box::pin(future), Delay::new(time)).await {
        Either::Left((done, _)) => Ok(done),
        Either::Right(_) => Err(Failure::new(format!("{what} took longer than {time:?}"))),
    }
}

/// Runs a shell line to its end.
pub(super) async fn run(sandbox: &dyn Sandbox, line: &str) -> Result<Executed, Failure> {
    Ok(sandbox.execute(&ExecuteRequest::shell(line)).await?)
}

/// Runs a program with its arguments to its end.
pub(super) async fn run_program(sandbox: &dyn Sandbox, words: &[&str]) -> Result<Executed, Failure> {
    Ok(sandbox.execute(&ExecuteRequest::program(words.iter().copied())).await?)
}

/// Holds when a command printed exactly `output`, unclipped, and ended with `ended`.
pub(super) fn came_to(what: &str, seen: &Executed, output: &str, ended: Ended) -> Outcome {
    equal(format!("what `{what}` printed"), seen.output.text(), output)?;
    ensure(seen.output.left_out.is_none(), format!("something of the output of `{what}` was left out"))?;
    equal(format!("how `{what}` ended"), seen.ended, ended)
}

/// Holds when a line prints exactly `output` and succeeds.
pub(super) async fn prints(sandbox: &dyn Sandbox, line: &str, output: &str) -> Outcome {
    came_to(line, &run(sandbox, line).await?, output, Ended::Exited(0))
}

/// Returns the output of a line that must succeed.
pub(super) async fn printed(sandbox: &dyn Sandbox, line: &str) -> Result<String, Failure> {
    let done = run(sandbox, line).await?;
    equal(format!("how `{line}` ended, having printed {:?}", done.output.text()), done.ended, Ended::Exited(0))?;
    Ok(done.output.text())
}

/// Runs a line again and again until it succeeds.
pub(super) async fn until(sandbox: &dyn Sandbox, line: &str, time: Duration) -> Outcome {
    let started = Instant::now();
    while run(sandbox, line).await?.ended != Ended::Exited(0) {
        ensure(started.elapsed() < time, format!("`{line}` did not succeed within {time:?}"))?;
        pause(20).await;
    }
    Ok(())
}

/// Returns the path of a file in the working directory.
pub(super) async fn work_file(sandbox: &dyn Sandbox, name: &str) -> Result<VirtualPath, Failure> {
    Ok(sandbox.directory().await?.child(name)?)
}

/// Starts a line with pipes.
pub(super) async fn piped(sandbox: &dyn Sandbox, line: &str) -> Result<Process, Failure> {
    Ok(sandbox.spawn(&SpawnRequest::piped(Command::Shell(line.to_owned()))).await?)
}

/// Starts a line in a terminal of 24 rows and 80 columns.
pub(super) async fn in_terminal(sandbox: &dyn Sandbox, line: &str) -> Result<Process, Failure> {
    let size = WindowSize { rows: 24, columns: 80 };
    Ok(sandbox.spawn(&SpawnRequest::in_terminal(Command::Shell(line.to_owned()), size)).await?)
}

/// The output of a process so far.
#[derive(Debug, Default)]
pub(super) struct Printed {
    pub(super) output: Vec<u8>,
    pub(super) error: Vec<u8>,
    pub(super) ended: Option<Ended>,
}

impl Printed {
    pub(super) fn output(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    pub(super) fn error(&self) -> String {
        String::from_utf8_lossy(&self.error).into_owned()
    }

    /// Takes one more event; returns `false` after the last one.
    pub(super) async fn take(&mut self, events: &mut ProcessEvents) -> Result<bool, Failure> {
        let next = within("the next event of a process", AT_ONCE, events.next()).await?;
        let Some(event) = next else { return Ok(false) };
        ensure(self.ended.is_none(), "something came after the end of a process")?;
        match event? {
            ProcessEvent::Printed(Stream::Output, bytes) => self.output.extend_from_slice(&bytes),
            ProcessEvent::Printed(Stream::Error, bytes) => self.error.extend_from_slice(&bytes),
            ProcessEvent::LimitHit(_) => {}
            ProcessEvent::Ended(ended) => self.ended = Some(ended),
        }
        Ok(true)
    }

    /// Takes events until the output contains `words`.
    pub(super) async fn until(&mut self, events: &mut ProcessEvents, words: &str) -> Outcome {
        while !self.output().contains(words) {
            let more = self.take(events).await?;
            ensure(more, format!("a process ended ({:?}) before it printed {words:?}: {self:?}", self.ended))?;
        }
        Ok(())
    }

    /// Takes all remaining events and returns how the process ended.
    pub(super) async fn finish(&mut self, events: &mut ProcessEvents) -> Result<Ended, Failure> {
        while self.take(events).await? {}
        self.ended.ok_or_else(|| Failure::new("the events of a process stopped without its end"))
    }
}

/// Returns all output of a process and how it ended.
pub(super) async fn everything(process: &mut Process) -> Result<(Printed, Ended), Failure> {
    let mut printed = Printed::default();
    let ended = printed.finish(&mut process.events).await?;
    Ok((printed, ended))
}

/// Writes to the standard input of a process.
pub(super) async fn write(control: &dyn ProcessControl, text: impl Into<Bytes> + Send) -> Outcome {
    Ok(control.write(text.into()).await?)
}

/// Starts a line in the background.
pub(super) async fn job(sandbox: &dyn Sandbox, line: &str) -> Result<Job, Failure> {
    Ok(sandbox.start_job(&JobRequest::shell(line)).await?)
}

/// Waits for the end of a job and returns its output and how it ended.
pub(super) async fn outcome(sandbox: &dyn Sandbox, id: &JobId) -> Result<(String, Ended), Failure> {
    let mut text = String::new();
    let mut offset = 0;
    for _ in 0..1_000 {
        let read = JobRead::from(offset).wait(Duration::from_secs(1));
        let read = sandbox.read_job(id, &read).await?;
        let is_new = read.next > offset;
        text.push_str(&read.text);
        offset = read.next;
        if let (JobState::Ended(ended), false) = (read.job.state, is_new) {
            return Ok((text, ended));
        }
    }
    Err(Failure::new(format!("the job `{id}` does not end")))
}
