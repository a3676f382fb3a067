//! `PerProcess`: a value that a forked child creates anew.
//!
//! Servers fork workers after they have imported everything. A child has one thread, and the sockets it inherits belong
//! to its parent's sandboxes: a value with threads or connections belongs to the process that created it, and is
//! neither used nor dropped by another.

use std::{
    mem::ManuallyDrop,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use pyo3::{prelude::*, types::PyDict};
use workden_core::{Error, ErrorKind, Result};

/// Maximum depth of nested forks in which each process has its own value.
const GENERATIONS: usize = 16;

/// Number of forks between this process and the one that imported the package. Python reports every fork; asking the
/// system for the process id would cost more than most calls.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

#[pyfunction]
fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Registers with Python for notification of forks.
pub(crate) fn hear_of_forks(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let hears = PyDict::new(module.py());
    hears.set_item("after_in_child", wrap_pyfunction!(forked, module)?)?;
    module.py().import("os")?.getattr("register_at_fork")?.call((), Some(&hears))?;
    Ok(())
}

/// One value for each process that asks. It has no lock that a fork could leave locked: a slot is only ever filled with
/// a complete value.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    made: [OnceLock<ManuallyDrop<T>>; GENERATIONS],
}

impl<T> PerProcess<T> {
    /// Creates an empty slot for every process.
    pub(crate) const fn new() -> Self {
        Self { made: [const { OnceLock::new() }; GENERATIONS] }
    }

    /// Returns the value of this process, if it exists.
    pub(crate) fn get(&self) -> Option<&T> {
        self.made.get(GENERATION.load(Ordering::Relaxed))?.get().map(|made| &**made)
    }

    /// Returns the value of this process, created now if it is missing.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let slot = self.made.get(GENERATION.load(Ordering::Relaxed)).ok_or_else(too_deep)?;
        if let Err(second) = slot.set(ManuallyDrop::new(make()?)) {
            // Another thread was faster: use its value.
            drop(ManuallyDrop::into_inner(second));
        }
        self.get().ok_or_else(too_deep)
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let own = self.made.get_mut(GENERATION.load(Ordering::Relaxed)).and_then(OnceLock::take);
        own.into_iter().for_each(|value| drop(ManuallyDrop::into_inner(value)));
    }
}

fn too_deep() -> Error {
    Error::new(ErrorKind::Unsupported, format!("this process is a fork of more than {GENERATIONS} others"))
        .hint("start a new process instead of forking again")
}
