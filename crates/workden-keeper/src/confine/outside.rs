//! The supervisor's part of the setup while the new process builds its root: user namespaces for mounts and commands,
//! a network, and control groups. Then it supervises the finished sandbox.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, pidfd_send_signal, setrlimit};
use workden_core::{
    Error,
    sandbox::{Confinement, Network},
};

use super::{
    ids::{self, Ids, OwnerNamespaces},
    layout::Purpose,
    network,
    setup_channel::SetupChannel,
};
use crate::{
    cgroup::{CreatedGroups, Group, GroupPlan},
    supervisor::{self, Leftovers, Owner, SandboxTies, SupervisedSandbox},
    sys::close_all_but,
};

/// A sandbox that is being set up, as its supervisor sees it.
pub(crate) struct OutsideSetup {
    /// The process that becomes PID 1.
    pub(super) first: Pid,
    pub(super) process: OwnedFd,
    pub(super) link: SetupChannel,
    pub(super) ids: Ids,
    /// The owners of the files it shows.
    pub(super) owners: Vec<(u32, u32)>,
    pub(super) groups: GroupPlan,
    /// The groups, if they had to exist before the process.
    pub(super) group: Option<Group>,
}

impl OutsideSetup {
    /// Returns the process that becomes PID 1.
    pub(crate) fn first(&self) -> Pid {
        self.first
    }

    /// Returns the descriptor of that process.
    pub(crate) fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// Gives the new process what it needs, and becomes its supervisor. Returns only with the reason why there is no
    /// sandbox; nothing is left of it then.
    ///
    /// The caller need not be the parent of the new process. For one command, all descriptors are closed but `keep`
    /// and those of the supervisor, once the command does not wait for them.
    pub(crate) fn oversee(
        self,
        confinement: &Confinement,
        purpose: Purpose,
        ties: SandboxTies,
        keep: &[BorrowedFd<'_>],
    ) -> Error {
        let Self { first, process, link, ids, owners, groups, mut group } = self;
        let SandboxTies { owner, directory } = ties;
        let mut made = group.as_mut().map(Group::take_made).unwrap_or_default();
        // Commands of the same user may have many descriptors in flight, which the kernel counts against the sender.
        raise_open_files();
        let in_group = group.as_ref().is_some_and(|group| group.keeper().is_some());
        let make = || {
            let (owners, makers) = OwnerNamespaces::for_all(owners, ids)?;
            link.send_owners(owners)?;
            if let (Network::None, Ids::OfSandbox(_)) = (confinement.network, ids) {
                link.send_network(network::make()?)?;
            }
            let mut makers = vec![makers];
            if let Ids::OfSandbox(_) = ids {
                let (made, maker) = ids::namespace_of_commands(ids)?;
                makers.push(maker);
                link.send_user_namespace(made)?;
            }
            let group = group.unwrap_or_else(|| {
                let mut group = groups.make();
                made = group.take_made();
                group
            });
            link.send_group(group)?;
            if purpose == Purpose::OneCommand {
                let own = [Some(process.as_fd()), Some(link.descriptor()), owner.as_ref().map(Owner::descriptor)];
                let kept = own.into_iter().flatten().chain(keep.iter().copied());
                close_all_but(&mut kept.map(|fd| fd.as_raw_fd()).chain(0..=2).collect::<Vec<_>>());
            }
            drop(makers);
            link.wait_until_ready()
        };
        let ready = make();
        // A process that is in the groups is waited for, whatever it reports.
        let last_word = (purpose == Purpose::OneCommand && !in_group && ready.is_ok()).then(|| link.into_descriptor());
        match ready {
            Ok(()) => {
                let wall_clock = confinement.limits.wall_clock.map(|limit| limit.value);
                let (groups, left) = (made, Leftovers::Nothing);
                supervisor::supervise(SupervisedSandbox {
                    first,
                    process,
                    last_word,
                    owner,
                    wall_clock,
                    groups,
                    left,
                    directory,
                })
            }
            Err(error) => {
                undo(first, &process, made);
                error
            }
        }
    }

    /// Removes everything of the setup, when there is no supervisor for it.
    pub(crate) fn abandon(mut self) {
        let made = self.group.as_mut().map(Group::take_made).unwrap_or_default();
        undo(self.first, &self.process, made);
    }
}

/// Kills the new process, and removes what was made for it.
fn undo(first: Pid, process: &OwnedFd, made: CreatedGroups) {
    let _ = pidfd_send_signal(process, Signal::KILL);
    supervisor::wait_for_end(first, process);
    made.remove();
}

/// Raises the limit of open files: the kernel allows as many descriptors in flight.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
