//! The system calls of confinement that no safe wrapper offers, each as one small function.
//!
//! Invariant: nothing here decides anything. A function makes one call, and says why it is sound.

use std::{
    mem,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

use rustix::{
    io::{Errno, Result},
    process::Pid,
};

/// The two sides of a clone.
pub(crate) enum CloneSide {
    /// The calling process, with the id of the new one and its descriptor.
    Parent(Pid, OwnedFd),
    /// The new process.
    Child,
}

/// The namespaces that a new process can get.
pub(crate) mod new {
    pub(crate) const USER: u64 = libc::CLONE_NEWUSER as u64;
    pub(crate) const MOUNT: u64 = libc::CLONE_NEWNS as u64;
    pub(crate) const PID: u64 = libc::CLONE_NEWPID as u64;
    pub(crate) const NETWORK: u64 = libc::CLONE_NEWNET as u64;
    pub(crate) const IPC: u64 = libc::CLONE_NEWIPC as u64;
    pub(crate) const UTS: u64 = libc::CLONE_NEWUTS as u64;
    pub(crate) const CGROUP: u64 = libc::CLONE_NEWCGROUP as u64;
}

/// `CLONE_INTO_CGROUP`, which does not fit the type that `libc` gives it.
const INTO_CGROUP: u64 = 0x2_0000_0000;

/// Forks a process with namespaces of its own, in a version 2 control group if one is given.
/// The caller must have one thread only.
pub(crate) fn clone_process(namespaces: u64, group: Option<BorrowedFd<'_>>) -> Result<CloneSide> {
    let mut descriptor: libc::c_int = -1;
    let pid = match group {
        // The older call where possible: many containers forbid the newer one.
        None => {
            let flags = namespaces | (libc::CLONE_PIDFD | libc::SIGCHLD) as u64;
            // SAFETY: without CLONE_VM and with no stack given this is a fork: the child runs on a
            // copy of this stack. There is one thread, so that no lock is held by another. The
            // kernel writes one int to `descriptor`, which outlives the call.
            unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, &raw mut descriptor, 0_usize, 0_usize) }
        }
        Some(group) => {
            // SAFETY: all-zero bytes are a valid value of this struct of integers.
            let mut arguments: libc::clone_args = unsafe { mem::zeroed() };
            arguments.flags = namespaces | libc::CLONE_PIDFD as u64 | INTO_CGROUP;
            arguments.pidfd = &raw mut descriptor as u64;
            arguments.exit_signal = libc::SIGCHLD as u64;
            arguments.cgroup = group.as_raw_fd() as u64;
            // SAFETY: as above; `arguments` is initialised, and its size is given.
            unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, mem::size_of::<libc::clone_args>()) }
        }
    };
    match pid {
        0 => Ok(CloneSide::Child),
        pid if pid > 0 => {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)?;
            // SAFETY: the kernel has just opened this descriptor for this process, so it has no other owner.
            Ok(CloneSide::Parent(pid, unsafe { OwnedFd::from_raw_fd(descriptor) }))
        }
        _ => Err(last_error()),
    }
}

/// Moves this process into a new network namespace.
pub(crate) fn new_network_namespace() -> Result<()> {
    // SAFETY: the call takes flags only and touches no memory of ours.
    done(unsafe { libc::unshare(libc::CLONE_NEWNET) }.into())
}

/// The scope of a change of mount attributes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountScope {
    /// This mount only.
    Mount,
    /// This mount and all below it.
    Tree,
}

/// Sets attributes of a mount, and maps its ids as a user namespace says if one is given.
pub(crate) fn set_mount_attributes(
    mount: impl AsFd,
    scope: MountScope,
    set: u64,
    ids: Option<BorrowedFd<'_>>,
) -> Result<()> {
    // SAFETY: all-zero bytes are a valid value of this struct of integers.
    let mut attributes: libc::mount_attr = unsafe { mem::zeroed() };
    attributes.attr_set = set;
    if let Some(ids) = ids {
        attributes.attr_set |= libc::MOUNT_ATTR_IDMAP;
        attributes.userns_fd = ids.as_raw_fd() as u64;
    }
    let flags = libc::AT_EMPTY_PATH | if scope == MountScope::Tree { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, `attributes` is initialised and of the size given.
    done(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            mem::size_of::<libc::mount_attr>(),
        )
    })
}

/// The mount attributes that are used here.
pub(crate) mod attribute {
    pub(crate) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
    pub(crate) const NO_SETUID: u64 = libc::MOUNT_ATTR_NOSUID;
    pub(crate) const NO_DEVICES: u64 = libc::MOUNT_ATTR_NODEV;
}

/// Brings up the loopback interface of the current network namespace.
pub(crate) fn loopback_up(socket: impl AsFd) -> Result<()> {
    // SAFETY: all-zero bytes are a valid value of this struct.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is what SIOCSIFFLAGS wants: a name that ends in NUL, and flags.
    done(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) }.into())
}

/// Uses another user for file access until it is dropped.
pub(crate) struct FileIds(());

impl FileIds {
    /// Becomes that user and group. The caller must have one thread only.
    pub(crate) fn become_ids(uid: u32, gid: u32) -> Self {
        // SAFETY: both calls take a number and touch no memory of ours.
        unsafe {
            libc::setfsgid(gid);
            libc::setfsuid(uid);
        }
        Self(())
    }
}

impl Drop for FileIds {
    fn drop(&mut self) {
        // SAFETY: as above; the effective ids are what the file ids are by default.
        unsafe {
            libc::setfsuid(libc::geteuid());
            libc::setfsgid(libc::getegid());
        }
    }
}

/// Drops every capability from the bounding set, including those unknown to this program.
pub(crate) fn drop_bounding_set() -> Result<()> {
    for capability in 0..64 {
        // SAFETY: the call takes numbers only.
        match done(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) }.into()) {
            Ok(()) => {}
            // Past the last capability of the kernel.
            Err(Errno::INVAL) if capability > 0 => return Ok(()),
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Returns the Landlock version of the kernel.
pub(crate) fn landlock_version() -> Result<u32> {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel answers a number, and takes no pointer and no size.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, VERSION) };
    done(answer)?;
    Ok(u32::try_from(answer).unwrap_or(0))
}

/// Puts this thread and its descendants under a Landlock ruleset. Requires `no_new_privs`.
pub(crate) fn landlock_restrict(rules: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the call takes a descriptor and flags, and touches no memory of ours.
    done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0_u32) })
}

/// Closes every descriptor from 3 on, which the starting process left open.
///
/// Must be called before this program has opened anything.
pub(crate) fn close_inherited() {
    // SAFETY: this program has opened nothing yet besides the standard streams, so no owned descriptor is closed. A
    // kernel without the call changes nothing.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
}

/// Blocks the signals that end a program, and returns a descriptor that delivers them.
pub(crate) fn ending_signals() -> Result<OwnedFd> {
    let set = change_ending_signals(libc::SIG_BLOCK)?;
    // SAFETY: the set is valid, and the new descriptor has no other owner.
    unsafe {
        let descriptor: RawFd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        done(descriptor.into())?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Blocks the signals that end a program: one that arrives waits for [`ending_signals`].
pub(crate) fn hold_ending_signals() -> Result<()> {
    change_ending_signals(libc::SIG_BLOCK).map(drop)
}

/// Unblocks the signals that end a program, in a child whose parent holds them.
pub(crate) fn release_ending_signals() -> Result<()> {
    change_ending_signals(libc::SIG_UNBLOCK).map(drop)
}

fn change_ending_signals(how: libc::c_int) -> Result<libc::sigset_t> {
    // SAFETY: a signal set is plain data, emptied before use; the calls read it and touch nothing
    // else of ours.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::sigaddset(&raw mut set, signal);
        }
        done(libc::sigprocmask(how, &raw const set, std::ptr::null_mut()).into())?;
        Ok(set)
    }
}

/// Replaces a standard stream by a duplicate of `descriptor`.
pub(crate) fn replace_stream(descriptor: BorrowedFd<'_>, stream: RawFd) -> Result<()> {
    // SAFETY: standard streams are used by number and have no owner.
    done(unsafe { libc::dup2(descriptor.as_raw_fd(), stream) }.into())
}

/// Converts the result of a call that returns -1 on failure.
fn done(answer: libc::c_long) -> Result<()> {
    if answer < 0 { Err(last_error()) } else { Ok(()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
