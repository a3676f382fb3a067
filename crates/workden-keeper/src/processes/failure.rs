//! Commands that never came to be: what is said, and which exit code a shell would give.

use rustix::io::Errno;
use workden_core::{
    Error, ErrorKind,
    sandbox::{Command, Ended},
};

use super::tree::TreeState;
use crate::reaper::message::StartStage;

/// Why a command never was.
pub(crate) enum StartFailure {
    /// The program is not there, or cannot be run: an end like any other, with a sentence in its
    /// output.
    Unrunnable(String, Ended),
    /// The place or the sandbox could not have it.
    Refused(Error),
}

/// Why a command never was, if so.
pub(crate) fn of(state: &TreeState, command: &Command) -> Option<StartFailure> {
    let (stage, why) = state.failed?;
    Some(failure(stage, why, command))
}

/// What became of a command that came as far as this.
pub(crate) fn failure(stage: StartStage, why: Errno, command: &Command) -> StartFailure {
    match (stage, why) {
        (StartStage::Exec, why) => {
            let program = match command {
                Command::Shell(_) => "/bin/sh",
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
            let sentence = format!("cannot run a command in its directory: {}", words(why));
            StartFailure::Refused(Error::new(kind, sentence).hint("name a directory that exists and may be entered"))
        }
        (StartStage::Fork, Errno::AGAIN) => StartFailure::Refused(
            Error::new(ErrorKind::Busy, "cannot start another process: the process limit of the sandbox is reached")
                .hint("wait for commands to end, or kill background jobs"),
        ),
        (StartStage::Fork, why) => {
            StartFailure::Refused(Error::new(ErrorKind::Io, format!("cannot start a process: {}", words(why))))
        }
        (StartStage::Prepare, why) => StartFailure::Refused(Error::new(
            ErrorKind::Io,
            format!("cannot give a command what every command gets: {}", words(why)),
        )),
    }
}

/// What the system calls an error, without its number.
pub(crate) fn words(why: Errno) -> String {
    let text = std::io::Error::from(why).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

/// The sandbox is no more.
pub(crate) fn gone() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox has been stopped").hint("create another one")
}

/// What the keeper itself needed for a command could not be had.
pub(super) fn broken(what: &str, why: Errno) -> Error {
    let kind = match why {
        Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE => ErrorKind::Busy,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("the keeper cannot {what}: {}", words(why)))
}
