//! The output of one command: head and tail for the answer, and the log of its record.

use std::sync::Arc;

use workden_core::sandbox::{FullLog, Output};

use super::{output::BoundedOutput, records::JobRecord};
use crate::config::Logs;

/// The output of a running command.
pub(crate) struct Capture<'a> {
    kept: BoundedOutput,
    record: Arc<JobRecord>,
    logs: &'a Logs,
}

impl<'a> Capture<'a> {
    pub(crate) fn new(most_chars: usize, record: Arc<JobRecord>, logs: &'a Logs) -> Self {
        Self { kept: BoundedOutput::new(most_chars), record, logs }
    }

    /// Adds output.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.record.push(bytes);
        self.kept.push(bytes);
    }

    /// Returns the answer, which names the log if it is not everything.
    pub(crate) fn finish(self) -> Output {
        if self.kept.leaves_out() {
            self.record.log().show(self.logs, &self.record.id);
        }
        let Self { kept, record, .. } = self;
        kept.into_output(|| {
            let log = record.log();
            (log.kept() > 0).then(|| FullLog::new(record.id.clone(), log.kept()).path(log.path().cloned()))
        })
    }
}
