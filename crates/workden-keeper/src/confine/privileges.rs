//! Drops all privileges, in the one order that works, irrevocably.

use rustix::{
    fs::{Gid, Uid},
    io::Errno,
    process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal},
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities,
        set_capabilities_secure_bits, set_no_new_privs, set_thread_res_gid, set_thread_res_uid,
    },
};
use workden_core::Error;

use super::{errors::refused, ids::Ids, layout::INSIDE};
use crate::sys::confine::drop_bounding_set;

/// Becomes the user of the commands, without any capability and with no way to gain one.
pub(super) fn drop_all(ids: Ids) -> Result<(), Error> {
    try_drop_all(ids).map_err(|errno| refused("drop its privileges", errno))
}

fn try_drop_all(ids: Ids) -> Result<(), Errno> {
    drop_bounding_set()?;
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(bits)?;
    if let Ids::OfSandbox(_) = ids {
        let (uid, gid) = (Uid::from_raw(INSIDE), Gid::from_raw(INSIDE));
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
    }
    without_capabilities()
}

/// Drops all capabilities of this process, and the way to gain one by an exec.
pub(super) fn without_capabilities() -> Result<(), Errno> {
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    set_no_new_privs(true)
}

/// Makes this process opaque to commands, and ends it with its parent: the supervisor, or the owner of a one-shot
/// sandbox. Must come after every change of ids, which would undo both.
pub(super) fn protect() -> Result<(), Error> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .and_then(|()| set_parent_process_death_signal(Some(Signal::KILL)))
        .map_err(|errno| refused("protect the keeper", errno))
}
