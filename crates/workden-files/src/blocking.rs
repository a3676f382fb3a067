//! File I/O outside the async threads, and a flag that tells it that its caller has dropped the call.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use workden_core::{Error, ErrorKind, Result};

thread_local! {
    static MAY_BLOCK: Cell<bool> = const { Cell::new(false) };
}

/// Polls a backend call on a thread that may block: disk work is done on this thread, which saves waking another thread
/// and being woken by it. Use it for callers that would only wait, and for short calls: the call cannot be abandoned
/// meanwhile.
pub fn may_block<T>(poll: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            MAY_BLOCK.set(self.0);
        }
    }
    let _restore = Restore(MAY_BLOCK.replace(true));
    poll()
}

/// Runs blocking work on the runtime's blocking pool; or on this thread if that [is allowed](may_block), if there is no
/// runtime, or if its pool cannot get a thread.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    if MAY_BLOCK.get() {
        return work();
    }
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return work() };
    let work = Arc::new(Mutex::new(Some(work)));
    let in_pool = Arc::clone(&work);
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    // The runtime panics if the system gives it no thread, and may keep the closure.
    let spawned = catch_unwind(AssertUnwindSafe(|| runtime.spawn_blocking(move || take(&in_pool).map(|work| work()))));
    let done = match spawned {
        Err(_) => take(&work).map(|work| work()),
        Ok(spawned) => match spawned.await {
            Ok(done) => done,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => None,
            },
        },
    };
    done.unwrap_or_else(|| Err(Error::new(ErrorKind::Io, "the runtime is shutting down")))
}

/// Runs two closures in parallel if another thread is available, otherwise one after the other.
pub(crate) fn beside<A, B: Send>(own: impl FnOnce() -> A, mut other: impl FnMut() -> B + Send) -> (A, B) {
    let (own, done) = thread::scope(|scope| {
        let spawned = thread::Builder::new().name("beside".to_owned()).spawn_scoped(scope, &mut other);
        let own = own();
        let done = spawned.ok().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (own, done)
    });
    (own, done.unwrap_or_else(other))
}

/// A flag that is set when the caller drops the call.
#[derive(Debug, Default)]
pub(crate) struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// Returns the flag for the work to check.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn thread_of_work() -> thread::ThreadId {
        blocking(|| Ok(thread::current().id())).await.unwrap()
    }

    #[tokio::test]
    async fn work_is_done_elsewhere_unless_this_thread_may_block() {
        let here = thread::current().id();
        assert_ne!(thread_of_work().await, here);
        let mut call = std::pin::pin!(thread_of_work());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let polled = may_block(|| call.as_mut().poll(&mut context));
        assert_eq!(polled, std::task::Poll::Ready(here));
        assert_ne!(thread_of_work().await, here, "only for that one");
    }
}
