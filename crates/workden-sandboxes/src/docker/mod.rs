//! Containers: a Docker or Podman daemon, and sandboxes in its containers.

mod daemon;
mod errors;

pub use daemon::Daemon;
