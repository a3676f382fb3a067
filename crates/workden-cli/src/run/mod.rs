//! `workden run`: runs one command in a new sandbox, and passes its streams and exit code through.

mod arguments;
mod attend;
#[cfg(target_os = "linux")]
mod direct;
mod ending;
mod json;
mod missing_program;
mod piped;
mod sandbox;
mod terminal;

use std::{collections::BTreeMap, io::Write, process::ExitCode, time::Duration};

pub(crate) use arguments::{AFTER_HELP, RunArguments};
pub(crate) use ending::{Ending, Machine};
use sandbox::RunSandbox;
use workden_core::{Sandbox, sandbox::Command};

use crate::signals::ToldToEnd;

/// A command, and how it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) command: Vec<String>,
    /// Variables that are added to the environment of the sandbox.
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) shown: Shown,
}

/// How a command is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Its streams are passed through.
    Streams,
    /// It gets a terminal, shown in the user's.
    Terminal,
    /// One JSON document is printed when it has ended.
    Json(DocumentedIsolation),
}

/// Whether the JSON document has the isolation of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentedIsolation {
    Included,
    LeftOut,
}

impl Running {
    fn command(&self) -> Command {
        Command::Program(self.command.clone())
    }
}

impl Shown {
    /// Converts the options; the command line rejects `--json` and `-t` together.
    pub(crate) fn asked(json: bool, isolation: bool, terminal: bool) -> Self {
        match (json, terminal) {
            (true, _) if isolation => Self::Json(DocumentedIsolation::Included),
            (true, _) => Self::Json(DocumentedIsolation::LeftOut),
            (false, true) => Self::Terminal,
            (false, false) => Self::Streams,
        }
    }

    /// Returns whether a JSON document is printed.
    fn is_json(self) -> bool {
        matches!(self, Self::Json(_))
    }
}

/// Runs the command and returns its exit code.
pub(crate) fn run(arguments: &RunArguments) -> ExitCode {
    if let Err(error) = sandbox::check(arguments) {
        return told(arguments, Ending::Nonsense(error));
    }
    #[cfg(target_os = "linux")]
    if let Some(ending) = direct::run(arguments) {
        return told(arguments, ending);
    }
    told(arguments, attended(async |told| in_sandbox(arguments, told).await))
}

/// Prints what there is to say about an ending, and returns the exit code.
fn told(arguments: &RunArguments, ending: Ending) -> ExitCode {
    let hint = missing_program::hint(arguments, &ending);
    let code = ending.tell(arguments.shown(), arguments.machine());
    if let Some(hint) = hint {
        let _ = writeln!(anstream::stderr(), "{hint}");
    }
    code
}

/// Runs `work` in a runtime, with a listener for signals.
pub(crate) fn attended(work: impl AsyncFnOnce(&mut ToldToEnd) -> Ending) -> Ending {
    // One thread: there is one command to wait for, and a second thread costs more than `true`.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Ending::not_started(&format!("cannot start the async runtime: {error}")),
    };
    let ending = runtime.block_on(async {
        match ToldToEnd::listen() {
            Ok(mut told) => work(&mut told).await,
            Err(error) => Ending::Refused(attend::no_signals(&error)),
        }
    });
    // Work on other threads has no caller left.
    runtime.shutdown_background();
    ending
}

/// Runs a command in a sandbox that has started.
pub(crate) async fn run_in(sandbox: &dyn Sandbox, running: &Running, told: &mut ToldToEnd) -> Ending {
    let ended = match running.shown {
        Shown::Json(isolation) => json::run(sandbox, running, isolation, told).await,
        Shown::Terminal => terminal::run(sandbox, running, told).await,
        Shown::Streams => piped::run(sandbox, running, told).await,
    };
    ended.unwrap_or_else(Ending::Broken)
}

/// Rejects `-t` without a terminal.
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
    // The sandbox must not outlive this process, unless it is a session.
    opened.close().await;
    ending
}
