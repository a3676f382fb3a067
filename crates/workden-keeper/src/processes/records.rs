//! Records of jobs, and of commands with a log: id, state and output. The number is bounded: old logs are dropped
//! first, then the records.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};
use workden_core::{
    limits,
    sandbox::{Ended, Job, JobId, JobState},
};

use super::{
    log::OutputLog,
    pipes::{READ_BYTES, Watched},
    tree::ProcessTree,
};

/// Ended jobs that are still listed.
const ENDED_JOBS: usize = 1000;
/// The most bytes of a command line that a record keeps.
const LINE_BYTES: usize = 4096;

/// A job, or a command with a log.
#[derive(Debug)]
pub(crate) struct JobRecord {
    pub(crate) id: JobId,
    line: String,
    /// As soon as it was seen.
    pid: OnceLock<u32>,
    began: Instant,
    log: Mutex<OutputLog>,
    progress: watch::Sender<RecordProgress>,
    /// Upgradable while a process of the tree is left.
    tree: Weak<ProcessTree>,
}

/// The progress of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordProgress {
    /// Bytes that were printed.
    pub(crate) printed: u64,
    /// How the command ended, and after how long.
    pub(crate) ended: Option<(Ended, Duration)>,
    /// No process can print any more.
    pub(crate) closed: bool,
}

impl JobRecord {
    /// Creates the record of a job or command that was just started.
    pub(crate) fn started(id: JobId, mut line: String, log: OutputLog, tree: &Arc<ProcessTree>) -> Arc<Self> {
        line.truncate(line.floor_char_boundary(LINE_BYTES));
        let progress = RecordProgress { printed: 0, ended: None, closed: false };
        Arc::new(Self {
            id,
            line,
            pid: OnceLock::new(),
            began: Instant::now(),
            log: Mutex::new(log),
            progress: watch::Sender::new(progress),
            tree: Arc::downgrade(tree),
        })
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, OutputLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds output.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let printed = {
            let mut log = self.log();
            log.push(bytes);
            log.printed()
        };
        self.progress.send_modify(|progress| progress.printed = printed);
    }

    /// Records the end of the command itself.
    pub(crate) fn end(&self, ended: Ended) {
        self.pid();
        let duration = self.began.elapsed();
        self.progress.send_modify(|progress| progress.ended = Some((ended, duration)));
    }

    /// Records whether a process can still print.
    pub(crate) fn set_closed(&self, closed: bool) {
        self.progress.send_modify(|progress| progress.closed = closed);
    }

    pub(crate) fn progress(&self) -> watch::Receiver<RecordProgress> {
        self.progress.subscribe()
    }

    /// Returns the tree, if a process of it is left.
    pub(crate) fn tree(&self) -> Option<Arc<ProcessTree>> {
        self.tree.upgrade().filter(|tree| !tree.state().gone)
    }

    /// Returns the job as it is now.
    pub(crate) fn job(&self) -> Job {
        let progress = *self.progress.borrow();
        let (state, duration) = match progress.ended {
            Some((ended, duration)) => (JobState::Ended(ended), duration),
            None => (JobState::Running, self.began.elapsed()),
        };
        let pid = self.pid().unwrap_or_default();
        Job::new(self.id.clone(), pid, self.line.clone(), state).duration(duration).printed(progress.printed)
    }

    fn pid(&self) -> Option<u32> {
        if self.pid.get().is_none()
            && let Some(pid) = self.tree.upgrade().and_then(|tree| tree.state().pid)
        {
            let _ = self.pid.set(pid);
        }
        self.pid.get().copied()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.progress.borrow().ended.is_some()
    }

    fn is_over(&self) -> bool {
        let progress = self.progress.borrow();
        progress.closed && progress.ended.is_some()
    }
}

/// Reads output into a record's log until no process can print any more.
pub(crate) async fn drain_into(record: &JobRecord, pipe: &Watched) {
    record.set_closed(false);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        if pipe.read(&mut buffer, READ_BYTES).await == 0 {
            break;
        }
        record.push(&buffer);
        if buffer.capacity() > READ_BYTES / 8 {
            buffer = Vec::new();
        }
    }
    record.set_closed(true);
}

/// All records, oldest first.
#[derive(Debug, Default)]
pub(crate) struct JobRecords {
    jobs: VecDeque<Arc<JobRecord>>,
    executions: VecDeque<Arc<JobRecord>>,
    jobs_begun: u64,
    executions_begun: u64,
}

impl JobRecords {
    pub(crate) fn next_job(&mut self) -> JobId {
        self.jobs_begun += 1;
        JobId(format!("bg_{}", self.jobs_begun))
    }

    pub(crate) fn next_execution(&mut self) -> JobId {
        self.executions_begun += 1;
        JobId(format!("exec_{}", self.executions_begun))
    }

    /// Adds a record, and drops those that are too old.
    pub(crate) fn add(&mut self, record: Arc<JobRecord>) {
        if record.id.0.starts_with("bg_") {
            self.jobs.push_back(record);
        } else {
            self.executions.push_back(record);
        }
        self.drop_old();
    }

    /// Drops the records that are too old.
    pub(crate) fn drop_old(&mut self) {
        let over = |record: &&Arc<JobRecord>| record.is_over();
        let too_many = self.executions.iter().filter(over).count().saturating_sub(limits::LOGS_KEPT);
        forget(&mut self.executions, too_many);
        let ended = self.jobs.iter().filter(over).count();
        let without_log = ended.saturating_sub(limits::LOGS_KEPT);
        self.jobs.iter().filter(over).take(without_log).for_each(|record| record.log().forget());
        forget(&mut self.jobs, ended.saturating_sub(ENDED_JOBS));
    }

    pub(crate) fn find(&self, id: &JobId) -> Option<Arc<JobRecord>> {
        self.jobs.iter().chain(&self.executions).find(|record| record.id == *id).cloned()
    }

    pub(crate) fn remove(&mut self, execution: &JobId) {
        self.executions.retain(|record| record.id != *execution);
    }

    pub(crate) fn running_commands(&self) -> Vec<Job> {
        self.executions.iter().map(|record| record.job()).filter(|job| job.state == JobState::Running).collect()
    }

    pub(crate) fn jobs(&self) -> Vec<Job> {
        self.jobs.iter().map(|record| record.job()).collect()
    }
}

/// Removes this many ended records, the oldest first.
fn forget(records: &mut VecDeque<Arc<JobRecord>>, mut count: usize) {
    records.retain(|record| {
        let goes = count > 0 && record.is_over();
        count -= usize::from(goes);
        !goes
    });
}
