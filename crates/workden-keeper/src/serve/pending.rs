//! Connections that have not shown the token yet.
//!
//! Any process in the sandbox may be able to connect, so pending connections are limited: they hold no lease, take no
//! slot of a client, are few at a time and time out soon. When there are too many, the peer with the most loses its
//! oldest: a flood evicts itself, and an honest client gets in.

use std::{collections::BTreeMap, convert::Infallible, net::IpAddr, time::Duration};

use tokio::{sync::oneshot, time::timeout};

/// How long a connection may take to show the token.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most such connections at a time.
const SLOTS: usize = 64;

/// The pending connections, the oldest first.
#[derive(Debug, Default)]
pub(super) struct PendingConnections {
    slots: Vec<PendingSlot>,
}

/// The other side of a connection, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Peer {
    /// A process in the sandbox.
    Process(Option<i32>),
    /// An address of the network. All processes of the sandbox have the same.
    Address(IpAddr),
}

#[derive(Debug)]
struct PendingSlot {
    peer: Peer,
    /// Dropping it ends the wait. It is closed when the wait is over.
    hold: oneshot::Sender<Infallible>,
}

/// The wait of one connection. Dropping it frees the slot.
pub(super) struct PendingWait(oneshot::Receiver<Infallible>);

impl PendingWait {
    /// Returns when the connection has timed out, or was evicted.
    pub(super) async fn over(self) {
        let _ = timeout(PATIENCE, self.0).await;
    }
}

impl PendingConnections {
    /// Adds a connection of this peer, and evicts another if there are too many.
    pub(super) fn enter(&mut self, peer: Peer) -> PendingWait {
        self.slots.retain(|slot| !slot.hold.is_closed());
        if self.slots.len() >= SLOTS {
            let goes = self.one_too_many();
            self.slots.remove(goes);
        }
        let (hold, wait) = oneshot::channel();
        self.slots.push(PendingSlot { peer, hold });
        PendingWait(wait)
    }

    /// Returns the oldest connection of the peer with the most.
    fn one_too_many(&self) -> usize {
        let mut of_peer = BTreeMap::<_, usize>::new();
        for slot in &self.slots {
            *of_peer.entry(slot.peer).or_default() += 1;
        }
        let most = of_peer.values().max();
        self.slots.iter().position(|slot| of_peer.get(&slot.peer) == most).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_over(wait: &mut PendingWait) -> bool {
        wait.0.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn the_oldest_goes_when_all_are_of_one_process() {
        let mut pending = PendingConnections::default();
        let mut waits: Vec<_> = (0..SLOTS + 2).map(|_| pending.enter(Peer::Process(Some(7)))).collect();
        let over: Vec<_> = waits.iter_mut().map(is_over).collect();
        assert_eq!(over.iter().filter(|over| **over).count(), 2);
        assert!(over[0] && over[1]);
    }

    #[test]
    fn a_flood_of_one_process_closes_its_own() {
        let mut pending = PendingConnections::default();
        let mut honest = pending.enter(Peer::Process(Some(1)));
        let flood: Vec<_> = (0..10 * SLOTS).map(|_| pending.enter(Peer::Process(Some(2)))).collect();
        assert!(!is_over(&mut honest));
        assert_eq!(pending.slots.len(), SLOTS);
        drop(flood);
        let _next = pending.enter(Peer::Process(Some(2)));
        assert_eq!(pending.slots.len(), 2, "who does not wait any more has no slot");
    }
}
