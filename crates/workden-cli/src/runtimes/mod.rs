//! `workden runtimes`: what containers have installed. Shown, built, and removed when it is superseded.

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
  workden runtimes show python-web > mine.toml     # change it, and
  workden runtimes build ./mine.toml
  workden runtimes prune --dry-run

A runtime is named, or a file that ends in .toml. The daemon is the one that DOCKER_HOST names,
or the one at the usual socket, Docker's or Podman's.

Exit codes:
  0  it is done
  1  it could not be done; the reason is on standard error
  2  the command line could not be understood";

/// What can be done with runtimes.
#[derive(Debug, Subcommand)]
pub(crate) enum RuntimesCommand {
    /// List the runtimes that come with workden, and whether their images are there.
    ///
    /// Without a daemon that is not known, and shown as a dash.
    List,
    /// Print a runtime as TOML, with its Dockerfile in comments: the beginning of one of your own.
    Show {
        /// The name of a runtime, or a file that ends in .toml.
        runtime: String,
        /// Print one JSON document instead.
        #[arg(long)]
        json: bool,
    },
    /// Build the image of a runtime, or pull it; print its name.
    ///
    /// An image that is there is used again. News of the build goes to standard error: a line that moves on a
    /// terminal, all that is printed elsewhere.
    Build {
        /// The name of a runtime, or a file that ends in .toml.
        runtime: String,
        /// Build it again, every step of it, although it is there.
        #[arg(long)]
        no_cache: bool,
        /// The network of the build: `host`, `none`, or one of the daemon's.
        #[arg(long, value_name = "MODE")]
        network: Option<String>,
    },
    /// Remove images that are superseded: of an earlier state of a runtime, or of a build that did not end.
    ///
    /// Runtimes that come with workden are known; of your own, name the files that you still use. Images of
    /// other runtimes stay, and so do those that a container uses.
    Prune {
        /// Files of runtimes of your own, whose current images are kept and earlier ones removed.
        #[arg(value_name = "FILE")]
        runtimes: Vec<String>,
        /// Only say what would be removed.
        #[arg(long)]
        dry_run: bool,
    },
}

/// Does it.
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

/// The images of the daemon that the environment names.
fn images() -> Result<Images, Failure> {
    Daemon::of_environment(&HostEnvironment::from_process()).map(Images::new).map_err(request)
}
