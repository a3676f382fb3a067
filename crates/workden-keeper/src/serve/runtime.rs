//! The runtime of a keeper.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use workden_core::{Error, ErrorKind, Result};

/// How long an idle thread for file calls stays.
const THREAD_TIME: Duration = Duration::from_millis(500);
/// Stack of such a thread. Only touched pages use memory.
const THREAD_STACK: usize = 1024 * 1024;
/// The most of those threads.
const THREADS: usize = 16;

/// Builds a runtime with one thread for everything but file calls, which have a few threads while they are busy.
pub(super) fn build() -> Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .thread_keep_alive(THREAD_TIME)
        .thread_stack_size(THREAD_STACK)
        .max_blocking_threads(THREADS)
        .build()
        .map_err(|error| Error::new(ErrorKind::Io, format!("cannot start the runtime of the keeper: {}", error.kind())))
}
