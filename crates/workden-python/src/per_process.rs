//! `PerProcess`: a value that a forked child makes anew.
//!
//! Servers fork workers after they have imported everything. A child has one thread, and the sockets it
//! inherits are those of its parent's sandboxes: whatever has threads or connections belongs to the
//! process that made it, and is neither used nor dropped by another.

use std::{
    mem::ManuallyDrop,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use pyo3::{prelude::*, types::PyDict};
use workden_core::{Error, ErrorKind, Result};

use crate::runtime;

/// How deep processes may fork one another and each have a value of their own.
const GENERATIONS: usize = 16;

/// How many forks this process is away from the one that imported the package. Python tells of every one it makes;
/// to ask the system who one is would take every call longer than what it does with the answer.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

#[pyfunction]
fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    runtime::forget_parent();
}

/// Has Python tell of forks.
pub(crate) fn hear_of_forks(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let hears = PyDict::new(module.py());
    hears.set_item("after_in_child", wrap_pyfunction!(forked, module)?)?;
    module.py().import("os")?.getattr("register_at_fork")?.call((), Some(&hears))?;
    Ok(())
}

/// One value for each process that asks. There is no lock that a fork could leave locked behind: a place
/// is only ever filled with a value that is finished.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    made: [OnceLock<ManuallyDrop<T>>; GENERATIONS],
}

impl<T> PerProcess<T> {
    /// Nothing yet, in any process.
    pub(crate) const fn new() -> Self {
        Self { made: [const { OnceLock::new() }; GENERATIONS] }
    }

    /// That of this process, if it has made one.
    pub(crate) fn get(&self) -> Option<&T> {
        self.made.get(GENERATION.load(Ordering::Relaxed))?.get().map(|made| &**made)
    }

    /// That of this process, made now if it has none.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let place = self.made.get(GENERATION.load(Ordering::Relaxed)).ok_or_else(too_deep)?;
        if let Err(second) = place.set(ManuallyDrop::new(make()?)) {
            // Another thread was quicker: that one is everybody's.
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
        .hint("start a process anew instead of forking once more")
}
