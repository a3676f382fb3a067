//! Who may do what: rules, presets, mounts with limits, shell analysis and approvals. Pure
//! decisions: nothing here opens a file, starts a program or looks at a clock.

mod action;
pub mod approvals;
mod commands;
pub mod shell;

pub use action::{Action, Operation};
