//! `workden run`: one command in a sandbox of its own, its streams and its exit code passed through.

mod arguments;
mod attend;
mod direct;
mod ending;
mod json;
mod piped;
mod sandbox;
mod terminal;

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

pub(crate) use arguments::{AFTER_HELP, RunArguments};
pub(crate) use ending::{Ending, Machine};
use sandbox::RunSandbox;
use workden_core::{Sandbox, sandbox::Command};

use crate::signals::ToldToEnd;

/// A command, and how it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) command: Vec<String>,
    /// What its environment has besides that of the sandbox.
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) shown: Shown,
}

/// How a command is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Its streams as they come.
    Streams,
    /// A terminal of its own, in ours.
    Terminal,
    /// One JSON document when it has ended.
    Json,
}

impl Running {
    fn command(&self) -> Command {
        Command::Program(self.command.clone())
    }
}

impl Shown {
    /// What was asked for: not both, as the command line sees to.
    pub(crate) fn asked(json: bool, terminal: bool) -> Self {
        match (json, terminal) {
            (true, _) => Self::Json,
            (false, true) => Self::Terminal,
            (false, false) => Self::Streams,
        }
    }
}

/// Runs the command, and is its exit code.
pub(crate) fn run(arguments: &RunArguments) -> ExitCode {
    let (shown, machine) = (Shown::asked(arguments.json, arguments.terminal), arguments.machine());
    if let Err(error) = sandbox::check(arguments) {
        return Ending::Nonsense(error).tell(shown, machine);
    }
    if let Some(ending) = direct::run(arguments) {
        return ending.tell(shown, machine);
    }
    attended(async |told| in_sandbox(arguments, told).await).tell(shown, machine)
}

/// Does something with a sandbox, listening to signals all along.
pub(crate) fn attended(work: impl AsyncFnOnce(&mut ToldToEnd) -> Ending) -> Ending {
    // One thread: there is one command to wait for, and a second thread costs more than `true`.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Ending::not_started(&format!("there is no runtime: {error}")),
    };
    let ending = runtime.block_on(async {
        match ToldToEnd::listen() {
            Ok(mut told) => work(&mut told).await,
            Err(error) => Ending::Refused(attend::no_signals(&error)),
        }
    });
    // Whatever still runs on another thread has nobody left to answer to.
    runtime.shutdown_background();
    ending
}

/// Runs a command in a sandbox that is there.
pub(crate) async fn run_in(sandbox: &dyn Sandbox, running: &Running, told: &mut ToldToEnd) -> Ending {
    let ended = match running.shown {
        Shown::Json => json::run(sandbox, running, told).await,
        Shown::Terminal => terminal::run(sandbox, running, told).await,
        Shown::Streams => piped::run(sandbox, running, told).await,
    };
    ended.unwrap_or_else(Ending::Broken)
}

/// Makes sure that there is a terminal where one is asked for.
pub(crate) fn check_terminal(shown: Shown) -> std::result::Result<(), Ending> {
    terminal::check(shown)
}

async fn in_sandbox(arguments: &RunArguments, told: &mut ToldToEnd) -> Ending {
    let running = arguments.running();
    if let Err(refusal) = terminal::check(running.shown) {
        return refusal;
    }
    let opened = match RunSandbox::start(arguments, told).await {
        Ok(opened) => opened,
        Err(ending) => return ending,
    };
    let ending = run_in(opened.sandbox(), &running, told).await;
    // Nothing of it is left when this program ends, unless it is somebody's session.
    opened.close().await;
    ending
}
