//! Cache of judged commands: agents repeat the same few commands, and a judgement is the expensive part of a check.
//!
//! Invariant: it holds a bounded number of commands of bounded length.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Maximum number of commands in each half.
const MOST: usize = 1_024;
/// Maximum length of a cached command in bytes.
const LONGEST: usize = 4_096;

/// Answers by command. The lock is held for a lookup and never during a judgement; its holder also holds the
/// interpreter lock, so that no fork leaves it locked.
#[derive(Debug)]
pub(super) struct Seen<T>(Mutex<Halves<T>>);

/// Recent and older answers. A full recent half replaces the older one.
#[derive(Debug)]
struct Halves<T> {
    lately: HashMap<Box<str>, Arc<T>>,
    before: HashMap<Box<str>, Arc<T>>,
}

impl<T> Seen<T> {
    /// Creates an empty cache.
    pub(super) fn new() -> Self {
        Self(Mutex::new(Halves { lately: HashMap::new(), before: HashMap::new() }))
    }

    /// Returns the cached answer for a command.
    pub(super) fn get(&self, command: &str) -> Option<Arc<T>> {
        let mut halves = self.halves();
        if let Some(answer) = halves.lately.get(command) {
            return Some(Arc::clone(answer));
        }
        let (command, answer) = halves.before.remove_entry(command)?;
        halves.put(command, Arc::clone(&answer));
        Some(answer)
    }

    /// Caches an answer, unless the command is too long.
    pub(super) fn keep(&self, command: &str, answer: T) -> Arc<T> {
        let answer = Arc::new(answer);
        if command.len() <= LONGEST {
            self.halves().put(command.into(), Arc::clone(&answer));
        }
        answer
    }

    fn halves(&self) -> MutexGuard<'_, Halves<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Halves<T> {
    fn put(&mut self, command: Box<str>, answer: Arc<T>) {
        if self.lately.len() >= MOST {
            self.before = std::mem::take(&mut self.lately);
        }
        self.lately.insert(command, answer);
    }
}
