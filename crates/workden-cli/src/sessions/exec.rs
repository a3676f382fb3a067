//! `workden sessions exec`: runs a command in a session, as `workden run` does. The session keeps running.

use std::process::ExitCode;

use workden::HostEnvironment;

use super::{ExecArguments, user_sessions};
use crate::{
    run::{self, Ending, Machine, Running, Shown},
    typed,
};

pub(super) fn run(arguments: &ExecArguments) -> ExitCode {
    let shown = Shown::asked(arguments.json, arguments.isolation, arguments.terminal);
    let ending = run::attended(async |told| {
        if let Err(refusal) = run::check_terminal(shown) {
            return refusal;
        }
        let opened = async {
            let sessions = user_sessions()?;
            let record = sessions.known(&arguments.id)?;
            sessions.open(&arguments.id, record).await
        };
        let session = tokio::select! {
            opened = opened => match opened {
                Ok(opened) => opened,
                Err(error) => return Ending::Refused(error),
            },
            (_, number) = told.next() => return Ending::Told(number),
        };
        let environment = typed::with_values(&arguments.environment.env, &HostEnvironment::from_process());
        let (command, timeout) = (arguments.command.clone(), arguments.time.timeout);
        let running = Running { command, environment, timeout, shown };
        run::run_in(&*session, &running, told).await
    });
    ending.tell(shown, Machine::NotAsked)
}
