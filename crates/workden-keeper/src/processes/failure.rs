//! Errors of commands that did not start: the message, and the exit code that a shell would return.

use rustix::io::Errno;
use workden_core::{
    Error, ErrorKind,
    sandbox::{Command, Ended},
};

use super::{shell, tree::TreeState};
use crate::reaper::message::StartStage;

/// Why a command did not start.
pub(crate) enum StartFailure {
    /// The program does not exist, or cannot be executed: an ordinary end, with a message in the output.
    Unrunnable(String, Ended),
    /// The directory, or the sandbox, did not allow it.
    Refused(Error),
}

/// Returns why a command did not start, if it did not.
pub(crate) fn of(state: &TreeState, command: &Command) -> Option<StartFailure> {
    let (stage, why) = state.failed?;
    Some(failure(stage, why, command))
}

/// Returns the failure of a start that came this far.
pub(crate) fn failure(stage: StartStage, why: Errno, command: &Command) -> StartFailure {
    match (stage, why) {
        (StartStage::Exec, why) => {
            let program = match command {
                Command::Shell(_) => shell::shell().1,
                Command::Program(words) => words.first().map_or("", String::as_str),
            };
            let (reason, code) = match why {
                Errno::NOENT => ("no such program".to_owned(), 127),
                why => (words(why), 126),
            };
            StartFailure::Unrunnable(format!("cannot run `{program}`: {reason}\n"), Ended::Exited(code))
        }
        (StartStage::Directory, why) => {
            let kind = match why {
                Errno::NOENT => ErrorKind::NotFound,
                Errno::NOTDIR => ErrorKind::NotDirectory,
                Errno::ACCESS | Errno::PERM => ErrorKind::PermissionDenied,
                _ => ErrorKind::Io,
            };
            let sentence = format!("cannot enter the directory of the command: {}", words(why));
            StartFailure::Refused(
                Error::new(kind, sentence).hint("name a directory that exists and that you may enter"),
            )
        }
        (StartStage::Fork, Errno::AGAIN) => StartFailure::Refused(
            Error::new(ErrorKind::Busy, "cannot start a process: the process limit of the sandbox is reached")
                .hint("wait for commands to end, or kill background jobs"),
        ),
        (StartStage::Fork, why) => {
            StartFailure::Refused(Error::new(ErrorKind::Io, format!("cannot start a process: {}", words(why))))
        }
        (StartStage::Prepare, why) => StartFailure::Refused(Error::new(
            ErrorKind::Io,
            format!("cannot prepare the process of a command: {}", words(why)),
        )),
    }
}

/// Returns the system's message for an error, without its number.
pub(crate) fn words(why: Errno) -> String {
    let text = std::io::Error::from(why).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

/// Returns the error for calls after the end of the sandbox.
pub(crate) fn gone() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox has been stopped").hint("start another sandbox")
}

/// Returns the error for a resource that the keeper could not get.
pub(super) fn broken(what: &str, why: Errno) -> Error {
    let kind = match why {
        Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE => ErrorKind::Busy,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("the keeper cannot {what}: {}", words(why)))
}
