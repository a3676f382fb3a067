//! What the supervisor does for the new process while that builds its root: user namespaces for
//! mounts, a network, control groups, and the mapping of its ids. Then it looks after the finished sandbox.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal, pidfd_send_signal};
use workden_core::{
    Error,
    sandbox::{Confinement, Network},
};

use super::{
    ids::{self, Ids, Owners},
    link::{Link, Said},
    network,
};
use crate::{
    cgroup::{Group, Plan},
    supervisor::{self, Charge, Left, Owner},
};

/// A sandbox that is being made, as its supervisor sees it.
pub(crate) struct Outside {
    /// The process that becomes PID 1.
    pub(super) first: Pid,
    pub(super) process: OwnedFd,
    pub(super) link: Link,
    pub(super) ids: Ids,
    /// Whose files it shows.
    pub(super) owners: Vec<(u32, u32)>,
    pub(super) groups: Plan,
    /// The groups, where they had to be there first.
    pub(super) group: Option<Group>,
}

impl Outside {
    /// The process that becomes PID 1.
    pub(crate) fn first(&self) -> Pid {
        self.first
    }

    /// Gives the new process what it needs, and becomes its supervisor. Comes back only with the
    /// reason why there will be no sandbox; nothing is left of it then.
    ///
    /// The caller need not be the parent of the new process.
    pub(crate) fn oversee(self, confinement: &Confinement, owner: Option<Pid>) -> Error {
        let Self { first, process, link, ids, owners, groups, mut group } = self;
        let mut made = group.as_mut().map(Group::take_made).unwrap_or_default();
        let ready = owner.map(Owner::open).transpose().and_then(|owner| {
            link.give_owners(Owners::for_all(owners, ids)?)?;
            if let (Network::None, Ids::OfSandbox(_)) = (confinement.network, ids) {
                link.give_network(network::make()?)?;
            }
            let group = group.unwrap_or_else(|| {
                let mut group = groups.make();
                made = group.take_made();
                group
            });
            link.give_group(group)?;
            wait_until_ready(&link, first, ids)?;
            Ok(owner)
        });
        drop(link);
        match ready {
            Ok(owner) => {
                let wall_clock = confinement.limits.wall_clock.map(|limit| limit.value);
                supervisor::supervise(Charge { first, process, owner, wall_clock, groups: made, left: Left::Nothing })
            }
            Err(error) => {
                let _ = pidfd_send_signal(&process, Signal::KILL);
                supervisor::wait_for_end(first, &process);
                made.remove();
                error
            }
        }
    }
}

/// Answers the new process until it is ready.
fn wait_until_ready(process: &Link, pid: Pid, ids: Ids) -> Result<(), Error> {
    loop {
        match process.hear() {
            Said::WantsIds => {
                ids::map_for(pid, ids)?;
                process.ids_are_mapped()?;
            }
            Said::Ready => return Ok(()),
            Said::Failed(error) => return Err(error),
        }
    }
}
