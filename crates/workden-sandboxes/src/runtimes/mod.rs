//! Runtimes: the software of a sandbox, as data. Launchers turn them into images.
//!
//! Invariant: every value of a runtime that reaches a shell or a Dockerfile was checked and quoted here.

mod builtin;
mod checks;
mod config;
mod dockerfile;
mod field_errors;
mod image_reference;
mod packages;
mod tag;

pub use builtin::{BUILTIN_RUNTIMES, BuiltinRuntime, builtin};
pub use config::{PackageManager, RuntimeConfig};
#[cfg(feature = "daytona")]
pub(crate) use image_reference::check as check_image;
pub use tag::{IMAGE_REPOSITORY, RuntimeTag};
