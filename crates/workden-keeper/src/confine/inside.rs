//! What the new process does until it is PID 1 of a finished sandbox, in order: look at the host,
//! build a root, leave the host, let go of every right, and close the doors behind it.

use std::path::PathBuf;

use rustix::{
    fs::Mode,
    net::{AddressFamily, SocketFlags, SocketType, socket_with},
    process::{setsid, umask},
    system::sethostname,
    thread::set_thread_groups,
};
use workden_core::{
    Error,
    sandbox::{Confinement, Network, WorkFiles},
};

use super::{
    cover, devices,
    errors::{at_place, refused},
    etc::{HOST_NAME, Names},
    ids::{self, Ids, Owners},
    link::Link,
    privileges, procfs, programs,
    root::{self, NewRoot},
    scratch,
    sources::{self, Source},
    trees::attach,
};
use crate::sys_confine::{loopback_up, new_user_namespace};

/// Makes this process, which has its namespaces already, the PID 1 of the sandbox.
pub(super) fn become_first(
    confinement: &Confinement,
    ids: Ids,
    sources: Vec<Source>,
    owners: &Owners,
    supervisor: &Link,
) -> Result<(), Error> {
    // A session of its own has no terminal that a command could type into.
    setsid().map_err(|errno| refused("a session of its own", errno))?;
    umask(Mode::from_raw_mode(0o022));
    match ids {
        Ids::OfStarter { .. } => ids::map_own(ids)?,
        Ids::OfSandbox(_) => set_thread_groups(&[]).map_err(|errno| refused("leaving all groups", errno))?,
    }
    build_root(confinement, ids, sources, owners)?;
    sethostname(HOST_NAME.as_bytes()).map_err(|errno| refused("a host name of its own", errno))?;
    if confinement.network == Network::None {
        raise_loopback()?;
    }
    if let Ids::OfSandbox(_) = ids {
        new_user_namespace().map_err(ids::why_no_user_namespace)?;
        supervisor.ask_for_ids()?;
    }
    privileges::let_go(ids)
}

/// Builds the root and changes to it.
fn build_root(confinement: &Confinement, ids: Ids, sources: Vec<Source>, owners: &Owners) -> Result<(), Error> {
    root::cut_off()?;
    let programs = programs::gather(&confinement.root)?;
    let devices = devices::gather()?;
    let names = Names::of(confinement.network);
    let shown: Vec<sources::Cloned> =
        sources.into_iter().map(|source| source.clone(owners)).collect::<Result<_, _>>()?;

    let root = NewRoot::new(ids)?;
    let empty = cover::Empty::new(&root).map_err(|errno| refused("a root of its own", errno))?;
    programs.place(&root, &names)?;
    devices.place(&root)?;
    procfs::place(&root, &empty)?;
    scratch::place(&root, ids, confinement.limits.tmp_size.map(|limit| limit.value))?;
    if let WorkFiles::Ephemeral { most_bytes } = confinement.work {
        scratch::workspace(&root, ids, confinement.directory.as_str(), most_bytes)?;
    }
    for source in shown {
        let at = source.at.as_str();
        root.place_for(at, source.kind)
            .and_then(|place| attach(source.tree, place))
            .map_err(|errno| at_place(at, errno))?;
    }
    root.enter()?;
    cover::make_read_only(&confinement.read_only)?;
    empty.mask(&confinement.masked)?;
    root::seal()
}

fn raise_loopback() -> Result<(), Error> {
    socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .and_then(loopback_up)
        .map_err(|errno| refused("a loopback of its own", errno))
}

/// Where commands start, as they see it.
pub(super) fn directory(confinement: &Confinement) -> PathBuf {
    PathBuf::from(confinement.directory.as_str())
}
