//! Launchers: create a place, start a keeper in it, connect, stop.

mod host_environment;
pub mod toolchains;

pub use host_environment::HostEnvironment;
