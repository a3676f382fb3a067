//! `workden sessions`: sandboxes with names, which outlive the command line.

mod exec;
mod files;
mod list;
mod open;
mod prune;
mod release;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use workden::{HostEnvironment, Result, SessionId, SessionKind, UserSessions, sessions::Pruning};

use crate::{
    containers::{ContainerArguments, Net},
    failure::Failure,
    runtimes::News,
    typed,
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden sessions open mine --sandbox docker --runtime python-datascience
  workden sessions exec mine -- python analyse.py
  workden sessions files mine
  workden sessions list
  workden sessions release mine          its files stay; --purge removes them, too
  workden sessions prune --idle 1h

A session lives until it is released, or until nobody has been connected to it for its idle time.
`run`, `tool` and `mcp` use one with --session ID, and leave it running. What is known of sessions
is in $XDG_STATE_HOME/workden, or in ~/.local/state/workden; their files are there, too, in
workspaces/ID/workspace, unless --root names another directory.

Exit codes:
  0  it is done; of `exec`, those of `workden run`
  1  it could not be done; the reason is on standard error
  2  the command line could not be understood";

/// What can be done with sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions there are: kind, what is installed, age, idle time, jobs and memory.
    List {
        /// Print one JSON document instead.
        #[arg(long)]
        json: bool,
    },
    /// Make a session, or say that it is there.
    Open(OpenArguments),
    /// Run a command in a session: its streams and its exit code are passed through.
    Exec(ExecArguments),
    /// List the files of a session, or copy one: `files ID [PATH]`, `files ID get PATH`, `files ID put FILE PATH`.
    Files {
        /// The session.
        id: SessionId,
        /// A directory to list; or `get PATH`, which prints a file; or `put FILE PATH`, which writes one.
        #[arg(value_name = "WORD")]
        words: Vec<String>,
    },
    /// End sessions. Their files stay, unless told otherwise.
    Release {
        /// The sessions.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<SessionId>,
        /// Remove their files, too; of a directory that --root named, nothing.
        #[arg(long)]
        purge: bool,
    },
    /// End sessions that nobody has used for a while, and remove what dead ones left behind.
    Prune {
        /// How long nobody has used them, like 30m or 1h.
        #[arg(long, value_name = "TIME", default_value = "1h", value_parser = typed::time)]
        idle: Duration,
        /// Only say what would be done.
        #[arg(long)]
        dry_run: bool,
    },
}

/// What a session can be made of.
#[derive(Debug, Args)]
pub(crate) struct OpenArguments {
    /// Its name: letters, digits, `.`, `_` and `-`.
    id: SessionId,
    /// Where its commands run.
    #[arg(long, value_enum, default_value_t = SessionChoice::Linux)]
    sandbox: SessionChoice,
    #[command(flatten)]
    container: ContainerArguments,
    /// The directory to work in [default: one of its own].
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// What can be reached: `none`, `host`, or with `--sandbox docker` the name of a network of the daemon
    /// [default: none].
    #[arg(long, value_name = "NETWORK", value_parser = Net::parse)]
    net: Option<Net>,
    /// Memory of all processes together, like 512M or 1.5G.
    #[arg(long, value_name = "SIZE", value_parser = typed::size)]
    memory: Option<u64>,
    /// Processors, like 1.5.
    #[arg(long, value_name = "NUMBER", value_parser = typed::cpus)]
    cpus: Option<f64>,
    /// Processes and threads [default: 512].
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pids: Option<u64>,
    /// How long it lives while nobody is connected to it, like 30m [default: 1h].
    #[arg(long, value_name = "TIME", value_parser = typed::time)]
    idle: Option<Duration>,
}

/// A command in a session.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// The session.
    id: SessionId,
    /// Seconds that the command may take, or like 5m.
    #[arg(long, value_name = "TIME", value_parser = typed::time)]
    timeout: Option<Duration>,
    /// A variable of the command: `KEY=VALUE`, or `KEY` for the value that it has here.
    #[arg(long, value_name = "K=V", value_parser = typed::variable)]
    env: Vec<typed::VariableArgument>,
    /// Print one JSON document instead.
    #[arg(long, conflicts_with = "terminal")]
    json: bool,
    /// Give the command a terminal.
    #[arg(short = 't', long = "terminal")]
    terminal: bool,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// What the sandbox of a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SessionChoice {
    /// Isolated on this machine.
    Linux,
    /// In a container of a Docker or Podman daemon.
    Docker,
}

impl From<SessionChoice> for SessionKind {
    fn from(choice: SessionChoice) -> Self {
        match choice {
            SessionChoice::Linux => Self::Linux,
            SessionChoice::Docker => Self::Docker,
        }
    }
}

/// The sessions of this user, with the progress of images on standard error.
pub(crate) fn user_sessions() -> Result<UserSessions> {
    let news = News::when_needed();
    Ok(UserSessions::of_user(HostEnvironment::from_process())?.on_progress(move |progress| news.tell(&progress)))
}

/// Does it.
pub(crate) fn run(command: &SessionsCommand) -> std::result::Result<ExitCode, Failure> {
    if let SessionsCommand::Exec(arguments) = command {
        return Ok(exec::run(arguments));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(Failure::Machine)?;
    let done = runtime.block_on(async {
        match command {
            SessionsCommand::List { json } => list::run(*json).await,
            SessionsCommand::Open(arguments) => open::run(arguments).await,
            SessionsCommand::Exec(_) => Ok(()),
            SessionsCommand::Files { id, words } => files::run(id, words).await,
            SessionsCommand::Release { ids, purge } => release::run(ids, *purge).await,
            SessionsCommand::Prune { idle, dry_run } => {
                let doing = if *dry_run { Pruning::Look } else { Pruning::Remove };
                prune::run(*idle, doing).await
            }
        }
    });
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}
