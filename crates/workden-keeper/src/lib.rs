//! The keeper: the small program that lives inside a sandbox as its PID 1 and serves its files and
//! processes over the wire.

#![cfg(target_os = "linux")]

mod cgroup;
mod config;
pub mod confine;
mod keeper;
mod message;
mod offline;
pub mod one_shot;
mod ports;
mod processes;
mod reaper;
mod serve;
mod supervisor;
mod sys;
mod watching;

pub use config::{CgroupJoin, Children, KeeperConfig, LimitCounts, LimitWatch, Logs, ResourceUse};
pub use keeper::Keeper;
pub use serve::run;
