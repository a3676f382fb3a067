//! What `workden run` can be told.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use workden::{Level, SessionId};

use crate::{
    containers::{ContainerArguments, Net},
    typed::{self, MountArgument, VariableArgument},
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden run -- ls -l
  workden run -- sh -c 'for f in *.py; do python3 \"$f\"; done'
  workden run --toolchain python --memory 512M --timeout 60 -- python -m pytest -q
  workden run --mount ../data:/data:ro --env MODE=test -- ./analyse /data
  workden run -t -- bash
  workden run --sandbox docker --image debian:12 -- cat /etc/os-release
  workden run --sandbox docker --runtime python-datascience -- python analyse.py

Exit codes:
  that of the command; 128+N when signal N ended it, or workden was told to end by it
  124  the time of --timeout was over
  125  the sandbox could not be started, or was lost
  126  the program cannot be run
  127  there is no such program
  2    the command line could not be understood";

/// What `workden run` can be told.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The directory to work in, `/workspace` inside [default: the current directory].
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Where the command runs.
    #[arg(long, value_enum, default_value_t = Kind::Linux)]
    pub(super) sandbox: Kind,
    #[command(flatten)]
    pub(super) container: ContainerArguments,
    /// Run it in this session, which is made if it is not there, and goes on afterwards. Its files are its own
    /// unless --root says otherwise; see `workden sessions`.
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<SessionId>,
    /// What the walls of `--sandbox linux` are made of [default: namespaces].
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(super) level: Option<LevelArgument>,
    /// What can be reached: `none`, `host` for what this machine reaches, or with `--sandbox docker` the name
    /// of a network of the daemon [default: none].
    #[arg(long, value_name = "NETWORK", value_parser = Net::parse)]
    pub(super) net: Option<Net>,
    /// Memory of all processes together, like 512M or 1.5G [default: half of the machine's; all of
    /// it with `--sandbox docker`].
    #[arg(long, value_name = "SIZE", value_parser = typed::size)]
    pub(super) memory: Option<u64>,
    /// Processors, like 1.5.
    #[arg(long, value_name = "NUMBER", value_parser = typed::cpus)]
    pub(super) cpus: Option<f64>,
    /// Processes and threads [default: 512].
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) pids: Option<u64>,
    /// Seconds that the command may take, or like 5m. After that it is stopped, with all that it
    /// started.
    #[arg(long, value_name = "TIME", value_parser = typed::time)]
    pub(super) timeout: Option<Duration>,
    /// A variable of the command: `KEY=VALUE`, or `KEY` for the value that it has here.
    #[arg(long, value_name = "K=V", value_parser = typed::variable)]
    pub(super) env: Vec<VariableArgument>,
    /// A file or directory to show inside: `SRC:DST`, or `SRC:DST:ro` for reading only.
    #[arg(long, value_name = "SRC:DST[:ro]", value_parser = typed::mount)]
    pub(super) mount: Vec<MountArgument>,
    /// A toolchain of this machine that is not in /usr, read-only: python, node, rust, go.
    #[arg(long, value_name = "NAME")]
    pub(super) toolchain: Vec<String>,
    /// What becomes of a named limit that nobody can hold on this machine.
    #[arg(long, value_enum, default_value_t = LimitsHeld::Required)]
    pub(super) limits: LimitsHeld,
    /// Print one JSON document instead: output, exit code, duration, limits hit, isolation.
    #[arg(long, conflicts_with = "terminal")]
    pub(super) json: bool,
    /// Give the command a terminal, for shells and editors.
    #[arg(short = 't', long = "terminal")]
    pub(super) terminal: bool,
    /// The program and its arguments. No shell reads them: `sh -c '...'` is a command like any other.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(super) command: Vec<String>,
}

/// Where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Isolated: sees the workspace and the machine's programs, and nothing else.
    Linux,
    /// In a container of a Docker or Podman daemon: sees the workspace and what is installed there.
    Docker,
    /// On this machine as you, without any isolation.
    Host,
}

/// What the walls are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LevelArgument {
    /// Namespaces with a root of their own.
    Namespaces,
    /// Landlock and seccomp alone, where there may be no namespaces: holds less.
    Landlock,
}

impl From<LevelArgument> for Level {
    fn from(level: LevelArgument) -> Self {
        match level {
            LevelArgument::Namespaces => Self::Namespaces,
            LevelArgument::Landlock => Self::Landlock,
        }
    }
}

/// What becomes of a limit that nobody can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LimitsHeld {
    /// The sandbox does not start.
    Required,
    /// It starts without it.
    BestEffort,
}
