//! Whose commands they are, without namespaces: the starter's; or when root starts them, those of
//! whoever owns the work directory. Never the machine's user 0.

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

/// Whose the commands are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::confine) enum CommandUser {
    /// The starter's.
    Starter { uid: u32, gid: u32 },
    /// Root started it: the owner's of the work directory.
    Owner { uid: u32, gid: u32 },
}

impl CommandUser {
    /// Whose commands those of this process are, in a directory of this owner.
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
        // Nor group 0, to whom more belongs than to everybody.
        Ok(Self::Owner { uid: owner, gid: if group == 0 { owner } else { group } })
    }

    /// User and group.
    pub(in crate::confine) fn ids(self) -> (u32, u32) {
        match self {
            Self::Starter { uid, gid } | Self::Owner { uid, gid } => (uid, gid),
        }
    }
}

/// Becomes that user, without any capability and with no way to get one.
pub(super) fn let_go(user: CommandUser) -> Result<(), Error> {
    try_let_go(user).map_err(|errno| refused("letting go of its rights", errno))
}

fn try_let_go(user: CommandUser) -> Result<(), Errno> {
    // Only who has capabilities may do so. For everybody else there are none to be had from here on,
    // which `no_new_privs` sees to.
    let _ = drop_bounding_set();
    if let CommandUser::Owner { uid, gid } = user {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
    }
    without_capabilities()
}
