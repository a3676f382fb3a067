//! `workden sessions`: named sandboxes that outlive the command.

mod at_service;
mod copy;
mod exec;
mod files;
mod list;
mod open;
mod prune;
mod release;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use workden::{SessionId, SessionKind, sessions::Pruning};

use at_service::ServiceArguments;

use crate::{
    cluster::ClusterArguments,
    command_options::{CommandOptions, EnvironmentOption, TimeoutOption},
    containers::{ContainerArguments, Net},
    failure::{Failure, request},
    hosted::DaytonaArguments,
    typed,
    user_sessions::user_sessions,
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden sessions open mine --sandbox docker --runtime python-datascience
  workden sessions exec mine -- python analyse.py
  workden sessions files mine get results .
  workden sessions list
  workden sessions release mine     its files stay; --purge removes them too
  workden sessions release --all
  workden sessions prune --idle 1h
  workden sessions open team --sandbox kubernetes --image debian:12
  workden sessions list --remote http://127.0.0.1:8420     at a service

A session ends when it is released, or after its idle time without a connection. `run`, `tool` and `mcp` use one with \
--session ID, and leave it running. Records of sessions are in $XDG_STATE_HOME/workden, or in ~/.local/state/workden; \
their files are there too, in workspaces/ID/workspace, unless --root names another directory. The files of a pod end \
with it, unless they are in a --claim. A pod belongs to its namespace: the same `open` on another machine opens the \
same session.

Exit codes:
  0  success; for `exec`, the exit codes of `workden run`
  1  failure; the reason is on standard error
  2  invalid command line";

/// The subcommands of `workden sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions: kind, software, state, use, network, limits and directory.
    List {
        /// Print one JSON document instead.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        service: ServiceArguments,
    },
    /// Create a session, or report that it exists.
    Open(Box<OpenArguments>),
    /// Run a command in a session, and pass its streams and exit code through.
    Exec(ExecArguments),
    /// List the files of a session, or copy them: `files ID [PATH]`, `files ID get PATH [DEST]`, `files ID put FILE
    /// PATH`.
    ///
    /// `get PATH` prints a file, and `get PATH DEST` copies a file or a directory to this machine. `put FILE PATH` copies
    /// one into the session; `-` is standard input. A destination that is a directory gets the copy inside. Existing
    /// files are replaced; links are not copied.
    Files {
        /// The session.
        id: SessionId,
        /// A directory to list, or `get PATH [DEST]`, or `put FILE PATH`.
        #[arg(value_name = "WORD")]
        words: Vec<String>,
    },
    /// End sessions. Their files stay, unless --purge is given. At a service they are paused then.
    #[command(visible_aliases = ["rm", "close", "stop"])]
    Release {
        /// The sessions.
        #[arg(required_unless_present = "all", value_name = "ID")]
        ids: Vec<SessionId>,
        /// End all sessions.
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// Remove their files too, except in a directory that --root named.
        #[arg(long)]
        purge: bool,
        #[command(flatten)]
        service: ServiceArguments,
    },
    /// End unused sessions, and remove what dead ones left behind.
    Prune {
        /// How long they have been unused, like 30m or 1h.
        #[arg(long, value_name = "TIME", default_value = "1h", value_parser = typed::time)]
        idle: Duration,
        /// Only print what would be done.
        #[arg(long)]
        dry_run: bool,
    },
}

/// Arguments of `workden sessions open`.
#[derive(Debug, Args)]
pub(crate) struct OpenArguments {
    /// Its name: letters, digits, `.`, `_` and `-`.
    id: SessionId,
    /// Where its commands run.
    #[arg(long, value_enum, default_value_t = SessionChoice::Linux)]
    sandbox: SessionChoice,
    #[command(flatten)]
    container: ContainerArguments,
    /// The directory to work in [default: a new one].
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The network: `none`, `host`, with `--sandbox docker` the name of a network of the daemon, with `--sandbox
    /// kubernetes` `cluster`, or with `--sandbox daytona` `internet` [default: none].
    #[arg(long, value_name = "NETWORK", value_parser = Net::parse)]
    net: Option<Net>,
    #[command(flatten)]
    options: CommandOptions,
    /// How long it lives without a connection, like 30m [default: 1h].
    #[arg(long, value_name = "TIME", value_parser = typed::time)]
    idle: Option<Duration>,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    daytona: DaytonaArguments,
}

/// Arguments of `workden sessions exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// The session.
    id: SessionId,
    #[command(flatten)]
    service: ServiceArguments,
    #[command(flatten)]
    time: TimeoutOption,
    #[command(flatten)]
    environment: EnvironmentOption,
    /// Print one JSON document instead.
    #[arg(long, conflicts_with = "terminal")]
    json: bool,
    /// With --json: add the isolation of the session, and what enforces each limit.
    #[arg(long, requires = "json")]
    isolation: bool,
    /// Give the command a terminal.
    #[arg(short = 't', long = "terminal")]
    terminal: bool,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// The kind of a session's sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SessionChoice {
    /// Isolated on this machine.
    Linux,
    /// In a container of a Docker or Podman daemon.
    Docker,
    /// In a pod of a Kubernetes cluster, with its own /workspace.
    Kubernetes,
    /// In a sandbox of Daytona, a hosting service, with its own files.
    Daytona,
}

impl SessionChoice {
    /// Returns what holds the files of a session that has no directory on this machine.
    fn place(self) -> &'static str {
        if self == Self::Kubernetes { "pod" } else { "sandbox" }
    }
}

impl From<SessionChoice> for SessionKind {
    fn from(choice: SessionChoice) -> Self {
        match choice {
            SessionChoice::Linux => Self::Linux,
            SessionChoice::Docker => Self::Docker,
            SessionChoice::Kubernetes => Self::Kubernetes,
            SessionChoice::Daytona => Self::Daytona,
        }
    }
}

/// Runs a subcommand.
pub(crate) fn run(command: &SessionsCommand) -> Result<ExitCode, Failure> {
    if let SessionsCommand::Exec(arguments) = command {
        return Ok(exec::run(arguments));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(Failure::Machine)?;
    let done = runtime.block_on(async {
        match command {
            SessionsCommand::List { json, service } => match service.sessions().map_err(request)? {
                Some(sessions) => at_service::list(&sessions, *json).await,
                None => list::run(*json).await,
            },
            SessionsCommand::Open(arguments) => open::run(arguments).await,
            SessionsCommand::Exec(_) => Ok(()),
            SessionsCommand::Files { id, words } => files::run(id, words).await,
            SessionsCommand::Release { ids, all, purge, service } => {
                let which = if *all { release::Which::All } else { release::Which::Named(ids) };
                let files = if *purge { release::Files::Remove } else { release::Files::Keep };
                match service.sessions().map_err(request)? {
                    Some(sessions) => at_service::release(&sessions, which, files).await,
                    None => release::run(which, files).await,
                }
            }
            SessionsCommand::Prune { idle, dry_run } => {
                let doing = if *dry_run { Pruning::Look } else { Pruning::Remove };
                prune::run(*idle, doing).await
            }
        }
    });
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}
