//! Signal masks and dispositions, and SIGCHLD as a descriptor.

use std::{
    mem::{self, MaybeUninit},
    os::fd::{FromRawFd, OwnedFd},
    ptr,
};

use rustix::io::Errno;

/// Blocks every signal that can be blocked, and returns the previous mask.
pub(super) fn block_all() -> libc::sigset_t {
    let mut before = MaybeUninit::uninit();
    // SAFETY: `sigfillset` makes a valid set of the first, and `pthread_sigmask` fills the second.
    unsafe {
        let mut all = MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

/// Blocks every signal that can be blocked, for good. For a PID 1, which reads signals from a descriptor.
pub(crate) fn hold_all_signals() {
    block_all();
}

/// Blocks exactly these signals in this thread.
pub(super) fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: the set is valid, and nothing is written back.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
}

/// Restores the default disposition of every signal and unblocks all, as a program expects at its start. For a child
/// that is about to exec.
pub(crate) fn default_signals() {
    // SAFETY: a zeroed `sigaction` is the default disposition with no flags and an empty mask.
    // Numbers that cannot be changed are refused without harm. No handler is installed.
    unsafe {
        let default: libc::sigaction = mem::zeroed();
        for signal in 1..=64 {
            libc::sigaction(signal, &raw const default, ptr::null_mut());
        }
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}

/// Returns a descriptor that is readable when a child has changed. SIGCHLD must be blocked; its default disposition
/// is restored here, in case it is ignored.
pub(crate) fn child_signals() -> Result<OwnedFd, Errno> {
    // SAFETY: the set is made by `sigemptyset`; the disposition is the default one; the descriptor is new and has no
    // other owner.
    unsafe {
        let default: libc::sigaction = mem::zeroed();
        libc::sigaction(libc::SIGCHLD, &raw const default, ptr::null_mut());
        let mut children = MaybeUninit::uninit();
        libc::sigemptyset(children.as_mut_ptr());
        libc::sigaddset(children.as_mut_ptr(), libc::SIGCHLD);
        match libc::signalfd(-1, children.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// A zeroed record of a signal descriptor.
pub(crate) const SIGNAL_RECORD: [u8; 128] = [0; 128];

/// Returns the number of the signal.
pub(crate) fn signal_number(signal: &[u8; 128]) -> i32 {
    number_at(signal, mem::offset_of!(libc::signalfd_siginfo, ssi_signo))
}

/// Returns whether a process outside of our PID namespace sent the signal, by `kill`: the kernel then reports no
/// sender. It reports none for a signal about a descriptor either, and `sigqueue` lets the sender choose; both have
/// another code.
pub(crate) fn is_from_outside(signal: &[u8; 128]) -> bool {
    let code = number_at(signal, mem::offset_of!(libc::signalfd_siginfo, ssi_code));
    let sender = number_at(signal, mem::offset_of!(libc::signalfd_siginfo, ssi_pid));
    code == libc::SI_USER && sender == 0
}

fn number_at(signal: &[u8; 128], at: usize) -> i32 {
    i32::from_ne_bytes([signal[at], signal[at + 1], signal[at + 2], signal[at + 3]])
}

/// Kills every other process that this one may signal. Returns whether there was any.
///
/// Only for PID 1 of a namespace: any other process would kill more than its descendants.
pub(crate) fn kill_all_others() -> bool {
    // SAFETY: the call takes numbers only. The check lets only a PID 1 through, which can only signal processes of
    // its namespace.
    unsafe { libc::getpid() == 1 && libc::kill(-1, libc::SIGKILL) == 0 }
}
