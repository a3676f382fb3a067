//! Forking, and the first and last steps of a forked child.

use std::{
    convert::Infallible,
    mem,
    os::fd::{AsRawFd, BorrowedFd, RawFd},
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
};

use super::signals;

/// The kernel's value; the constant of `libc` is too narrow.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Where a forked child starts.
pub(crate) enum ForkInto<'a> {
    /// In the groups of its parent.
    Here,
    /// In a control group (version 2), given by its directory.
    Cgroup(BorrowedFd<'a>),
}

/// Forks. The child runs `child`, with all signals blocked, and never returns: `child` ends with [`exit_now`] or an
/// exec, and a child that returned or panicked would exit.
///
/// This process may have threads, and locks that they hold stay locked in the child. So `child` may neither allocate
/// nor take a lock nor panic: system calls only.
pub(crate) fn fork_into<Never>(place: &ForkInto<'_>, child: impl FnOnce() -> Never) -> Result<Pid, Errno> {
    /// Ends a child that would unwind into the code of its parent.
    struct NoWayBack;
    impl Drop for NoWayBack {
        fn drop(&mut self) {
            exit_now(125);
        }
    }

    // A handler of the parent must not run in the child: it would write to descriptors that the child has closed or
    // reused.
    let before = signals::block_all();
    let forked = match place {
        // SAFETY: fork has no preconditions. The child calls only what `child` calls, and cannot
        // return or unwind out of this function.
        ForkInto::Here => match unsafe { libc::fork() } {
            -1 => Err(errno()),
            pid => Ok(pid),
        },
        ForkInto::Cgroup(directory) => clone_into(*directory),
    };
    if let Ok(0) = forked {
        let _no_way_back = NoWayBack;
        child();
    }
    signals::set_mask(&before);
    forked.and_then(|pid| Pid::from_raw(pid).ok_or(Errno::CHILD))
}

/// Stack of a process that makes two system calls.
const HOLDERS_STACK: usize = 16 * 1024;

/// The stack of a child that shares the memory of its parent.
#[derive(Debug)]
pub(crate) struct BorrowedStack(Vec<u128>);

impl BorrowedStack {
    /// Its size: for a few system calls and the search for a program.
    const BYTES: usize = 128 * 1024;

    /// Allocates a stack. Unused pages cost nothing.
    pub(crate) fn new() -> Self {
        Self(vec![0; Self::BYTES / size_of::<u128>()])
    }
}

/// Starts a child that shares the memory of this process, which is suspended until the child execs or exits, so that
/// no memory is copied. Otherwise like `fork_into`.
///
/// This process must have one thread only, and `child` may not change anything that is used afterwards.
pub(crate) fn start_borrowing<Child: FnOnce() -> Infallible>(
    stack: &mut BorrowedStack,
    child: Child,
) -> Result<Pid, Errno> {
    extern "C" fn run<Child: FnOnce() -> Infallible>(child: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the pointer refers to the value below, in a frame that is suspended.
        let child = unsafe { (*child.cast::<Option<Child>>()).take() };
        match child.map(|child| child()) {
            Some(never) => match never {},
            None => exit_now(125),
        }
    }

    let BorrowedStack(stack) = stack;
    let mut child = Some(child);
    let before = signals::block_all();
    // SAFETY: the stack is aligned to 16 bytes and grows down from its end; it and `child` outlive this call, during
    // which only the child runs. The child cannot return into these frames: it has a stack of its own, and `run` does
    // not unwind out of an `extern "C"`.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len()).cast();
        libc::clone(run::<Child>, top, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, (&raw mut child).cast())
    };
    let forked = if pid < 0 { Err(errno()) } else { Pid::from_raw(pid).ok_or(Errno::CHILD) };
    signals::set_mask(&before);
    forked
}

/// A process that only holds a user namespace, until this is dropped. It shares the memory of this process, so that
/// none is copied.
pub(crate) struct NamespaceHolder {
    pid: Pid,
    _stack: Vec<u128>,
}

impl NamespaceHolder {
    /// Starts the process.
    pub(crate) fn start() -> Result<Self, Errno> {
        extern "C" fn hold(parent: *mut libc::c_void) -> libc::c_int {
            // SAFETY: the calls take numbers only, and `parent` is one. They write no memory of the process whose
            // memory this is, except on failure, and they cannot fail.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                // The parent was killed before the signal was set.
                if libc::getppid() as usize != parent.addr() {
                    libc::_exit(1);
                }
                loop {
                    libc::pause();
                }
            }
        }

        let mut stack = vec![0_u128; HOLDERS_STACK / size_of::<u128>()];
        // SAFETY: the stack is aligned to 16 bytes, grows down from its end, and lives until the
        // process on it is gone. That process touches nothing else.
        let pid = unsafe {
            let top = stack.as_mut_ptr().add(stack.len()).cast();
            let parent = std::ptr::without_provenance_mut(libc::getpid() as usize);
            libc::clone(hold, top, libc::CLONE_VM | libc::CLONE_NEWUSER | libc::SIGCHLD, parent)
        };
        if pid < 0 {
            return Err(errno());
        }
        Ok(Self { pid: Pid::from_raw(pid).ok_or(Errno::CHILD)?, _stack: stack })
    }

    /// Returns its process id.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }
}

impl Drop for NamespaceHolder {
    fn drop(&mut self) {
        let _ = kill_process(self.pid, Signal::KILL);
        while let Err(Errno::INTR) = waitpid(Some(self.pid), WaitOptions::empty()) {}
    }
}

/// Like `fork`, by `clone3`, into a control group.
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

/// Exits at once, without running exit handlers.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Makes this process the leader of a new session, without a controlling terminal.
///
/// gVisor returns 0 instead of the session's id, which rustix does not accept as one.
pub(crate) fn new_session() -> Result<(), Errno> {
    // SAFETY: the call takes nothing and changes only this process.
    match unsafe { libc::setsid() } {
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::PERM)),
        _ => Ok(()),
    }
}

/// Closes all descriptors but these, which are sorted in place.
///
/// Only for a process that has just been forked and does not use its other descriptors: it closes those of other
/// owners in this address space.
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
