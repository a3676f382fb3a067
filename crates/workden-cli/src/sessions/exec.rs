//! `workden sessions exec`: runs a command in a session, as `workden run` does. The session keeps running.

use std::process::ExitCode;

use workden::{HostEnvironment, Session, sandboxes::service::ServiceSandbox};

use super::{ExecArguments, user_sessions};
use crate::{
    run::{self, Ending, Machine, Running, Shown},
    typed,
};

/// An existing session.
enum OpenedSession {
    /// Of this user.
    Own(Session),
    /// At a service.
    AtService(Box<ServiceSandbox>),
}

pub(super) fn run(arguments: &ExecArguments) -> ExitCode {
    let shown = Shown::asked(arguments.json, arguments.isolation, arguments.terminal);
    let ending = run::attended(async |told| {
        if let Err(refusal) = run::check_terminal(shown) {
            return refusal;
        }
        let opened = async {
            if let Some(session) = arguments.service.sandbox(&arguments.id).await? {
                return Ok(OpenedSession::AtService(Box::new(session)));
            }
            let sessions = user_sessions()?;
            let record = sessions.known(&arguments.id)?;
            sessions.open(&arguments.id, record).await.map(OpenedSession::Own)
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
        match session {
            OpenedSession::Own(session) => run::run_in(&*session, &running, told).await,
            OpenedSession::AtService(session) => run::run_in(&*session, &running, told).await,
        }
    });
    ending.tell(shown, Machine::NotAsked)
}
