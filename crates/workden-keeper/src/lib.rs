//! The keeper: the small program that lives inside a sandbox as its PID 1 and serves its files and
//! processes over the wire.

#[cfg(target_os = "linux")]
pub mod cgroup;
#[cfg(target_os = "linux")]
pub mod confine;
mod setting;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod sys_confine;

pub use setting::Setting;
