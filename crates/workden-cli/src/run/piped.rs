//! A command with pipes: its output as it comes, our input when that is not a terminal.

use std::{
    io::{IsTerminal, stdin},
    os::fd::AsFd,
};

use workden_core::{
    Result,
    sandbox::{Command, SpawnRequest},
};

use super::{arguments::RunArguments, attend::attend, ending::Ending, place::Place};

pub(super) async fn run(place: &Place, arguments: &RunArguments) -> Result<Ending> {
    let request = SpawnRequest::piped(Command::Program(arguments.command.clone()));
    let process = place.sandbox().spawn(&request).await?;
    let stdin = stdin();
    // Somebody at a terminal would wait for the command, and the command for them.
    let input = (!stdin.is_terminal()).then(|| stdin.as_fd());
    attend(process, input, arguments.timeout, async |_| std::future::pending().await).await
}
