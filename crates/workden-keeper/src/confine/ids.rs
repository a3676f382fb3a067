//! Whose ids the commands have. Inside, everybody is user 1000; outside, that is an unprivileged id
//! of this sandbox's own when root started it, and otherwise whoever did.
//!
//! Invariant: the commands never have the host's user 0, nor a group of the starter's besides its own.

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

/// Where the ids of sandboxes begin that root starts: above those that systems give away by
/// themselves. Each has one of its own, so that their commands share no limits of a user.
const FIRST_OF_SANDBOXES: u32 = 0x7000_0000;

/// Whose ids the commands have on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// Root started it: ids of this sandbox's own.
    OfSandbox(u32),
    /// An ordinary user started it: that user.
    OfStarter {
        /// The user.
        uid: u32,
        /// The group.
        gid: u32,
    },
}

impl Ids {
    /// The ids for a sandbox that this process makes. Root of a container without the rights of
    /// root gets none: its commands would be the host's user 0.
    pub(super) fn of_this_process() -> Result<Self, Error> {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        if uid != 0 || !sees_all_ids() {
            return Ok(Self::OfStarter { uid, gid });
        }
        if has_rights_of_root() {
            let own = rustix::process::getpid().as_raw_pid().unsigned_abs();
            return Ok(Self::OfSandbox(FIRST_OF_SANDBOXES + own));
        }
        let sentence = "the sandbox cannot start: it was started by root without the rights of root, and commands \
                        never run as user 0";
        let error = Error::new(ErrorKind::Unsupported, sentence)
            .hint("start it as an ordinary user, or give the container CAP_SYS_ADMIN");
        Err(or_landlock_level(error))
    }

    /// The user and the group as numbers of the host.
    pub(super) fn on_host(self) -> (u32, u32) {
        match self {
            Self::OfSandbox(id) => (id, id),
            Self::OfStarter { uid, gid } => (uid, gid),
        }
    }
}

/// Whether user 0 here is the machine's: in the user namespace of a container it is somebody else.
pub(super) fn sees_all_ids() -> bool {
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]))
}

/// Whether user 0 may make namespaces and change owners: in a container it often may not.
fn has_rights_of_root() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    let wanted = CapabilitySet::SYS_ADMIN | CapabilitySet::SETUID | CapabilitySet::SETGID | CapabilitySet::CHOWN;
    capabilities(None).is_ok_and(|sets| sets.effective.contains(wanted))
}

/// A user namespace in which the commands have their inside ids, and the process that it was made in. To
/// be called by root, and entered by a process that root's rights have served.
pub(super) fn namespace_of_commands(ids: Ids) -> Result<(OwnedFd, NamespaceMakers), Error> {
    let (made, maker) = namespace_for((INSIDE, INSIDE), ids).map_err(why_no_user_namespace)?;
    Ok((made, NamespaceMakers(vec![maker])))
}

/// Goes where a supervisor made a user namespace. This process must have one thread only.
pub(super) fn enter(made: &OwnedFd) -> Result<(), Error> {
    move_into_link_name_space(made.as_fd(), Some(LinkNameSpaceType::User))
        .map_err(|errno| refused("a user namespace of its own", errno))
}

/// Maps the inside ids of this process, which is in a new user namespace, to those of its starter.
pub(super) fn map_own(ids: Ids) -> Result<(), Error> {
    let (uid, gid) = ids.on_host();
    // Without this an ordinary user may not map a group.
    put("/proc/self/setgroups", "deny")
        .and_then(|()| map("self", (INSIDE, uid), (INSIDE, gid)))
        .map_err(|errno| refused("mapping the ids of its commands", errno))
}

fn map(process: &str, uid: (u32, u32), gid: (u32, u32)) -> Result<(), Errno> {
    put(&format!("/proc/{process}/uid_map"), &format!("{} {} 1", uid.0, uid.1))?;
    put(&format!("/proc/{process}/gid_map"), &format!("{} {} 1", gid.0, gid.1))
}

fn put(path: &str, text: &str) -> Result<(), Errno> {
    let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    write(file, text.as_bytes()).map(drop)
}

/// User namespaces by which mounts show the files of an owner as the sandbox's own, one an owner.
#[derive(Default)]
pub(super) struct OwnerNamespaces(Vec<((u32, u32), OwnedFd)>);

/// The processes in which such namespaces were made. To end them takes a while, which whoever waits for
/// the namespaces need not wait for.
#[derive(Default)]
pub(super) struct NamespaceMakers(
    #[expect(dead_code, reason = "dropping them is what ends them")] Vec<NamespaceHolder>,
);

impl OwnerNamespaces {
    /// Those that show the files of these owners as those of `ids`. Only root's need any: an ordinary
    /// user's commands are that user.
    pub(super) fn for_all(mut owners: Vec<(u32, u32)>, ids: Ids) -> Result<(Self, NamespaceMakers), Error> {
        let Ids::OfSandbox(_) = ids else { return Ok(Default::default()) };
        owners.sort_unstable();
        owners.dedup();
        let (mut made, mut makers) = (Vec::new(), Vec::new());
        for owner in owners {
            let (namespace, maker) =
                namespace_for(owner, ids).map_err(|errno| refused("a user namespace for a mount", errno))?;
            made.push((owner, namespace));
            makers.push(maker);
        }
        Ok((Self(made), NamespaceMakers(makers)))
    }

    /// The namespace for this owner.
    pub(super) fn find(&self, owner: (u32, u32)) -> Option<&OwnedFd> {
        self.0.iter().find(|(known, _)| *known == owner).map(|(_, namespace)| namespace)
    }

    /// The owners, and their namespaces in the same order.
    pub(super) fn apart(self) -> (Vec<(u32, u32)>, Vec<OwnedFd>) {
        self.0.into_iter().unzip()
    }

    /// The reverse of [`Self::apart`].
    pub(super) fn together(owners: Vec<(u32, u32)>, namespaces: Vec<OwnedFd>) -> Self {
        Self(owners.into_iter().zip(namespaces).collect())
    }
}

/// A user namespace that maps an owner on disk to ids of the host. It needs a process to be made in.
fn namespace_for(owner: (u32, u32), ids: Ids) -> Result<(OwnedFd, NamespaceHolder), Errno> {
    let holder = NamespaceHolder::start()?;
    let pid = holder.pid().as_raw_pid();
    let (uid, gid) = ids.on_host();
    map(&pid.to_string(), (owner.0, uid), (owner.1, gid))?;
    let namespace = openat(CWD, format!("/proc/{pid}/ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((namespace, holder))
}

/// Why the kernel makes no user namespace for an ordinary user, as far as its settings say, and what
/// there is instead.
pub(super) fn why_no_user_namespace(errno: Errno) -> Error {
    if in_sandbox() {
        let sentence = "the sandbox cannot start: this is the inside of one, and there can be none in another";
        return Error::new(ErrorKind::Unsupported, sentence).hint(
            "run the command as it is, it is isolated here; or start the other sandbox beside this one, outside",
        );
    }
    or_landlock_level(no_user_namespace(errno))
}

fn no_user_namespace(errno: Errno) -> Error {
    let says = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    let sentence = "the sandbox cannot start: the kernel makes no user namespace for this user";
    let error = Error::new(ErrorKind::Unsupported, sentence);
    if says("/proc/sys/user/max_user_namespaces", "0") {
        return error.hint("`sysctl user.max_user_namespaces=10000` allows them; `workden doctor` says more");
    }
    if says("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return error.hint("`sysctl kernel.unprivileged_userns_clone=1` allows them; `workden doctor` says more");
    }
    if says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return error.hint("AppArmor restricts them; `workden doctor` prints a profile that allows them");
    }
    match errno {
        Errno::PERM => error.hint("in a container, it must be started with `--security-opt seccomp=unconfined`"),
        _ => error.hint(ASK_DOCTOR),
    }
}
