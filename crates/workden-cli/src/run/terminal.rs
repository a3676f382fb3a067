//! Runs a command in a new terminal, shown in the user's.
//!
//! Invariant: the user's terminal has its old settings when the run ends, however it ends.

use std::{
    convert::Infallible,
    io::{IsTerminal, Stdin, stdin},
    os::fd::AsFd,
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use workden_core::{
    Error, ErrorKind, Result, Sandbox,
    sandbox::{ProcessControl, SpawnRequest, WindowSize},
};

use super::{
    Running, Shown,
    attend::{attend, no_signals},
    ending::Ending,
};
use crate::signals::{self, ToldToEnd};

/// The size for a terminal that reports none.
const USUAL: WindowSize = WindowSize { rows: 24, columns: 80 };

/// Rejects `-t` without a terminal.
pub(super) fn check(shown: Shown) -> std::result::Result<(), Ending> {
    if shown != Shown::Terminal || stdin().is_terminal() {
        return Ok(());
    }
    let error = Error::new(ErrorKind::InvalidArgument, "`-t` requires a terminal on standard input");
    Err(Ending::Nonsense(error.hint("leave out `-t`: input and output are then passed on unchanged")))
}

pub(super) async fn run(sandbox: &dyn Sandbox, running: &Running, told: &mut ToldToEnd) -> Result<Ending> {
    let terminal = stdin();
    let mut request = SpawnRequest::in_terminal(running.command(), size(&terminal));
    request.environment.clone_from(&running.environment);
    let mut resized = signals::resized().map_err(|error| no_signals(&error))?;
    let process = sandbox.spawn(&request).await?;
    let _raw = Raw::set(&terminal)?;
    let follow = async |control: &dyn ProcessControl| -> Infallible {
        loop {
            resized.recv().await;
            // Fails only if the command has ended.
            let _ = control.resize(size(&terminal)).await;
        }
    };
    attend(process, Some(terminal.as_fd()), running.timeout, told, follow).await
}

fn size(terminal: &Stdin) -> WindowSize {
    match tcgetwinsize(terminal) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => WindowSize { rows: size.ws_row, columns: size.ws_col },
        _ => USUAL,
    }
}

/// The user's terminal in raw mode; dropping it restores the old settings.
struct Raw<'t> {
    terminal: &'t Stdin,
    before: Termios,
}

impl<'t> Raw<'t> {
    fn set(terminal: &'t Stdin) -> Result<Self> {
        let no_terminal = |errno| Error::new(ErrorKind::Io, format!("cannot use the terminal: {errno}"));
        let before = tcgetattr(terminal).map_err(no_terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(terminal, OptionalActions::Drain, &raw).map_err(no_terminal)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Drain, &self.before);
    }
}
