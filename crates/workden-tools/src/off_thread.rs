//! Work that takes its time, on a thread of its own: decoding what somebody else has made must hold up
//! nobody, and neither a panic in it nor a file that is made to take forever may reach the caller.
//!
//! Only a few such works go on at once in the whole process. Whoever calls and goes away leaves a work
//! behind that ends soon, and that holds its place until it really has: calls that are cancelled add up
//! to no more memory than calls that are waited for.

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

/// How long such work may take, and how long a call waits for its turn.
const TIME: Duration = Duration::from_secs(30);
/// How deep it may recurse.
const STACK_BYTES: usize = 16 * 1024 * 1024;
/// How many go on at once: what one of them may hold is bounded, and so is all of them together.
const AT_ONCE: usize = 2;

static PLACES: Semaphore = Semaphore::const_new(AT_ONCE);

/// A flag that is up as soon as nobody waits for the work any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// Goes on while somebody waits: `None` is the end of the work.
    pub(crate) fn go_on(&self) -> Option<()> {
        (!self.0.load(Ordering::Relaxed)).then_some(())
    }
}

/// Puts the flag up when the call goes, however it goes.
struct Waiting(Abandoned);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Does the work; `None` when it panicked, took too long, found no thread or no place.
///
/// The work looks at the flag between its steps.
pub(crate) async fn off_thread<T: Send + 'static>(work: impl FnOnce(&Abandoned) -> T + Send + 'static) -> Option<T> {
    let waiting = Waiting(Abandoned::default());
    let abandoned = waiting.0.clone();
    let place = match PLACES.try_acquire() {
        Ok(place) => place,
        Err(_) => tokio::select! {
            place = PLACES.acquire() => place.ok()?,
            () = time_passes() => return None,
        },
    };
    let (done, result) = oneshot::channel();
    let watch = move || {
        let (finished, wait) = mpsc::channel();
        let flag = abandoned.clone();
        let worker = move || {
            let result = work(&flag);
            // A result is handed over only when nothing of the work is held any more.
            drop(place);
            // Whoever waits may be gone.
            drop(finished.send(result));
        };
        thread::Builder::new().stack_size(STACK_BYTES).spawn(worker).ok()?;
        match wait.recv_timeout(TIME) {
            Ok(result) => drop(done.send(result)),
            Err(_) => abandoned.0.store(true, Ordering::Relaxed),
        }
        Some(())
    };
    thread::Builder::new().spawn(watch).ok()?;
    result.await.ok()
}

/// Over when a call has waited long enough for its turn; on a thread, since not every runtime has a clock.
async fn time_passes() {
    let (over, wait) = oneshot::channel::<()>();
    let (gone, left) = mpsc::channel::<()>();
    let clock = move || {
        // Ends at once when the call has its place, or is gone.
        if left.recv_timeout(TIME) == Err(mpsc::RecvTimeoutError::Timeout) {
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
    use std::{sync::atomic::AtomicUsize, time::Instant};

    use super::*;

    #[tokio::test]
    async fn a_panic_stays_where_it_is() {
        assert_eq!(off_thread(|_| 1).await, Some(1));
        assert_eq!(off_thread(|_| panic!("as expected")).await, None::<()>);
        assert_eq!(off_thread(|_| 2).await, Some(2));
    }

    #[tokio::test]
    async fn calls_that_are_cancelled_leave_no_more_than_a_few_at_work_and_those_end() {
        static AT_WORK: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let endless = |abandoned: &Abandoned| {
            MOST.fetch_max(AT_WORK.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            while abandoned.go_on().is_some() {
                thread::sleep(Duration::from_millis(1));
            }
            // What cannot be interrupted goes on for a while, and keeps its place.
            thread::sleep(Duration::from_millis(20));
            AT_WORK.fetch_sub(1, Ordering::SeqCst);
        };
        let started = Instant::now();
        for _ in 0..20 {
            let call = tokio::time::timeout(Duration::from_millis(10), off_thread(endless));
            assert!(call.await.is_err());
        }
        assert_eq!(off_thread(|_| 3).await, Some(3));
        assert!((1..=AT_ONCE).contains(&MOST.load(Ordering::SeqCst)));
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    }
}
