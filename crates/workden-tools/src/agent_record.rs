//! The record of one agent: which files it has seen, and how far it has read the output of jobs.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use workden_core::sandbox::JobId;

use crate::seen_files::SeenFiles;

/// The record of one agent.
#[derive(Debug, Default)]
pub(crate) struct AgentRecord {
    pub(crate) seen_files: SeenFiles,
    read_offsets: Mutex<HashMap<JobId, u64>>,
}

impl AgentRecord {
    /// The offset up to which the agent has read the output of a job.
    pub(crate) fn read_offset(&self, job: &JobId) -> u64 {
        self.offsets().get(job).copied().unwrap_or(0)
    }

    /// Records that the agent has read the output of a job up to an offset.
    pub(crate) fn record_read(&self, job: JobId, offset: u64) {
        let mut offsets = self.offsets();
        let so_far = offsets.entry(job).or_default();
        *so_far = offset.max(*so_far);
    }

    fn offsets(&self) -> MutexGuard<'_, HashMap<JobId, u64>> {
        self.read_offsets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
