//! Connections on which nobody has shown the token yet.
//!
//! Whatever runs in the sandbox may be able to connect, so these are worth nothing: they hold no lease, take the place
//! of no client, are few at a time and end soon. When one is too many, the one that goes is of the process with the
//! most of them: a flood closes its own, and an honest client gets in.

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use tokio::{sync::oneshot, time::timeout};

/// How long a connection may take to show the token.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most such connections at a time.
const PLACES: usize = 64;

/// Who waits, the longest first.
#[derive(Debug, Default)]
pub(super) struct WaitingRoom {
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    /// Whose connection it is, as far as that is known.
    process: Option<i32>,
    /// Dropped, it ends the wait. Closed, the wait is over.
    hold: oneshot::Sender<Infallible>,
}

/// The wait of one connection. Who drops it gives the place to the next.
pub(super) struct Wait(oneshot::Receiver<Infallible>);

impl Wait {
    /// Returns when the connection has waited for too long, or others need its place.
    pub(super) async fn over(self) {
        let _ = timeout(PATIENCE, self.0).await;
    }
}

impl WaitingRoom {
    /// A place for a connection of this process, if need be at the cost of another.
    pub(super) fn enter(&mut self, process: Option<i32>) -> Wait {
        self.places.retain(|place| !place.hold.is_closed());
        if self.places.len() >= PLACES {
            let goes = self.one_too_many();
            self.places.remove(goes);
        }
        let (hold, wait) = oneshot::channel();
        self.places.push(Place { process, hold });
        Wait(wait)
    }

    /// The oldest of the process that has the most.
    fn one_too_many(&self) -> usize {
        let mut of_process = BTreeMap::<_, usize>::new();
        for place in &self.places {
            *of_process.entry(place.process).or_default() += 1;
        }
        let most = of_process.values().max();
        self.places.iter().position(|place| of_process.get(&place.process) == most).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_over(wait: &mut Wait) -> bool {
        wait.0.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn the_oldest_goes_when_all_are_of_one_process() {
        let mut room = WaitingRoom::default();
        let mut waits: Vec<_> = (0..PLACES + 2).map(|_| room.enter(Some(7))).collect();
        let over: Vec<_> = waits.iter_mut().map(is_over).collect();
        assert_eq!(over.iter().filter(|over| **over).count(), 2);
        assert!(over[0] && over[1]);
    }

    #[test]
    fn a_flood_of_one_process_closes_its_own() {
        let mut room = WaitingRoom::default();
        let mut honest = room.enter(Some(1));
        let flood: Vec<_> = (0..10 * PLACES).map(|_| room.enter(Some(2))).collect();
        assert!(!is_over(&mut honest));
        assert_eq!(room.places.len(), PLACES);
        drop(flood);
        let _next = room.enter(Some(2));
        assert_eq!(room.places.len(), 2, "who does not wait any more has no place");
    }
}
