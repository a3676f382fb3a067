//! Quotas for calls: how many run at once, and how many bytes of them are held.
//!
//! Invariant: a client uses no more than its share of either, so that calls it leaves open block only itself;
//! and a call that waits for a person holds no permit to run.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{CALLS, CALLS_PER_CLIENT, HELD_KILOBYTES, HELD_KILOBYTES_PER_CLIENT, SMALL_CALL_KILOBYTES};

/// The quota of a server, and the share of one client in it.
#[derive(Clone, Debug)]
pub(crate) struct Quota {
    server: Budget,
    client: Budget,
    /// The server's kilobytes for calls that are not small.
    large: Arc<Semaphore>,
}

#[derive(Clone, Debug)]
struct Budget {
    calls: Arc<Semaphore>,
    kilobytes: Arc<Semaphore>,
}

impl Budget {
    fn new(calls: usize, kilobytes: u32) -> Self {
        Self { calls: Arc::new(Semaphore::new(calls)), kilobytes: Arc::new(Semaphore::new(kilobytes as usize)) }
    }

    fn of_one_client() -> Self {
        Self::new(CALLS_PER_CLIENT, HELD_KILOBYTES_PER_CLIENT)
    }
}

impl Default for Quota {
    fn default() -> Self {
        let large = Arc::new(Semaphore::new(HELD_KILOBYTES as usize));
        Self { server: Budget::new(CALLS, HELD_KILOBYTES), client: Budget::of_one_client(), large }
    }
}

/// The bytes of a call, counted until the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct HeldBytes {
    _permits: Arc<Vec<OwnedSemaphorePermit>>,
}

/// The bytes of a message whose client is not known yet.
#[derive(Clone, Debug)]
pub(crate) struct IncomingBytes(Arc<OwnedSemaphorePermit>);

impl Quota {
    /// Returns the same quota with the share of another client.
    pub(crate) fn for_another_client(&self) -> Self {
        Self { client: Budget::of_one_client(), ..self.clone() }
    }

    /// Returns a permit that is not acquired yet.
    pub(crate) fn permit(&self) -> Permit {
        Permit { quota: self.clone(), permits: Mutex::default() }
    }

    /// Waits until a call of so many bytes can be held.
    pub(crate) async fn hold(&self, bytes: usize) -> HeldBytes {
        let kilobytes = kilobytes(bytes);
        let client = Arc::clone(&self.client.kilobytes).acquire_many_owned(kilobytes).await;
        let of_size = if kilobytes > SMALL_CALL_KILOBYTES { &self.large } else { &self.server.kilobytes };
        let server = Arc::clone(of_size).acquire_many_owned(kilobytes).await;
        HeldBytes { _permits: Arc::new(client.into_iter().chain(server).collect()) }
    }

    /// Holds a call that has arrived; `None` at capacity.
    pub(crate) fn try_hold(&self, incoming: Option<&IncomingBytes>) -> Option<HeldBytes> {
        let kilobytes = incoming.map_or(SMALL_CALL_KILOBYTES, IncomingBytes::kilobytes);
        let mut permits = vec![Arc::clone(&self.client.kilobytes).try_acquire_many_owned(kilobytes).ok()?];
        if incoming.is_none() {
            permits.push(Arc::clone(&self.server.kilobytes).try_acquire_many_owned(kilobytes).ok()?);
        }
        Some(HeldBytes { _permits: Arc::new(permits) })
    }

    /// Reserves the bytes of a message that is not small, before it is read; `None` at capacity.
    pub(crate) fn try_receive(&self, bytes: usize) -> Option<IncomingBytes> {
        let permit = Arc::clone(&self.large).try_acquire_many_owned(kilobytes(bytes)).ok()?;
        Some(IncomingBytes(Arc::new(permit)))
    }
}

impl IncomingBytes {
    fn kilobytes(&self) -> u32 {
        u32::try_from(self.0.num_permits()).unwrap_or(HELD_KILOBYTES_PER_CLIENT)
    }
}

fn kilobytes(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).clamp(SMALL_CALL_KILOBYTES, HELD_KILOBYTES_PER_CLIENT)
}

/// The permit of a call to run, released while the call waits for a person.
#[derive(Debug)]
pub(crate) struct Permit {
    quota: Quota,
    permits: Mutex<Vec<OwnedSemaphorePermit>>,
}

impl Permit {
    /// Waits for the permit, unless the call has it.
    pub(crate) async fn acquire(&self) {
        if !self.permits().is_empty() {
            return;
        }
        // The semaphores are never closed, so that both give a permit in the end.
        let client = Arc::clone(&self.quota.client.calls).acquire_owned().await;
        let server = Arc::clone(&self.quota.server.calls).acquire_owned().await;
        *self.permits() = client.into_iter().chain(server).collect();
    }

    /// Lets another call run.
    pub(crate) fn release(&self) {
        self.permits().clear();
    }

    fn permits(&self) -> std::sync::MutexGuard<'_, Vec<OwnedSemaphorePermit>> {
        self.permits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a future is ready at once.
    async fn is_ready(future: impl Future<Output = ()>) -> bool {
        tokio::select! {
            biased;
            () = future => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn a_client_that_uses_its_whole_share_leaves_the_rest_to_others() {
        let quota = Quota::default();
        let permits: Vec<Permit> = (0..CALLS_PER_CLIENT).map(|_| quota.permit()).collect();
        for permit in &permits {
            permit.acquire().await;
        }
        let one_more = quota.permit();
        assert!(!is_ready(one_more.acquire()).await, "the share of the client is used up");
        quota.for_another_client().permit().acquire().await;
        permits[0].release();
        one_more.acquire().await;
    }

    #[tokio::test]
    async fn bytes_are_shared_the_same_way() {
        let quota = Quota::default();
        let _half = quota.hold(16 * 1024 * 1024).await;
        let incoming = quota.try_receive(16 * 1024 * 1024).unwrap();
        let other_half = quota.try_hold(Some(&incoming)).unwrap();
        assert!(quota.try_hold(None).is_none());
        let other = quota.for_another_client();
        assert!(other.try_hold(None).is_some());
        drop(other_half);
        assert!(quota.try_hold(None).is_some());
        // The bytes of the server are used once, by any client.
        let much: Vec<_> = (0..6).map(|_| other.try_receive(16 * 1024 * 1024).unwrap()).collect();
        assert!(other.try_receive(100_000).is_none());
        assert!(other.try_hold(None).is_some(), "small calls have a budget of their own");
        drop(much);
        assert!(other.try_receive(100_000).is_some());
    }
}
