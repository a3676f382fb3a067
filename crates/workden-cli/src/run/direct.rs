//! Runs a command directly: without a keeper in the sandbox, and without an async runtime here.

use std::io::{IsTerminal, stdin};

use workden::{HostEnvironment, Result, core::sandbox::Command};
use workden_keeper::one_shot::{self, OneShotEnd, OneShotInput};

use super::{
    arguments::{Kind, LevelArgument, RunArguments},
    ending::Ending,
    sandbox,
};

/// Runs the command directly, or returns `None` if the options do not allow it.
pub(super) fn run(arguments: &RunArguments) -> Option<Ending> {
    // Without namespaces, only a keeper and a reaper can end every process that is left.
    let with_keeper = arguments.level == Some(LevelArgument::Landlock);
    let is_elsewhere = arguments.session.is_some() || arguments.remote.is_named();
    if arguments.sandbox != Kind::Linux || with_keeper || is_elsewhere || arguments.json || arguments.terminal {
        return None;
    }
    // A command that reads standard input would wait for the user, and the user for the command.
    let input = if stdin().is_terminal() { OneShotInput::Empty } else { OneShotInput::Passed };
    Some(in_sandbox(arguments, input).unwrap_or_else(Ending::Refused))
}

fn in_sandbox(arguments: &RunArguments, input: OneShotInput) -> Result<Ending> {
    // Its packages are in use until the command has ended.
    let kept = sandbox::linux(arguments, HostEnvironment::from_process())?;
    let confinement = kept.builder.confinement()?;
    let command = Command::Program(arguments.command.clone());
    Ok(match one_shot::run(&confinement, &command, input, arguments.time.timeout)? {
        OneShotEnd::Command(ended, hits, hints) => Ending::Command(ended, hits, hints),
        OneShotEnd::TimedOut => Ending::TimedOut(arguments.time.timeout.unwrap_or_default()),
        OneShotEnd::Told(signal) => Ending::Told(signal),
        OneShotEnd::NoOutput(number) => Ending::output(std::io::Error::from_raw_os_error(number)),
    })
}
