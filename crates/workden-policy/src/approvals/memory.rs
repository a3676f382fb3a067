//! Approvals that apply to more than one call.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use workden_core::{ApprovalRequest, CommandLine, Resolved, VirtualPath};

use super::Scope;

/// How many approvals are remembered; the oldest is dropped first. A person does not approve as many.
const MOST_REMEMBERED: usize = 4_096;

/// Approvals that apply to more than one call. All parts of one session share the memory.
#[derive(Debug, Default)]
pub struct ApprovalMemory {
    inner: Mutex<ApprovalStore>,
}

#[derive(Debug, Default)]
struct ApprovalStore {
    next: u64,
    all: Vec<Remembered>,
}

/// The number of a remembered approval; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RememberedId(u64);

/// An approval that applies until the session ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Remembered {
    /// The number to revoke the approval by.
    pub id: RememberedId,
    /// The approved call, in a sentence.
    pub description: String,
    covers: Coverage,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Coverage {
    /// A call on paths, typed and real: if a link later leads elsewhere, that is another question.
    Call { call: String, paths: Vec<Resolved>, other_names: Vec<VirtualPath> },
    /// Exactly this command, in the same directory.
    Command { script: String, directory: VirtualPath },
    /// Commands that start with these words, in a directory and below.
    Prefix { words: Vec<String>, directory: VirtualPath },
}

impl ApprovalMemory {
    /// Returns the remembered approvals, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Remembered> {
        self.lock().all.clone()
    }

    /// Forgets one approval; returns whether it existed.
    pub fn revoke(&self, id: RememberedId) -> bool {
        let all = &mut self.lock().all;
        let before = all.len();
        all.retain(|remembered| remembered.id != id);
        all.len() < before
    }

    /// Forgets all approvals.
    pub fn clear(&self) {
        self.lock().all.clear();
    }

    /// Whether a remembered approval covers this request. No approval covers a directory with content, because the
    /// content may have changed.
    #[must_use]
    pub fn covers(&self, request: &ApprovalRequest) -> bool {
        if request.below > 0 {
            return false;
        }
        let inner = self.lock();
        match &request.command {
            Some(command) => inner.covers_command(command),
            None => inner.all.iter().any(|remembered| match &remembered.covers {
                Coverage::Call { call, paths, other_names } => {
                    *call == request.call && *paths == request.paths && *other_names == request.other_names
                }
                Coverage::Command { .. } | Coverage::Prefix { .. } => false,
            }),
        }
    }

    /// Remembers an approval for its scope.
    pub fn remember(&self, request: &ApprovalRequest, scope: Scope) {
        let covers = match (scope, &request.command) {
            (Scope::Once, _) => return,
            (Scope::CommandPrefix { words, directory }, Some(_)) if !words.is_empty() => {
                Coverage::Prefix { words, directory }
            }
            // An empty prefix would cover every command, and calls on files have no prefix.
            (Scope::CommandPrefix { .. }, _) => return,
            (Scope::Session, Some(command)) => {
                Coverage::Command { script: command.script.clone(), directory: command.directory.clone() }
            }
            (Scope::Session, None) => Coverage::Call {
                call: request.call.clone(),
                paths: request.paths.clone(),
                other_names: request.other_names.clone(),
            },
        };
        let mut inner = self.lock();
        if inner.all.iter().any(|remembered| remembered.covers == covers) {
            return;
        }
        // A dropped approval is asked for again.
        if inner.all.len() >= MOST_REMEMBERED {
            inner.all.remove(0);
        }
        let id = RememberedId(inner.next);
        inner.next += 1;
        inner.all.push(Remembered { id, description: request.description.clone(), covers });
    }

    fn lock(&self) -> MutexGuard<'_, ApprovalStore> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ApprovalStore {
    fn covers_command(&self, command: &CommandLine) -> bool {
        let exactly = self.all.iter().any(|remembered| match &remembered.covers {
            Coverage::Command { script, directory } => *script == command.script && *directory == command.directory,
            Coverage::Call { .. } | Coverage::Prefix { .. } => false,
        });
        let starts = |argv: &[String]| {
            self.all.iter().any(|remembered| match &remembered.covers {
                Coverage::Prefix { words, directory } => {
                    argv.starts_with(words) && command.directory.is_within(directory)
                }
                Coverage::Call { .. } | Coverage::Command { .. } => false,
            })
        };
        let understood =
            command.understood.as_ref().is_some_and(|all| !all.is_empty() && all.iter().all(|argv| starts(argv)));
        exactly || understood
    }
}
