//! The one module with unsafe code: fork, exec and signals, which the safe libraries do not offer.
//!
//! Invariant: every function here is safe to call with any arguments of its types. The rules for a forked child (no
//! allocation, no locks, no return) are documented for the callers, and a child that would return or unwind exits
//! instead.

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
pub(crate) use fork::{
    BorrowedStack, ForkInto, NamespaceHolder, close_all_but, exit_now, fork_into, new_session, start_borrowing,
};
pub(crate) use memory::{forget_used_pages, give_memory_back};
pub(crate) use signals::{
    SIGNAL_RECORD, child_signals, default_signals, hold_all_signals, is_from_outside, kill_all_others, signal_number,
};
pub(crate) use watch::watched;
