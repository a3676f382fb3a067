//! `workden runtimes`: lists, shows, builds and prunes the software of containers.

mod build;
mod list;
mod prune;
mod show;

pub(crate) use build::News;
use clap::Subcommand;
pub(crate) use list::columns;
use workden::sandboxes::{
    HostEnvironment,
    docker::{Daemon, Images},
};

use crate::failure::{Failure, request};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden runtimes list
  workden runtimes show python-web > mine.toml     # edit it, then
  workden runtimes build ./mine.toml
  workden runtimes prune --dry-run

A runtime is a name or a .toml file. The daemon is the one that DOCKER_HOST names, or the one at the usual socket of \
Docker or Podman.

Exit codes:
  0  success
  1  failure; the reason is on standard error
  2  invalid command line";

/// The subcommands of `workden runtimes`.
#[derive(Debug, Subcommand)]
pub(crate) enum RuntimesCommand {
    /// List the built-in runtimes, and whether their images are built.
    ///
    /// Without a daemon the table shows a dash.
    List,
    /// Print a runtime as TOML, with its Dockerfile in comments: a template for your own.
    Show {
        /// The name of a runtime, or a .toml file.
        runtime: String,
        /// Print one JSON document instead.
        #[arg(long)]
        json: bool,
    },
    /// Build the image of a runtime, or pull it; print its name.
    ///
    /// An existing image is used again. Progress goes to standard error: a progress bar on a terminal, the
    /// whole output elsewhere.
    Build {
        /// The name of a runtime, or a .toml file.
        runtime: String,
        /// Run every step again, even if the image exists.
        #[arg(long)]
        no_cache: bool,
        /// The network of the build: `host`, `none`, or a network of the daemon.
        #[arg(long, value_name = "MODE")]
        network: Option<String>,
    },
    /// Remove superseded images: those of earlier versions of a runtime, or of unfinished builds.
    ///
    /// Built-in runtimes are known; of your own, name the files that you still use. Images of other runtimes
    /// stay, and so do those that a container uses.
    Prune {
        /// Files of your runtimes: their current images are kept and earlier ones removed.
        #[arg(value_name = "FILE")]
        runtimes: Vec<String>,
        /// Only print what would be removed.
        #[arg(long)]
        dry_run: bool,
    },
}

/// Runs a subcommand.
pub(crate) fn run(command: &RuntimesCommand) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(Failure::Machine)?;
    match command {
        RuntimesCommand::List => runtime.block_on(list::run()),
        RuntimesCommand::Show { runtime: which, json } => show::run(which, *json),
        RuntimesCommand::Build { runtime: which, no_cache, network } => {
            let caching = if *no_cache { build::Caching::Never } else { build::Caching::AsTheRuntimeSays };
            runtime.block_on(build::run(which, caching, network.as_deref()))
        }
        RuntimesCommand::Prune { runtimes, dry_run } => {
            let doing = if *dry_run { prune::Doing::Nothing } else { prune::Doing::Remove };
            runtime.block_on(prune::run(runtimes, doing))
        }
    }
}

/// Returns the images of the daemon that the environment names.
fn images() -> Result<Images, Failure> {
    Daemon::of_environment(&HostEnvironment::from_process()).map(Images::new).map_err(request)
}
