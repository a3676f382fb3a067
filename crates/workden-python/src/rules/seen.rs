//! Commands that were judged before: agents run the same few again and again, and a judgement takes longer
//! than everything around it.
//!
//! Invariant: it holds a bounded number of commands of bounded length, whatever it is asked.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How many commands each half holds.
const MOST: usize = 1_024;
/// The longest command that is kept, in bytes.
const LONGEST: usize = 4_096;

/// Answers by command. The lock is held for a look and never across a judgement; whoever holds it holds the
/// interpreter's lock as well, so that no fork leaves it locked behind.
#[derive(Debug)]
pub(super) struct Seen<T>(Mutex<Halves<T>>);

/// What was asked lately, and what was before that. A full half takes the place of the older one.
#[derive(Debug)]
struct Halves<T> {
    lately: HashMap<Box<str>, Arc<T>>,
    before: HashMap<Box<str>, Arc<T>>,
}

impl<T> Seen<T> {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self(Mutex::new(Halves { lately: HashMap::new(), before: HashMap::new() }))
    }

    /// The answer for a command that was seen before.
    pub(super) fn get(&self, command: &str) -> Option<Arc<T>> {
        let mut halves = self.halves();
        if let Some(answer) = halves.lately.get(command) {
            return Some(Arc::clone(answer));
        }
        let (command, answer) = halves.before.remove_entry(command)?;
        halves.put(command, Arc::clone(&answer));
        Some(answer)
    }

    /// Keeps an answer, unless the command is too long for that.
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
