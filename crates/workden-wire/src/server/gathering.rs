//! The limit on content that is gathered in memory, for all calls together.
//!
//! Whole content is written faster than streamed content, which a backend may have to spool first. But many concurrent
//! writes must not fill the memory of a keeper.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits;

/// The memory budget for content.
#[derive(Debug, Default)]
pub(super) struct Gathering(AtomicU64);

impl Gathering {
    /// Reserves this many bytes until the reservation is dropped; `None` if the budget is too small.
    pub(super) fn room(&self, size: u64) -> Option<Room<'_>> {
        if size > limits::WHOLE_BYTES {
            return None;
        }
        let taken = |held: u64| held.checked_add(size).filter(|held| *held <= limits::GATHERED_BYTES);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        Some(Room { of: self, size })
    }
}

/// A reservation of memory.
#[derive(Debug)]
pub(super) struct Room<'a> {
    of: &'a Gathering,
    size: u64,
}

impl Room<'_> {
    /// Returns the number of reserved bytes.
    pub(super) fn size(&self) -> usize {
        usize::try_from(self.size).unwrap_or(usize::MAX)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.of.0.fetch_sub(self.size, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_until_it_is_taken_and_again_when_it_is_given_back() {
        let gathering = Gathering::default();
        assert!(gathering.room(limits::WHOLE_BYTES + 1).is_none());
        let rooms: Vec<_> = std::iter::from_fn(|| gathering.room(limits::WHOLE_BYTES)).collect();
        assert_eq!(rooms.len() as u64, limits::GATHERED_BYTES / limits::WHOLE_BYTES);
        assert!(gathering.room(1).is_none());
        drop(rooms);
        assert!(gathering.room(limits::WHOLE_BYTES).is_some());
    }
}
