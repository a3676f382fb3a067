//! What was approved for longer than one call.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use workden_core::{ApprovalRequest, CommandLine, Resolved, VirtualPath};

use super::Scope;

/// How much is remembered; the oldest goes first. A person does not approve as much.
const MOST_REMEMBERED: usize = 4_096;

/// What was approved for longer than one call. Shared by everything that belongs to one session.
#[derive(Debug, Default)]
pub struct ApprovalMemory {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    all: Vec<Remembered>,
}

/// A number by which something remembered is revoked; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RememberedId(u64);

/// Something that was approved until the session ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// To revoke it by.
    pub id: RememberedId,
    /// What it was when it was approved, in a sentence.
    pub description: String,
    covers: Covers,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Covers {
    /// A call on paths, as they were typed and as they really are: a link that leads elsewhere by
    /// then is another question.
    Call { call: String, paths: Vec<Resolved>, other_names: Vec<VirtualPath> },
    /// A command, to the letter, where it ran.
    Command { script: String, directory: VirtualPath },
    /// Commands that start with these words, in a directory and below.
    Prefix { words: Vec<String>, directory: VirtualPath },
}

impl ApprovalMemory {
    /// What is remembered, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Remembered> {
        self.lock().all.clone()
    }

    /// Forgets one approval. Says whether there was one.
    pub fn revoke(&self, id: RememberedId) -> bool {
        let all = &mut self.lock().all;
        let before = all.len();
        all.retain(|remembered| remembered.id != id);
        all.len() < before
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.lock().all.clear();
    }

    /// Whether this was approved before. A directory with things in it never was: they may be others
    /// by now.
    #[must_use]
    pub fn covers(&self, request: &ApprovalRequest) -> bool {
        if request.below > 0 {
            return false;
        }
        let inner = self.lock();
        match &request.command {
            Some(command) => inner.covers_command(command),
            None => inner.all.iter().any(|remembered| match &remembered.covers {
                Covers::Call { call, paths, other_names } => {
                    *call == request.call && *paths == request.paths && *other_names == request.other_names
                }
                Covers::Command { .. } | Covers::Prefix { .. } => false,
            }),
        }
    }

    /// Takes note of what was approved, for as much as the scope says.
    pub fn remember(&self, request: &ApprovalRequest, scope: Scope) {
        let covers = match (scope, &request.command) {
            (Scope::Once, _) => return,
            (Scope::CommandPrefix { words, directory }, Some(_)) if !words.is_empty() => {
                Covers::Prefix { words, directory }
            }
            // A prefix of no words would be every command; of a call on files there is none.
            (Scope::CommandPrefix { .. }, _) => return,
            (Scope::Session, Some(command)) => {
                Covers::Command { script: command.script.clone(), directory: command.directory.clone() }
            }
            (Scope::Session, None) => Covers::Call {
                call: request.call.clone(),
                paths: request.paths.clone(),
                other_names: request.other_names.clone(),
            },
        };
        let mut inner = self.lock();
        if inner.all.iter().any(|remembered| remembered.covers == covers) {
            return;
        }
        // What was forgotten is asked about again.
        if inner.all.len() >= MOST_REMEMBERED {
            inner.all.remove(0);
        }
        let id = RememberedId(inner.next);
        inner.next += 1;
        inner.all.push(Remembered { id, description: request.description.clone(), covers });
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn covers_command(&self, command: &CommandLine) -> bool {
        let exactly = self.all.iter().any(|remembered| match &remembered.covers {
            Covers::Command { script, directory } => *script == command.script && *directory == command.directory,
            Covers::Call { .. } | Covers::Prefix { .. } => false,
        });
        let starts = |argv: &[String]| {
            self.all.iter().any(|remembered| match &remembered.covers {
                Covers::Prefix { words, directory } => {
                    argv.starts_with(words) && command.directory.is_within(directory)
                }
                Covers::Call { .. } | Covers::Command { .. } => false,
            })
        };
        let understood =
            command.understood.as_ref().is_some_and(|all| !all.is_empty() && all.iter().all(|argv| starts(argv)));
        exactly || understood
    }
}
