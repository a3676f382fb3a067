//! Launchers: create a place, start a keeper in it, connect, stop.
//!
//! [`LinuxSandbox`] isolates commands with what the kernel has; [`HostSandbox`] does not, and is for
//! development. Both are a keeper and a stream to it, so that files, commands, jobs and terminals behave
//! the same in them, and both end when they are dropped. [`LateSandbox`] starts one when it is first needed.
//!
//! ```no_run
//! # async fn example() -> workden_core::Result<()> {
//! use workden_core::{Sandbox, sandbox::ExecuteRequest};
//! use workden_sandboxes::{HostEnvironment, KeeperProgram, LinuxSandbox};
//!
//! let sandbox = LinuxSandbox::builder()
//!     .keeper(KeeperProgram::at("/usr/bin/workden"))
//!     .environment_of(HostEnvironment::from_process())
//!     .directory("project")
//!     .toolchain("python")
//!     .memory(workden_core::parse_size("512M")?)
//!     .start()
//!     .await?;
//! let tests = sandbox.execute(&ExecuteRequest::shell("python -m pytest -q")).await?;
//! println!("{}", tests.output.text());
//! # Ok(()) }
//! ```

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod delegate;
#[cfg(feature = "docker")]
pub mod docker;
mod host;
mod host_environment;
mod keeper;
mod late;
mod limits;
#[cfg(feature = "docker")]
mod line;
mod linux;
mod mount_sources;
pub mod repositories;
pub mod runtimes;
pub mod sessions;
mod token;
pub mod toolchains;
mod variables;

pub use host::{HostSandbox, HostSandboxBuilder};
pub use host_environment::HostEnvironment;
pub use keeper::{KEEPER_WORD, KeeperProgram};
pub use late::LateSandbox;
pub use linux::{GitFiles, LinuxSandbox, LinuxSandboxBuilder, LinuxSessions};
