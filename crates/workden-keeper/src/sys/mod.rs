//! The one place with unsafe code: fork, exec and signals, which the safe libraries leave out.
//!
//! Invariant: every function here is safe to call with whatever its types let in. What a forked
//! child must not do (allocate, take locks, return) is asked of the callers in words, and a child
//! that would return or unwind ends instead.

#![expect(
    unsafe_code,
    reason = "fork, exec and signal dispositions have no safe wrapper; nothing else has unsafe code"
)]

pub(crate) mod confine;
mod exec;
mod fork;
mod memory;
mod signals;
mod watch;

pub(crate) use confine::ending_signals;
pub(crate) use exec::{ExecImage, ExecProgram};
pub(crate) use fork::{BorrowedStack, ForkInto, NamespaceHolder, close_all_but, exit_now, fork_into, start_borrowing};
pub(crate) use memory::{forget_used_pages, give_memory_back};
pub(crate) use signals::{
    SIGNAL_RECORD, child_signals, default_signals, hold_all_signals, is_from_outside, kill_all_others, signal_number,
};
pub(crate) use watch::watched;
