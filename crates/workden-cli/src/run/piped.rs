//! A command with pipes: its output as it comes, our input when that is not a terminal.

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
    // Somebody at a terminal would wait for the command, and the command for them.
    let input = (!stdin.is_terminal()).then(|| stdin.as_fd());
    attend(process, input, running.timeout, told, async |_| std::future::pending().await).await
}
