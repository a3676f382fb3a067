//! Work that takes its time, on a thread of its own: decoding what somebody else has made must hold up
//! nobody, and neither a panic in it nor a file that is made to take forever may reach the caller.

use std::{sync::mpsc, thread, time::Duration};

/// How long such work may take.
const TIME: Duration = Duration::from_secs(30);
/// How deep it may recurse.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Does the work; `None` when it panicked, took too long, or found no thread.
pub(crate) async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, result) = tokio::sync::oneshot::channel();
    let watch = move || {
        let (finished, wait) = mpsc::channel();
        // Whoever waits may be gone.
        let worker = move || drop(finished.send(work()));
        thread::Builder::new().stack_size(STACK_BYTES).spawn(worker).ok()?;
        drop(done.send(wait.recv_timeout(TIME).ok()?));
        Some(())
    };
    thread::Builder::new().spawn(watch).ok()?;
    result.await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_stays_where_it_is() {
        assert_eq!(off_thread(|| 1).await, Some(1));
        assert_eq!(off_thread(|| panic!("as expected")).await, None::<()>);
    }
}
