//! Runtimes: what a sandbox has installed, as data. Turning one into an image is a launcher's part.
//!
//! Invariant: nothing of a runtime reaches a shell or a Dockerfile that was not checked and quoted here.

mod config;

pub use config::{PackageManager, RuntimeConfig};
