//! The keeper: the small program that lives inside a sandbox as its PID 1 and serves its files and
//! processes over the wire.

#![cfg(target_os = "linux")]

mod keeper;
mod minder;
mod processes;
mod setting;
mod sys;

pub use keeper::Keeper;
pub use setting::{Children, Join, LimitCounts, LimitWatch, Setting, Used};
