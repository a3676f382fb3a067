//! Processes: starting them, what they print, how they end, and that nothing of them remains.
//!
//! Invariant: every command has a reaper, and a caller that stops waiting for a command ends its whole tree.

mod capture;
mod engine;
mod execute;
pub(crate) mod failure;
mod jobs;
pub(crate) mod limits_hit;
mod log;
mod mark;
mod output;
mod pipes;
pub(crate) mod prepare;
mod reapers;
mod records;
mod shell;
mod spawn;
pub(crate) mod starting;
mod tree;

pub(crate) use self::{
    engine::{CommandSpec, Engine},
    failure::gone,
};
