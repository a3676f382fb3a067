//! Launchers create a sandbox, start a keeper in it, connect, and stop it.
//!
//! [`LinuxSandbox`] isolates commands with kernel features; [`HostSandbox`] does not, and is for development. Both
//! are a keeper and a stream to it, so files, commands, jobs and terminals behave the same in them, and both end when
//! they are dropped. [`LazySandbox`] starts one when first needed.
//!
//! ```no_run
//! # async fn example() -> workden_core::Result<()> {
//! use workden_core::{Sandbox, sandbox::ExecuteRequest};
//! use workden_sandboxes::{HostEnvironment, KeeperProgram, LinuxSandbox};
//!
//! let sandbox = LinuxSandbox::builder()
//!     .keeper(KeeperProgram::at("/usr/bin/workden"))
//!     .environment_of(HostEnvironment::from_process())
//!     .root("project")
//!     .toolchain("python")
//!     .memory("512M")
//!     .start()
//!     .await?;
//! let tests = sandbox.execute(&ExecuteRequest::shell("python -m pytest -q")).await?;
//! println!("{}", tests.output.text());
//! # Ok(()) }
//! ```

#![forbid(unsafe_code)]

#[cfg(any(feature = "docker", feature = "kubernetes", feature = "daytona"))]
mod container_keepers;
#[cfg(feature = "daytona")]
pub mod daytona;
mod delegate;
#[cfg(any(feature = "daytona", feature = "service"))]
mod dial;
#[cfg(feature = "docker")]
pub mod docker;
mod git_files;
mod git_identity;
mod host;
mod host_environment;
mod keeper;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
mod launcher;
mod lazy;
mod limits;
mod linux;
mod options;
#[cfg(any(feature = "docker", feature = "kubernetes", feature = "daytona", feature = "service"))]
mod reconnecting;
pub mod repositories;
pub mod runtimes;
#[cfg(any(feature = "kubernetes", feature = "daytona"))]
mod served;
#[cfg(feature = "service")]
pub mod service;
mod session_id;
mod small_file;
mod token;
pub mod toolchains;
mod variables;

#[cfg(any(feature = "docker", feature = "kubernetes", feature = "daytona"))]
pub use container_keepers::ContainerKeepers;
pub use git_files::GitFiles;
pub use host::{HostSandbox, HostSandboxBuilder};
pub use host_environment::HostEnvironment;
pub use keeper::{KEEPER_WORD, KeeperProgram};
pub use launcher::{ExistingSandbox, LaunchRequest, Launched, Launcher};
pub use lazy::{Begun, LazySandbox};
pub use linux::{KeptDirectories, LinuxLauncher, LinuxSandbox, LinuxSandboxBuilder};
pub use options::{ByteSize, LEAST_MEMORY, SandboxOptions};
pub use session_id::SessionId;
