//! Room for calls: how many are carried out at a time, and how many bytes of them are held.
//!
//! Invariant: of both a client has no more than its share, so that what it leaves open is at most its own
//! loss; and a call that waits for a person takes no turn of others.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{CALL_KILOBYTES, CALLS, CALLS_OF_ONE, HELD_KILOBYTES, HELD_KILOBYTES_OF_ONE};

/// The room of a server, and the share of one client in it.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    whole: Part,
    share: Part,
    /// Of the whole, for calls that are not small.
    large: Arc<Semaphore>,
}

#[derive(Clone, Debug)]
struct Part {
    turns: Arc<Semaphore>,
    kilobytes: Arc<Semaphore>,
}

impl Part {
    fn new(turns: usize, kilobytes: u32) -> Self {
        Self { turns: Arc::new(Semaphore::new(turns)), kilobytes: Arc::new(Semaphore::new(kilobytes as usize)) }
    }

    fn share() -> Self {
        Self::new(CALLS_OF_ONE, HELD_KILOBYTES_OF_ONE)
    }
}

impl Default for Room {
    fn default() -> Self {
        let large = Arc::new(Semaphore::new(HELD_KILOBYTES as usize));
        Self { whole: Part::new(CALLS, HELD_KILOBYTES), share: Part::share(), large }
    }
}

/// The bytes of a call; there is room for others when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    _permits: Arc<Vec<OwnedSemaphorePermit>>,
}

/// The bytes of a message of which it is not yet known whose it is.
#[derive(Clone, Debug)]
pub(crate) struct InTransit(Arc<OwnedSemaphorePermit>);

impl Room {
    /// The same room with a share for another client.
    pub(crate) fn for_another_client(&self) -> Self {
        Self { share: Part::share(), ..self.clone() }
    }

    /// A call that has not had its turn yet.
    pub(crate) fn turn(&self) -> Turn {
        Turn { room: self.clone(), permits: Mutex::default() }
    }

    /// Waits for room for a call of so many bytes.
    pub(crate) async fn hold(&self, bytes: usize) -> Held {
        let kilobytes = kilobytes(bytes);
        let share = Arc::clone(&self.share.kilobytes).acquire_many_owned(kilobytes).await;
        let of_size = if kilobytes > CALL_KILOBYTES { &self.large } else { &self.whole.kilobytes };
        let whole = Arc::clone(of_size).acquire_many_owned(kilobytes).await;
        Held { _permits: Arc::new(share.into_iter().chain(whole).collect()) }
    }

    /// Room for a call that is already here, if there is any.
    pub(crate) fn try_hold(&self, arrived: Option<&InTransit>) -> Option<Held> {
        let kilobytes = arrived.map_or(CALL_KILOBYTES, InTransit::kilobytes);
        let mut permits = vec![Arc::clone(&self.share.kilobytes).try_acquire_many_owned(kilobytes).ok()?];
        if arrived.is_none() {
            permits.push(Arc::clone(&self.whole.kilobytes).try_acquire_many_owned(kilobytes).ok()?);
        }
        Some(Held { _permits: Arc::new(permits) })
    }

    /// Room for a message that is not small and about to be read, if there is any.
    pub(crate) fn try_receive(&self, bytes: usize) -> Option<InTransit> {
        let permit = Arc::clone(&self.large).try_acquire_many_owned(kilobytes(bytes)).ok()?;
        Some(InTransit(Arc::new(permit)))
    }
}

impl InTransit {
    fn kilobytes(&self) -> u32 {
        u32::try_from(self.0.num_permits()).unwrap_or(HELD_KILOBYTES_OF_ONE)
    }
}

fn kilobytes(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).clamp(CALL_KILOBYTES, HELD_KILOBYTES_OF_ONE)
}

/// The turn of a call, which it can give back while it waits for something else.
#[derive(Debug)]
pub(crate) struct Turn {
    room: Room,
    permits: Mutex<Vec<OwnedSemaphorePermit>>,
}

impl Turn {
    /// Waits until it is this call's turn; nothing if it already is.
    pub(crate) async fn take(&self) {
        if !self.permits().is_empty() {
            return;
        }
        // Never closed, so that there is always a permit in the end.
        let share = Arc::clone(&self.room.share.turns).acquire_owned().await;
        let whole = Arc::clone(&self.room.whole.turns).acquire_owned().await;
        *self.permits() = share.into_iter().chain(whole).collect();
    }

    /// Lets others have their turn.
    pub(crate) fn give_back(&self) {
        self.permits().clear();
    }

    fn permits(&self) -> std::sync::MutexGuard<'_, Vec<OwnedSemaphorePermit>> {
        self.permits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_takes_a_whole_share_leaves_the_rest_to_others() {
        let room = Room::default();
        let turns: Vec<Turn> = (0..CALLS_OF_ONE).map(|_| room.turn()).collect();
        for turn in &turns {
            turn.take().await;
        }
        let soon = std::time::Duration::from_millis(20);
        let mine = room.turn();
        assert!(tokio::time::timeout(soon, mine.take()).await.is_err());
        room.for_another_client().turn().take().await;
        turns[0].give_back();
        mine.take().await;
    }

    #[tokio::test]
    async fn bytes_are_shared_the_same_way() {
        let room = Room::default();
        let _half = room.hold(16 * 1024 * 1024).await;
        let arrived = room.try_receive(16 * 1024 * 1024).unwrap();
        let other_half = room.try_hold(Some(&arrived)).unwrap();
        assert!(room.try_hold(None).is_none());
        let other = room.for_another_client();
        assert!(other.try_hold(None).is_some());
        drop(other_half);
        assert!(room.try_hold(None).is_some());
        // All of the room is taken once, whoever takes it.
        let much: Vec<_> = (0..6).map(|_| other.try_receive(16 * 1024 * 1024).unwrap()).collect();
        assert!(other.try_receive(100_000).is_none());
        assert!(other.try_hold(None).is_some(), "what is small has room of its own");
        drop(much);
        assert!(other.try_receive(100_000).is_some());
    }
}
