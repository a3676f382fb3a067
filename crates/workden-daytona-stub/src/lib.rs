//! A stub of Daytona's control plane and toolbox, for tests. Each of its sandboxes is a
//! [`LinuxSandbox`](workden_sandboxes::LinuxSandbox) with files of its own: commands, file calls and ports are real.
//!
//! Tests can make any route fail ([`Fault`]), and read the requests that came ([`SeenRequest`]). The shapes follow the
//! published clients of API v0. Intervals are stored, not applied; resources are reported, not enforced.
//!
//! ```no_run
//! # async fn example() -> Result<(), workden_core::Error> {
//! use workden_daytona_stub::{Fault, FaultKind, Stub, StubOptions};
//! use workden_sandboxes::KeeperProgram;
//!
//! let stub = Stub::start(StubOptions::new(KeeperProgram::at("/usr/bin/workden"))).await?;
//! stub.add_fault(Fault::once("POST /sandbox", FaultKind::status(503)));
//! println!("DAYTONA_API_URL={} DAYTONA_API_KEY={}", stub.url(), stub.api_key());
//! # Ok(()) }
//! ```

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod answer;
mod call;
mod control;
mod faults;
mod faulty;
mod multipart;
mod place;
mod requests;
mod server;
mod shared;
mod stub;
mod toolbox;
mod websocket;

pub use faults::{Fault, FaultKind};
pub use requests::SeenRequest;
pub use shared::{API_KEY, Counters, StubOptions};
pub use stub::Stub;
