//! Containers: a Docker or Podman daemon, its images, and sandboxes in its containers.

mod build;
mod daemon;
mod errors;
mod images;
mod once;
mod progress;
mod prune;

pub use daemon::Daemon;
pub use images::{BuiltImage, Images};
pub use progress::{BuildProgress, OnProgress};
pub use prune::Pruned;
