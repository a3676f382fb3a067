//! The output of one command: head and tail for the answer, and a log as soon as those are not everything.

use workden_core::sandbox::{FullLog, JobId, Output};

use super::{log::OutputLog, output::BoundedOutput};
use crate::config::Logs;

/// The output of a running command.
pub(crate) struct Capture<'a> {
    kept: BoundedOutput,
    log: Option<OutputLog>,
    logs: &'a Logs,
}

impl<'a> Capture<'a> {
    pub(crate) fn new(most_chars: usize, logs: &'a Logs) -> Self {
        Self { kept: BoundedOutput::new(most_chars), log: None, logs }
    }

    /// Adds output.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.log.is_none() && !self.kept.has_room_for(bytes.len()) {
            self.begin_log();
        }
        if let Some(log) = &mut self.log {
            log.push(bytes);
        }
        self.kept.push(bytes);
    }

    /// Starts the log with all output so far, which is still complete.
    fn begin_log(&mut self) -> &mut OutputLog {
        let mut log = OutputLog::unseen(self.logs);
        if self.log.is_none() {
            self.kept.slices().into_iter().for_each(|bytes| log.push(bytes));
        }
        self.log.get_or_insert(log)
    }

    /// Returns the answer, and the log if output was left out or more may come.
    pub(crate) fn finish(mut self, id: &JobId, more: MoreOutput) -> (Output, Option<OutputLog>) {
        if self.log.is_none() && (more == MoreOutput::Possible || self.kept.leaves_out()) {
            self.begin_log();
        }
        if let Some(log) = self.log.as_mut().filter(|_| self.kept.leaves_out()) {
            log.show(self.logs, id);
        }
        let log = &self.log;
        let output = self.kept.into_output(|| {
            let log = log.as_ref().filter(|log| log.kept() > 0)?;
            Some(FullLog::new(id.clone(), log.kept()).path(log.path().cloned()))
        });
        (output, self.log)
    }
}

/// Whether a background process of the command may still print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoreOutput {
    Possible,
    No,
}
