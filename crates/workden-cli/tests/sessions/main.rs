//! Sessions with real Linux sandboxes, with this binary as their keeper: many at once, killed ones, and those of a
//! process that was killed.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod commandline;
mod crashes;
mod many;
mod places;
mod pruning;
mod replaced;
