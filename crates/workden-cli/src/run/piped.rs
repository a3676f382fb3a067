//! Runs a command with pipes: forwards its output, and the input unless that is a terminal.

use std::{
    io::{IsTerminal, stdin},
    os::fd::AsFd,
};

use workden_core::{Result, Sandbox, sandbox::SpawnRequest};

use super::{Running, attend::attend, ending::Ending};
use crate::signals::ToldToEnd;

pub(super) async fn run(sandbox: &dyn Sandbox, running: &Running, told: &mut ToldToEnd) -> Result<Ending> {
    let mut request = SpawnRequest::piped(running.command());
    request.environment.clone_from(&running.environment);
    let process = sandbox.spawn(&request).await?;
    let stdin = stdin();
    // A command that reads standard input would wait for the user, and the user for the command.
    let input = (!stdin.is_terminal()).then(|| stdin.as_fd());
    attend(process, input, running.timeout, told, async |_| std::future::pending().await).await
}
