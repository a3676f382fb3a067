//! `workden run`: one command in a sandbox of its own, its streams and its exit code passed through.

mod arguments;
mod attend;
mod direct;
mod ending;
mod json;
mod piped;
mod place;
mod plain;
mod terminal;
mod typed;

use std::process::ExitCode;

pub(crate) use arguments::{AFTER_HELP, Net, RunArguments};
use ending::Ending;
use place::Place;

/// Runs the command, and is its exit code.
pub(crate) fn run(arguments: &RunArguments) -> ExitCode {
    if let Some(ending) = direct::run(arguments) {
        return ending.tell(arguments);
    }
    // One thread: there is one command to wait for, and a second thread costs more than `true`.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let ending = match runtime {
        Ok(runtime) => runtime.block_on(in_sandbox(arguments)),
        Err(error) => Ending::not_started(&format!("there is no runtime: {error}")),
    };
    ending.tell(arguments)
}

async fn in_sandbox(arguments: &RunArguments) -> Ending {
    if let Err(refusal) = terminal::check(arguments) {
        return refusal;
    }
    let place = match Place::start(arguments).await {
        Ok(place) => place,
        Err(error) => return Ending::Refused(error),
    };
    let ended = match (arguments.json, arguments.terminal) {
        (true, _) => json::run(&place, arguments).await,
        (false, true) => terminal::run(&place, arguments).await,
        (false, false) => piped::run(&place, arguments).await,
    };
    // Nothing of it is left when this program ends.
    place.close().await;
    ended.unwrap_or_else(Ending::Broken)
}
