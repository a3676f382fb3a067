//! Counts native threads that run Python code, and blocks them once the program ends.
//!
//! Taking down the interpreter while a native thread holds or releases its lock crashes the process. So every crossing
//! is counted, and at exit, while threads can still get the lock, the program blocks new crossings and waits until the
//! running ones are done.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use pyo3::prelude::*;

use crate::per_process::PerProcess;

/// How long the end of a program waits for running crossings.
const LAST_WAIT: Duration = Duration::from_secs(3);

#[derive(Default)]
struct Crossing {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    running: usize,
    is_closed: bool,
}

/// Per process: a child has none of its parent's threads.
static CROSSING: PerProcess<Crossing> = PerProcess::new();

/// Runs a function that takes the interpreter lock, on a native thread. Does nothing once the program is ending.
pub(crate) fn cross<T>(work: impl FnOnce() -> T) -> Option<T> {
    let crossing = CROSSING.get_or_make(|| Ok(Crossing::default())).ok()?;
    {
        let mut state = crossing.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_closed {
            // Its Python references are left to the end of the process.
            std::mem::forget(work);
            return None;
        }
        state.running += 1;
    }
    let _guard = CrossingGuard(crossing);
    Some(work())
}

struct CrossingGuard(&'static Crossing);

impl Drop for CrossingGuard {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).running -= 1;
        self.0.returned.notify_all();
    }
}

/// Blocks new crossings, and waits for the running ones.
#[pyfunction]
fn close_crossing(py: Python<'_>) {
    let Ok(crossing) = CROSSING.get_or_make(|| Ok(Crossing::default())) else { return };
    py.detach(|| {
        let until = Instant::now() + LAST_WAIT;
        let mut state = crossing.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_closed = true;
        while state.running > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = crossing.returned.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    });
}

/// Registers the blocking at the exit of the program.
pub(crate) fn ends_with_the_program(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let close = wrap_pyfunction!(close_crossing, module)?;
    module.py().import("atexit")?.call_method1("register", (close,))?;
    Ok(())
}
