//! Signal masks and dispositions, and SIGCHLD as a descriptor.

use std::{
    mem::{self, MaybeUninit},
    os::fd::{FromRawFd, OwnedFd},
    ptr,
};

use rustix::io::Errno;

/// Blocks every signal that can be; what was blocked before comes back.
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

/// Blocks every signal that can be, for good: for a first process, which hears of signals otherwise.
pub(crate) fn hold_all_signals() {
    block_all();
}

/// Blocks exactly these signals in this thread.
pub(super) fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: the set is valid, and nothing is written back.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
}

/// Gives every signal its default meaning, and blocks none: what a program may expect to start with.
/// For a child that is about to exec.
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

/// A descriptor that is readable when a child has changed. SIGCHLD must be blocked, and must not be
/// ignored: its default meaning is restored here.
pub(crate) fn child_signals() -> Result<OwnedFd, Errno> {
    // SAFETY: the set is made by `sigemptyset`; the disposition is the default one; the descriptor
    // is new and owned by nobody else.
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

/// Bytes of what a descriptor of signals says of one signal.
pub(crate) const SIGNAL_RECORD: [u8; 128] = [0; 128];

/// Which signal it is.
pub(crate) fn signal_number(signal: &[u8; 128]) -> i32 {
    number_at(signal, mem::offset_of!(libc::signalfd_siginfo, ssi_signo))
}

/// Whether somebody outside of our namespace of processes sent a signal, by `kill`: the kernel then
/// names no process. It names none either for a signal about a descriptor, and with `sigqueue` senders
/// name whom they like; both say so in the code.
pub(crate) fn is_from_outside(signal: &[u8; 128]) -> bool {
    let code = number_at(signal, mem::offset_of!(libc::signalfd_siginfo, ssi_code));
    let sender = number_at(signal, mem::offset_of!(libc::signalfd_siginfo, ssi_pid));
    code == libc::SI_USER && sender == 0
}

fn number_at(signal: &[u8; 128], at: usize) -> i32 {
    i32::from_ne_bytes([signal[at], signal[at + 1], signal[at + 2], signal[at + 3]])
}

/// Kills every other process that this one may signal. Whether there was any.
///
/// Only for PID 1 of a namespace: for anybody else that is more than it started.
pub(crate) fn kill_all_others() -> bool {
    // SAFETY: the call takes numbers only. Nobody but a first process gets through here, to whom
    // there are no others than those of its namespace.
    unsafe { libc::getpid() == 1 && libc::kill(-1, libc::SIGKILL) == 0 }
}
