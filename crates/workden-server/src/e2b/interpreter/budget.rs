//! `Budget`: how many bytes of code and of answers may wait, in one sandbox and in the whole service.
//!
//! What waits carries its share with it, and gives it back when it is dropped.

use std::sync::{Arc, LazyLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that may wait in one sandbox.
const SANDBOX_BYTES: usize = 32 << 20;
/// Bytes that may wait in all sandboxes of this process.
const SERVICE_BYTES: usize = 256 << 20;
static SERVICE: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(SERVICE_BYTES)));

/// The budget of one sandbox, which is a part of that of the service.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<Semaphore>);

/// Bytes of a budget that are in use until this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    sandbox: OwnedSemaphorePermit,
    service: OwnedSemaphorePermit,
}

impl Default for Budget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(SANDBOX_BYTES)))
    }
}

impl Budget {
    /// Waits until the bytes are free. Dropped, it takes nothing.
    pub(super) async fn take(&self, bytes: usize) -> Share {
        let bytes = u32::try_from(bytes.min(SANDBOX_BYTES)).unwrap_or(u32::MAX);
        loop {
            let sandbox = Arc::clone(&self.0).acquire_many_owned(bytes).await;
            let service = Arc::clone(&SERVICE).acquire_many_owned(bytes).await;
            // The semaphores are never closed.
            if let (Ok(sandbox), Ok(service)) = (sandbox, service) {
                return Share { sandbox, service };
            }
        }
    }

    /// Takes bytes for code if they are free now. Code leaves half of the budget to answers, which it waits for.
    pub(super) fn take_for_code(&self, bytes: usize) -> Option<Share> {
        let is_half_left = |semaphore: &Semaphore, all: usize| semaphore.available_permits() >= all / 2 + bytes;
        if !is_half_left(&self.0, SANDBOX_BYTES) || !is_half_left(&SERVICE, SERVICE_BYTES) {
            return None;
        }
        let bytes = u32::try_from(bytes).ok()?;
        let sandbox = Arc::clone(&self.0).try_acquire_many_owned(bytes).ok()?;
        let service = Arc::clone(&SERVICE).try_acquire_many_owned(bytes).ok()?;
        Some(Share { sandbox, service })
    }
}

impl Share {
    /// Gives back what is more than some bytes.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        for permit in [&mut self.sandbox, &mut self.service] {
            drop(permit.split(permit.num_permits().saturating_sub(bytes)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_leaves_half_of_the_budget_and_a_share_comes_back() {
        let budget = Budget::default();
        let mut share = budget.take_for_code(SANDBOX_BYTES / 2).unwrap();
        assert!(budget.take_for_code(1).is_none());
        share.shrink_to(10);
        let second = budget.take_for_code(SANDBOX_BYTES / 2 - 10).unwrap();
        assert!(budget.take_for_code(1).is_none());
        drop((share, second));
        assert_eq!(budget.0.available_permits(), SANDBOX_BYTES);
    }
}
