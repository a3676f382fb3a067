//! File I/O off the async threads, and a way for it to notice that nobody waits any more.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use workden_core::{Error, ErrorKind, Result};

/// Runs blocking work on the runtime's pool for it, or right here where there is no runtime.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::runtime::Handle::try_current() {
        Err(_) => work(),
        Ok(runtime) => match runtime.spawn_blocking(work).await {
            Ok(outcome) => outcome,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Error::new(ErrorKind::Io, "the runtime is shutting down")),
            },
        },
    }
}

/// Does two things at once where another thread is to be had, one after the other elsewhere.
pub(crate) fn beside<A, B: Send>(own: impl FnOnce() -> A, mut other: impl FnMut() -> B + Send) -> (A, B) {
    let (own, done) = thread::scope(|scope| {
        let spawned = thread::Builder::new().name("beside".to_owned()).spawn_scoped(scope, &mut other);
        let own = own();
        let done = spawned.ok().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (own, done)
    });
    (own, done.unwrap_or_else(other))
}

/// A flag that is up as soon as the one who asked is gone.
#[derive(Debug, Default)]
pub(crate) struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// The flag, for the work to look at.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
