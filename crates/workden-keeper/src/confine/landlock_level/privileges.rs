//! The user of commands without namespaces: the user who starts them, or, when root does, the owner of the work
//! directory. Never the machine's user 0.

use rustix::{
    fs::{Gid, Uid},
    io::Errno,
    process::{getegid, geteuid},
    thread::{CapabilitySet, capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};
use workden_core::{Error, ErrorKind};

use crate::{
    confine::{errors::refused, ids::sees_all_ids, privileges::without_capabilities},
    sys::confine::drop_bounding_set,
};

/// The user of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::confine) enum CommandUser {
    /// The user who started the sandbox.
    Starter { uid: u32, gid: u32 },
    /// Root started it: the owner of the work directory.
    Owner { uid: u32, gid: u32 },
}

impl CommandUser {
    /// Returns the user of commands in a directory of this owner.
    pub(in crate::confine) fn for_directory((owner, group): (u32, u32)) -> Result<Self, Error> {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        if uid != 0 || !sees_all_ids() {
            return Ok(Self::Starter { uid, gid });
        }
        let sentence = "the sandbox cannot start: root started it at the level `landlock`, and commands never run as \
                        user 0";
        let refuse = |hint: &str| Err(Error::new(ErrorKind::Unsupported, sentence).hint(hint));
        if owner == 0 {
            return refuse(
                "start it as an ordinary user, or in a directory that belongs to one: commands run as its owner",
            );
        }
        let wanted = CapabilitySet::SETUID | CapabilitySet::SETGID;
        if !capabilities(None).is_ok_and(|sets| sets.effective.contains(wanted)) {
            return refuse("start it as an ordinary user, or with CAP_SETUID and CAP_SETGID");
        }
        // Group 0 is replaced, too: it may own more than world-readable files.
        Ok(Self::Owner { uid: owner, gid: if group == 0 { owner } else { group } })
    }

    /// Returns user and group.
    pub(in crate::confine) fn ids(self) -> (u32, u32) {
        match self {
            Self::Starter { uid, gid } | Self::Owner { uid, gid } => (uid, gid),
        }
    }
}

/// Becomes that user, without any capability and with no way to gain one.
pub(super) fn drop_all(user: CommandUser) -> Result<(), Error> {
    try_drop_all(user).map_err(|errno| refused("drop its privileges", errno))
}

fn try_drop_all(user: CommandUser) -> Result<(), Errno> {
    // Only a process with capabilities may do this. For all others `no_new_privs` prevents gaining any.
    let _ = drop_bounding_set();
    if let CommandUser::Owner { uid, gid } = user {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
    }
    without_capabilities()
}
