//! The keeper: the small program that lives inside a sandbox as its PID 1 and serves its files and
//! processes over the wire.

#![cfg(target_os = "linux")]

mod cgroup;
pub mod confine;
pub mod direct;
mod keeper;
mod message;
mod minder;
mod processes;
mod serve;
mod setting;
mod supervisor;
mod sys;

pub use keeper::Keeper;
pub use serve::run;
pub use setting::{Children, Join, LimitCounts, LimitWatch, Logs, Setting, Used};
