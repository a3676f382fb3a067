//! Forking, and what a forked child does first and last.

use std::{
    mem,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd},
};

use rustix::{io::Errno, process::Pid};

use super::signals;

/// As the kernel has it; the constant of `libc` is too narrow for it.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Where a forked child begins.
pub(crate) enum Place<'a> {
    /// Where its parent is.
    Here,
    /// In a control group (version 2), given by its directory.
    Cgroup(BorrowedFd<'a>),
}

/// Forks. The child runs `child`, with all signals blocked, and never comes back: `child` ends with
/// [`exit_now`] or an exec, and if it returned or panicked, it would end there.
///
/// This process may have threads, and what they held locked stays locked in the child for ever. So
/// `child` may neither allocate nor take a lock nor panic: system calls only.
pub(crate) fn fork_into<Never>(place: &Place<'_>, child: impl FnOnce() -> Never) -> Result<Pid, Errno> {
    /// Ends a child that would unwind into the code of its parent.
    struct NoWayBack;
    impl Drop for NoWayBack {
        fn drop(&mut self) {
            exit_now(125);
        }
    }

    // A handler of the parent must not run in the child: it would write into descriptors that the
    // child has closed, and perhaps opened as something else.
    let before = signals::block_all();
    let forked = match place {
        // SAFETY: fork has no preconditions. The child calls only what `child` calls, and cannot
        // return or unwind out of this function.
        Place::Here => match unsafe { libc::fork() } {
            -1 => Err(errno()),
            pid => Ok(pid),
        },
        Place::Cgroup(directory) => clone_into(*directory),
    };
    if let Ok(0) = forked {
        let _no_way_back = NoWayBack;
        child();
    }
    signals::set_mask(&before);
    forked.and_then(|pid| Pid::from_raw(pid).ok_or(Errno::CHILD))
}

/// `clone3` with nothing shared, as `fork`, into a control group.
fn clone_into(cgroup: BorrowedFd<'_>) -> Result<libc::pid_t, Errno> {
    // SAFETY: all fields of `clone_args` are integers, for which zero is a value and means `none`.
    let mut arguments: libc::clone_args = unsafe { mem::zeroed() };
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.exit_signal = libc::SIGCHLD as u64;
    arguments.cgroup = u64::try_from(cgroup.as_raw_fd()).unwrap_or(u64::MAX);
    // SAFETY: the arguments are a valid `clone_args` of the size given. Without CLONE_VM and with
    // no stack named the child gets a copy of this one, as after fork.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    match libc::pid_t::try_from(pid) {
        Ok(-1) | Err(_) => Err(errno()),
        Ok(pid) => Ok(pid),
    }
}

/// Ends this process at once, without running what a normal exit runs.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Closes all descriptors but these, which are put in order on the way.
///
/// Only for a process that has just been forked and whose other descriptors nobody will use: it
/// closes what other owners in this address space still believe to own.
pub(crate) fn close_all_but(keep: &mut [RawFd]) {
    keep.sort_unstable();
    let mut from: u32 = 0;
    for &fd in keep.iter() {
        let Ok(fd) = u32::try_from(fd) else { continue };
        if fd > from {
            close_range(from, fd.saturating_sub(1));
        }
        from = from.max(fd.saturating_add(1));
    }
    close_range(from, u32::MAX);
}

/// Closes these descriptors in a process that has just been forked, and in which nobody will use them:
/// not even their owners, which are dropped in its parent only.
pub(crate) fn close_in_child(descriptors: &[&OwnedFd]) {
    for descriptor in descriptors {
        // SAFETY: closing a descriptor touches no memory; the caller's process uses it no more.
        unsafe { libc::close(descriptor.as_raw_fd()) };
    }
}

fn close_range(first: u32, last: u32) {
    // SAFETY: closing descriptors touches no memory; the caller's process uses none of them.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    // A kernel before 5.9, or a filter that does not know the call.
    for fd in first..=last.min(4096) {
        // SAFETY: as above.
        unsafe { libc::close(fd.cast_signed()) };
    }
}

fn errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
