//! Decoding on threads of its own: an image comes from outside, and neither a panic in its decoder nor a file
//! that takes forever may reach the caller.
//!
//! A few decoders run at once in the whole process. A cancelled call leaves its decoder running until the next
//! step, and the decoder keeps its slot that long: cancelled calls use no more memory than calls that wait.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use tokio::sync::{Semaphore, oneshot};

/// How deep a decoder may recurse.
const STACK_BYTES: usize = 16 * 1024 * 1024;
/// Decoders at once: the memory of one is bounded, and thereby that of all.
const AT_ONCE: usize = 2;

static SLOTS: Semaphore = Semaphore::const_new(AT_ONCE);

/// Tells a decoder that its call has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// `None` once the call has ended; the decoder returns between two steps.
    pub(super) fn check(&self) -> Option<()> {
        (!self.0.load(Ordering::Relaxed)).then_some(())
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sets the flag when the call ends, also when it is dropped.
struct SetOnDrop(CancelFlag);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Runs a decoder. `None` when it panicked, when it or the wait for a slot took longer than `timeout`, or when no
/// thread could be started.
pub(super) async fn decode<T: Send + 'static>(
    timeout: Duration,
    decoder: impl FnOnce(&CancelFlag) -> T + Send + 'static,
) -> Option<T> {
    let call = SetOnDrop(CancelFlag::default());
    let cancelled = call.0.clone();
    let slot = match SLOTS.try_acquire() {
        Ok(slot) => slot,
        Err(_) => tokio::select! {
            slot = SLOTS.acquire() => slot.ok()?,
            () = elapsed(timeout) => return None,
        },
    };
    let (done, result) = oneshot::channel();
    let watch = move || {
        let (finished, wait) = mpsc::channel();
        let flag = cancelled.clone();
        let worker = move || {
            let result = decoder(&flag);
            // The slot is free before the result is there: nothing of the decoder is held any more.
            drop(slot);
            // The receiver is gone when the call was dropped.
            drop(finished.send(result));
        };
        thread::Builder::new().stack_size(STACK_BYTES).spawn(worker).ok()?;
        match wait.recv_timeout(timeout) {
            Ok(result) => drop(done.send(result)),
            Err(_) => cancelled.set(),
        }
        Some(())
    };
    thread::Builder::new().spawn(watch).ok()?;
    result.await.ok()
}

/// Completes after `timeout`. A thread keeps the time, since not every runtime has a clock.
async fn elapsed(timeout: Duration) {
    let (over, wait) = oneshot::channel::<()>();
    let (gone, left) = mpsc::channel::<()>();
    let clock = move || {
        // Returns at once when the call has its slot or was dropped.
        if left.recv_timeout(timeout) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = over.send(());
        }
    };
    if thread::Builder::new().spawn(clock).is_ok() {
        drop(wait.await);
    }
    drop(gone);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(600);

    #[tokio::test]
    async fn a_panic_stays_in_its_thread() {
        assert_eq!(decode(TIMEOUT, |_| 1).await, Some(1));
        assert_eq!(decode(TIMEOUT, |_| panic!("as expected")).await, None::<()>);
        assert_eq!(decode(TIMEOUT, |_| 2).await, Some(2));
    }

    #[tokio::test]
    async fn a_decoder_that_takes_too_long_is_cancelled() {
        let endless = |cancelled: &CancelFlag| {
            while cancelled.check().is_some() {
                thread::sleep(Duration::from_millis(1));
            }
        };
        assert_eq!(decode(Duration::from_millis(1), endless).await, None);
    }

    #[tokio::test]
    async fn cancelled_calls_leave_few_decoders_running_and_those_end() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let endless = |cancelled: &CancelFlag| {
            MOST.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            while cancelled.check().is_some() {
                thread::sleep(Duration::from_millis(1));
            }
            // A step that cannot be interrupted goes on for a while, and keeps its slot.
            thread::sleep(Duration::from_millis(20));
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        };
        for _ in 0..20 {
            let call = tokio::time::timeout(Duration::from_millis(10), decode(TIMEOUT, endless));
            assert!(call.await.is_err());
        }
        // The cancelled ones end: otherwise there would be no slot for this one.
        assert_eq!(decode(TIMEOUT, |_| 3).await, Some(3));
        assert!((1..=AT_ONCE).contains(&MOST.load(Ordering::SeqCst)));
    }
}
