//! The arguments of `workden run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use workden::{Level, SessionId};

use crate::{
    cluster::ClusterArguments,
    command_options::{CommandOptions, TimeoutOption},
    containers::{ContainerArguments, Net},
    hosted::DaytonaArguments,
    packages::PathOption,
    remote::RemoteArguments,
    typed::{self, MountArgument},
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden run -- ls -l
  workden run -- sh -c 'for f in *.py; do python3 \"$f\"; done'
  workden run --memory 512M --timeout 60 -- .venv/bin/pytest -q
  workden run --net host -- cargo fetch
  workden run --mount ../data:/data:ro --env MODE=test -- ./analyse /data
  workden run -t -- bash
  workden run --sandbox docker --image debian:12 -- cat /etc/os-release
  workden run --sandbox docker --runtime python-datascience -- python analyse.py
  workden run --sandbox kubernetes --image debian:12 -- cat /etc/os-release
  workden run --remote http://127.0.0.1:8420 --session user-42 -- make test

Exit codes:
  that of the command; 128+N if signal N ended the command or workden
  124  the command timed out (--timeout)
  125  the sandbox could not be started, or was lost
  126  the program cannot be run
  127  program not found
  2    invalid command line";

/// Arguments of `workden run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The directory to work in [default: the current directory].
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Where the command runs.
    #[arg(long, value_enum, default_value_t = Kind::Linux)]
    pub(super) sandbox: Kind,
    #[command(flatten)]
    pub(super) container: ContainerArguments,
    /// Run it in this session, which is created if it does not exist, and keeps running. The directory to work in
    /// is the session's unless --root names another; see `workden sessions`.
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<SessionId>,
    /// The isolation of `--sandbox linux` [default: namespaces].
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(super) level: Option<LevelArgument>,
    /// The network: `none`, `host` for the network of this machine, with `--sandbox docker` the name of a network of
    /// the daemon, with `--sandbox kubernetes` `cluster`, or with `--sandbox daytona` `internet` [default: none].
    #[arg(long, value_name = "NETWORK", value_parser = Net::parse)]
    pub(super) net: Option<Net>,
    #[command(flatten)]
    pub(super) path: PathOption,
    #[command(flatten)]
    pub(super) options: CommandOptions,
    #[command(flatten)]
    pub(super) time: TimeoutOption,
    /// Mount a file or directory: `SRC:DST`, or `SRC:DST:ro` for reading only.
    #[arg(long, value_name = "SRC:DST[:ro]", value_parser = typed::mount)]
    pub(super) mount: Vec<MountArgument>,
    /// What happens if this machine cannot enforce a limit that you named.
    #[arg(long, value_enum, default_value_t = LimitsHeld::Required)]
    pub(super) limits: LimitsHeld,
    /// Print one JSON document instead: output, exit code, duration, limits.
    #[arg(long, conflicts_with = "terminal")]
    pub(super) json: bool,
    /// With --json: add the isolation of the sandbox, and what enforces each limit.
    #[arg(long, requires = "json")]
    pub(super) isolation: bool,
    /// Give the command a terminal, for shells and editors.
    #[arg(short = 't', long = "terminal")]
    pub(super) terminal: bool,
    /// The program and its arguments. No shell reads them: `sh -c '...'` is a command like any other.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(super) command: Vec<String>,
    #[command(flatten)]
    pub(super) cluster: ClusterArguments,
    #[command(flatten)]
    pub(super) daytona: DaytonaArguments,
    #[command(flatten)]
    pub(super) remote: RemoteArguments,
}

/// Where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Isolated: sees the workspace and the machine's programs, and nothing else.
    Linux,
    /// In a container of a Docker or Podman daemon: sees the workspace and what is installed there.
    Docker,
    /// In a pod of a Kubernetes cluster: sees an empty /workspace and what is installed in its image.
    Kubernetes,
    /// In a sandbox of Daytona, a hosting service: sees its own files and what is installed there.
    Daytona,
    /// On this machine as you, without any isolation.
    Host,
}

/// The level of isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LevelArgument {
    /// Namespaces with a private root.
    Namespaces,
    /// Landlock and seccomp only, for machines without namespaces: weaker.
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

/// What happens if a limit cannot be enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LimitsHeld {
    /// The sandbox does not start.
    Required,
    /// The sandbox starts without the limit.
    BestEffort,
}
