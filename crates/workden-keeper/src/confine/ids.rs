//! The user and group ids of commands. Inside, commands are user 1000. Outside, they are an unprivileged id of this
//! sandbox alone when root started it, and the user who started it otherwise.
//!
//! Invariant: commands never have the host's user 0, nor a supplementary group of the user who started them.

use std::{
    fs,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::{Errno, write},
    process::{getegid, geteuid},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use workden_core::{Error, ErrorKind};

use super::{
    errors::{ASK_DOCTOR, refused},
    landlock::or_landlock_level,
    layout::{INSIDE, in_sandbox},
};
use crate::sys::NamespaceHolder;

/// The first id of sandboxes that root starts, above the ids that systems assign. Each sandbox has one of its own, so
/// that sandboxes share no per-user limits.
const FIRST_OF_SANDBOXES: u32 = 0x7000_0000;

/// The ids of commands on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// Root started it: an id of this sandbox alone.
    OfSandbox(u32),
    /// An ordinary user started it: that user's ids.
    OfStarter {
        /// The user.
        uid: u32,
        /// The group.
        gid: u32,
    },
}

impl Ids {
    /// Returns the ids for a sandbox that this process makes. Fails for root in a container without root's
    /// capabilities: commands would run as the host's user 0.
    pub(super) fn of_this_process() -> Result<Self, Error> {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        if uid != 0 || !sees_all_ids() {
            return Ok(Self::OfStarter { uid, gid });
        }
        if has_rights_of_root() {
            let own = rustix::process::getpid().as_raw_pid().unsigned_abs();
            return Ok(Self::OfSandbox(FIRST_OF_SANDBOXES + own));
        }
        let sentence = "the sandbox cannot start: root lacks CAP_SYS_ADMIN here, and commands never run as user 0";
        let error = Error::new(ErrorKind::Unsupported, sentence)
            .hint("start it as an ordinary user, or add CAP_SYS_ADMIN to the container");
        Err(or_landlock_level(error))
    }

    /// Returns user and group as ids of the host.
    pub(super) fn on_host(self) -> (u32, u32) {
        match self {
            Self::OfSandbox(id) => (id, id),
            Self::OfStarter { uid, gid } => (uid, gid),
        }
    }
}

/// Returns whether user 0 here is the machine's root. In the user namespace of a container it is not.
pub(super) fn sees_all_ids() -> bool {
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]))
}

/// Returns whether user 0 may make namespaces and change owners. In a container it often may not.
fn has_rights_of_root() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    let wanted = CapabilitySet::SYS_ADMIN | CapabilitySet::SETUID | CapabilitySet::SETGID | CapabilitySet::CHOWN;
    capabilities(None).is_ok_and(|sets| sets.effective.contains(wanted))
}

/// Creates a user namespace in which commands have their inside ids. Only root may call this; a process that needs
/// root's rights no longer enters it.
pub(super) fn namespace_of_commands(ids: Ids) -> Result<(OwnedFd, NamespaceMakers), Error> {
    let (made, maker) = namespace_for((INSIDE, INSIDE), ids).map_err(why_no_user_namespace)?;
    Ok((made, NamespaceMakers(vec![maker])))
}

/// Enters a user namespace that the supervisor made. This process must have one thread only.
pub(super) fn enter(made: &OwnedFd) -> Result<(), Error> {
    move_into_link_name_space(made.as_fd(), Some(LinkNameSpaceType::User))
        .map_err(|errno| refused("enter the user namespace", errno))
}

/// Maps the inside ids of this process, which is in a new user namespace, to the user who started it.
pub(super) fn map_own(ids: Ids) -> Result<(), Error> {
    let (uid, gid) = ids.on_host();
    // Without this an ordinary user may not map a group.
    put("/proc/self/setgroups", "deny")
        .and_then(|()| map("self", (INSIDE, uid), (INSIDE, gid)))
        .map_err(|errno| refused("map the ids of commands", errno))
}

fn map(process: &str, uid: (u32, u32), gid: (u32, u32)) -> Result<(), Errno> {
    put(&format!("/proc/{process}/uid_map"), &format!("{} {} 1", uid.0, uid.1))?;
    put(&format!("/proc/{process}/gid_map"), &format!("{} {} 1", gid.0, gid.1))
}

fn put(path: &str, text: &str) -> Result<(), Errno> {
    let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    write(file, text.as_bytes()).map(drop)
}

/// User namespaces through which mounts show the files of an owner as the sandbox's own, one per owner.
#[derive(Default)]
pub(super) struct OwnerNamespaces(Vec<((u32, u32), OwnedFd)>);

/// The processes that hold such namespaces. Ending them takes a while, and users of the namespaces do not wait for
/// it.
#[derive(Default)]
pub(super) struct NamespaceMakers(
    #[expect(dead_code, reason = "dropping them is what ends them")] Vec<NamespaceHolder>,
);

impl OwnerNamespaces {
    /// Creates the namespaces that show the files of these owners as those of `ids`. Only sandboxes of root need
    /// them: the commands of an ordinary user are that user.
    pub(super) fn for_all(mut owners: Vec<(u32, u32)>, ids: Ids) -> Result<(Self, NamespaceMakers), Error> {
        let Ids::OfSandbox(_) = ids else { return Ok(Default::default()) };
        owners.sort_unstable();
        owners.dedup();
        let (mut made, mut makers) = (Vec::new(), Vec::new());
        for owner in owners {
            let (namespace, maker) =
                namespace_for(owner, ids).map_err(|errno| refused("create a user namespace for a mount", errno))?;
            made.push((owner, namespace));
            makers.push(maker);
        }
        Ok((Self(made), NamespaceMakers(makers)))
    }

    /// Returns the namespace for an owner.
    pub(super) fn find(&self, owner: (u32, u32)) -> Option<&OwnedFd> {
        self.0.iter().find(|(known, _)| *known == owner).map(|(_, namespace)| namespace)
    }

    /// Returns the owners, and their namespaces in the same order.
    pub(super) fn into_parts(self) -> (Vec<(u32, u32)>, Vec<OwnedFd>) {
        self.0.into_iter().unzip()
    }

    /// Builds the value from the parts of [`Self::into_parts`].
    pub(super) fn from_parts(owners: Vec<(u32, u32)>, namespaces: Vec<OwnedFd>) -> Self {
        Self(owners.into_iter().zip(namespaces).collect())
    }
}

/// Creates a user namespace that maps an owner on disk to ids of the host, and the process that holds it.
fn namespace_for(owner: (u32, u32), ids: Ids) -> Result<(OwnedFd, NamespaceHolder), Errno> {
    let holder = NamespaceHolder::start()?;
    let pid = holder.pid().as_raw_pid();
    let (uid, gid) = ids.on_host();
    map(&pid.to_string(), (owner.0, uid), (owner.1, gid))?;
    let namespace = openat(CWD, format!("/proc/{pid}/ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((namespace, holder))
}

/// Returns why the kernel makes no user namespace for an ordinary user, judging by its settings, and what to do
/// instead.
pub(super) fn why_no_user_namespace(errno: Errno) -> Error {
    if in_sandbox() {
        let sentence = "the sandbox cannot start: sandboxes cannot be nested";
        return Error::new(ErrorKind::Unsupported, sentence)
            .hint("run the command directly, it is isolated already; or start another sandbox on the host");
    }
    or_landlock_level(no_user_namespace(errno))
}

fn no_user_namespace(errno: Errno) -> Error {
    let says = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    let sentence = "the sandbox cannot start: this user may not create user namespaces";
    let error = Error::new(ErrorKind::Unsupported, sentence);
    if says("/proc/sys/user/max_user_namespaces", "0") {
        return error.hint("run `sysctl -w user.max_user_namespaces=10000`");
    }
    if says("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return error.hint("run `sysctl -w kernel.unprivileged_userns_clone=1`");
    }
    if says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return error.hint("AppArmor restricts them; run `workden doctor` for a profile that allows them");
    }
    match errno {
        Errno::PERM => error.hint("in a container, start it with `--security-opt seccomp=unconfined`"),
        _ => error.hint(ASK_DOCTOR),
    }
}
