//! Threads of ours that go over to Python: how many are there, and none once the program ends.
//!
//! An interpreter that is being taken down breaks under a thread that still holds its lock, or is about to
//! let go of it. So whoever crosses is counted, and the last thing that a program does, while threads may still
//! have the lock, is to close the way and wait until nobody is over there.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use pyo3::prelude::*;

use crate::per_process::PerProcess;

/// How long the end of a program waits for those that are still over there.
const LAST_WAIT: Duration = Duration::from_secs(3);

#[derive(Default)]
struct Crossing {
    state: Mutex<State>,
    somebody_came_back: Condvar,
}

#[derive(Default)]
struct State {
    over_there: usize,
    is_closed: bool,
}

/// Of this process: a child knows nothing of its parent's threads.
static CROSSING: PerProcess<Crossing> = PerProcess::new();

/// Does something that takes the interpreter's lock, on a thread of ours; nothing once the program is ending.
pub(crate) fn cross<T>(work: impl FnOnce() -> T) -> Option<T> {
    let crossing = CROSSING.get_or_make(|| Ok(Crossing::default())).ok()?;
    {
        let mut state = crossing.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_closed {
            // What it holds of Python is left to the end of the process.
            std::mem::forget(work);
            return None;
        }
        state.over_there += 1;
    }
    let _back = Back(crossing);
    Some(work())
}

struct Back(&'static Crossing);

impl Drop for Back {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).over_there -= 1;
        self.0.somebody_came_back.notify_all();
    }
}

/// Nobody crosses any more, and nobody is over there.
#[pyfunction]
fn close_crossing(py: Python<'_>) {
    let Ok(crossing) = CROSSING.get_or_make(|| Ok(Crossing::default())) else { return };
    py.detach(|| {
        let until = Instant::now() + LAST_WAIT;
        let mut state = crossing.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_closed = true;
        while state.over_there > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = crossing.somebody_came_back.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    });
}

/// Has the program close the way when it ends.
pub(crate) fn ends_with_the_program(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let close = wrap_pyfunction!(close_crossing, module)?;
    module.py().import("atexit")?.call_method1("register", (close,))?;
    Ok(())
}
