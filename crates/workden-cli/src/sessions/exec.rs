//! `workden sessions exec`: a command in a session, as `workden run` shows it. The session goes on.

use std::process::ExitCode;

use super::{ExecArguments, Kept};
use crate::run::{self, Doing, Ending, Machine, Shown, typed};

pub(super) fn run(arguments: &ExecArguments) -> ExitCode {
    let shown = Shown::asked(arguments.json, arguments.terminal);
    let ending = run::attended(async |told| {
        if let Err(refusal) = run::check_terminal(shown) {
            return refusal;
        }
        let opened = async {
            let kept = Kept::of_user()?;
            let record = kept.known(&arguments.id)?;
            let environment = typed::with_values(&arguments.env, &kept.host);
            Ok((kept.open(&arguments.id, record).await?, environment))
        };
        let (session, environment) = tokio::select! {
            opened = opened => match opened {
                Ok(opened) => opened,
                Err(error) => return Ending::Refused(error),
            },
            (_, number) = told.next() => return Ending::Told(number),
        };
        let doing = Doing { command: arguments.command.clone(), environment, timeout: arguments.timeout, shown };
        run::run_in(session.placed.sandbox.as_ref(), &doing, told).await
    });
    ending.tell(shown, Machine::NotAsked)
}
