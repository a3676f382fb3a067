//! Runtimes: what a sandbox has installed, as data. Turning one into an image is a launcher's part.
//!
//! Invariant: nothing of a runtime reaches a shell or a Dockerfile that was not checked and quoted here.

mod builtin;
mod checks;
mod config;
mod dockerfile;
mod image_reference;
mod packages;
mod tag;

pub use builtin::{BUILTIN_RUNTIMES, BuiltinRuntime, builtin};
pub use config::{PackageManager, RuntimeConfig};
pub use tag::{IMAGE_REPOSITORY, RuntimeTag};
