//! Background jobs: they outlive the call that started them; their output is read by offset.

use std::{os::fd::AsFd, sync::Arc, time::Duration};

use tokio::time::{Instant, timeout, timeout_at};
use workden_core::{
    Error, ErrorKind, Result, limits,
    sandbox::{Command, Ended, Job, JobId, JobOutput, JobRead, JobState, Killed},
};

use super::{
    engine::{CommandSpec, Engine},
    failure::{self, StartFailure},
    log::OutputLog,
    output::complete,
    pipes::{self, AtEnd, READ_BYTES, Watched},
    records::{JobRecord, drain_into},
    tree::{EndMode, ProcessTree},
};
use crate::reaper::Terminal;

/// The longest wait of a read.
const MOST_WAIT: Duration = Duration::from_secs(600);

impl Engine {
    /// Starts a job.
    pub(crate) async fn start_job(&self, spec: CommandSpec<'_>) -> Result<Job> {
        let (pipe, theirs) = pipes::from_command()?;
        let streams = [self.null.as_fd(), theirs.as_fd(), theirs.as_fd()];
        let tree = self.start(&spec, streams, Terminal::None).await?;
        drop(theirs);
        let state = tree.started().await;
        if state.pid.is_none() {
            return Err(match failure::of(&state, spec.command) {
                Some(StartFailure::Refused(error)) => error,
                _ => Error::new(ErrorKind::Io, "the job was killed before it started"),
            });
        }
        let record = {
            let mut records = self.records();
            let id = records.next_job();
            let log = OutputLog::unseen(&self.config.logs);
            let record = JobRecord::started(id, spec.command.as_line(), log, &tree);
            records.add(Arc::clone(&record));
            record
        };
        let job = record.job();
        let command = spec.command.clone();
        tokio::spawn(async move { follow(&record, &tree, &pipe, &command).await });
        Ok(job)
    }

    /// Returns all jobs, running and ended.
    pub(crate) fn jobs(&self) -> Vec<Job> {
        self.records().jobs()
    }

    /// Returns how many jobs run.
    pub(crate) fn running_jobs(&self) -> usize {
        self.jobs().iter().filter(|job| job.state == JobState::Running).count()
    }

    /// Returns the commands that `execute` runs now.
    pub(crate) fn running_commands(&self) -> Vec<Job> {
        self.records().running_commands()
    }

    /// Reads the output of a job.
    pub(crate) async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
        let record = self.record(id)?;
        let mut progress = record.progress();
        let until = Instant::now() + read.wait.min(MOST_WAIT);
        // Room for one character at least, so that repeated reads make progress.
        let most = read.most.clamp(4, limits::JOB_READ_BYTES);
        loop {
            let over = {
                let progress = progress.borrow_and_update();
                progress.closed && progress.ended.is_some()
            };
            let (from, bytes) = record.log().read(read.offset, most);
            // At the end of the output an incomplete character stays incomplete.
            let at_end = over && from + bytes.len() as u64 >= record.log().printed();
            let shown = if at_end { bytes.len() } else { complete(&bytes) };
            if shown > 0 || over || timeout_at(until, progress.changed()).await.is_err() {
                let text = String::from_utf8_lossy(&bytes[..shown]);
                return Ok(JobOutput::new(text, from + shown as u64, record.job()).skipped(from - read.offset));
            }
        }
    }

    /// Ends a job with all its processes.
    pub(crate) async fn kill_job(&self, id: &JobId) -> Result<Killed> {
        let record = self.record(id)?;
        let Some(tree) = record.tree() else { return Ok(Killed::AlreadyOver) };
        tree.end(EndMode::Graceful).await;
        // The last output is in the log when this returns.
        let mut progress = record.progress();
        let over = progress.wait_for(|progress| progress.closed && progress.ended.is_some());
        let _ = timeout(Duration::from_secs(1), over).await;
        Ok(Killed::Stopped)
    }

    fn record(&self, id: &JobId) -> Result<Arc<JobRecord>> {
        // In two steps: the hint locks the records as well.
        let found = self.records().find(id);
        found.ok_or_else(|| {
            let known: Vec<String> = self.jobs().iter().map(|job| job.id.to_string()).collect();
            let hint = match known.len() {
                0 => "there are no background jobs".to_owned(),
                count => format!("jobs: {}", known[count.saturating_sub(20)..].join(", ")),
            };
            Error::new(ErrorKind::NotFound, format!("job `{id}` not found")).hint(hint)
        })
    }
}

/// Follows a job to its end and beyond: its background processes may still print.
async fn follow(record: &JobRecord, tree: &ProcessTree, pipe: &Watched, command: &Command) {
    let mut at_end = AtEnd::No;
    let mut buffer = Vec::new();
    let state = loop {
        buffer.clear();
        tokio::select! {
            biased;
            state = tree.ended() => break state,
            read = pipe.read(&mut buffer, READ_BYTES), if at_end == AtEnd::No => match read {
                0 => at_end = AtEnd::Yes,
                _ => record.push(&buffer),
            }
        }
        if buffer.capacity() > READ_BYTES / 8 {
            buffer = Vec::new();
        }
    };
    drop(buffer);
    if at_end == AtEnd::No {
        at_end = pipe.drain(|bytes| record.push(bytes));
    }
    let mut ended = state.ended.unwrap_or(Ended::Exited(127));
    match failure::of(&state, command) {
        Some(StartFailure::Unrunnable(sentence, end)) => {
            record.push(sentence.as_bytes());
            ended = end;
        }
        Some(StartFailure::Refused(error)) => {
            record.push(format!("{error}\n").as_bytes());
            ended = Ended::Exited(126);
        }
        None => {}
    }
    record.end(ended);
    match at_end {
        AtEnd::Yes => record.set_closed(true),
        AtEnd::No => drain_into(record, pipe).await,
    }
}
