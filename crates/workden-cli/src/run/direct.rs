//! A command that is only waited for: no keeper in its sandbox, and no runtime here.

use std::io::{IsTerminal, stdin};

use workden::{HostEnvironment, Result, core::sandbox::Command};
use workden_keeper::one_shot::{self, OneShotEnd, OneShotInput};

use super::{
    arguments::{Kind, LevelArgument, RunArguments},
    ending::Ending,
    sandbox,
};

/// Runs it so, where that can be; `None` where it cannot.
pub(super) fn run(arguments: &RunArguments) -> Option<Ending> {
    // Without namespaces it takes a keeper, and a reaper, to leave nothing behind.
    let with_keeper = arguments.level == Some(LevelArgument::Landlock) || arguments.session.is_some();
    if arguments.sandbox != Kind::Linux || with_keeper || arguments.json || arguments.terminal {
        return None;
    }
    // Somebody at a terminal would wait for the command, and the command for them.
    let input = if stdin().is_terminal() { OneShotInput::Empty } else { OneShotInput::Passed };
    Some(in_sandbox(arguments, input).unwrap_or_else(Ending::Refused))
}

fn in_sandbox(arguments: &RunArguments, input: OneShotInput) -> Result<Ending> {
    let confinement = sandbox::linux(arguments, HostEnvironment::from_process())?.confinement()?;
    let command = Command::Program(arguments.command.clone());
    Ok(match one_shot::run(&confinement, &command, input, arguments.timeout)? {
        OneShotEnd::Command(ended, hits) => Ending::Command(ended, hits),
        OneShotEnd::TimedOut => Ending::TimedOut(arguments.timeout.unwrap_or_default()),
        OneShotEnd::Told(signal) => Ending::Told(signal),
        OneShotEnd::NoOutput(number) => Ending::output(std::io::Error::from_raw_os_error(number)),
    })
}
