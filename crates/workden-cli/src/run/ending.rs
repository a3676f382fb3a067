//! How a run ended, as an exit code and what is said about it on standard error.

use std::{io::Write, process::ExitCode, time::Duration};

use workden_core::{
    Error, ErrorKind,
    sandbox::{Ended, LimitHit},
};
use workden_keeper::confine::{LANDLOCK_LEVEL_VERSION, landlock_version};

use super::Shown;

/// The sandbox could not be started, or was lost.
const NO_SANDBOX: u8 = 125;
/// The time was over.
const TIMED_OUT: u8 = 124;
/// What was asked for cannot be understood.
const NONSENSE: u8 = 2;
/// The reader of the output has gone: as if by `SIGPIPE`, as it is for other programs.
const CLOSED_PIPE: u8 = 141;

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The command did, and these limits had a part in it.
    Command(Ended, Vec<LimitHit>),
    /// Its time was over.
    TimedOut(Duration),
    /// We were told to end, by this signal.
    Told(i32),
    /// The reader of our output has gone.
    ClosedPipe,
    /// Our output cannot be written.
    NoOutput(std::io::Error),
    /// What was asked for makes no sense.
    Nonsense(Error),
    /// There was no sandbox to run it in.
    Refused(Error),
    /// The sandbox was lost.
    Broken(Error),
}

impl Ending {
    /// Something of our own is missing.
    pub(super) fn not_started(sentence: &str) -> Self {
        Self::Refused(Error::new(ErrorKind::Io, sentence))
    }

    /// Output that cannot be written.
    pub(crate) fn output(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::NoOutput(error),
        }
    }

    /// Says what there is to say, and is the exit code.
    pub(crate) fn tell(self, shown: Shown, machine: Machine) -> ExitCode {
        if let Self::Command(ended, hits) = &self
            && hits.is_empty()
        {
            // Most often there is nothing to say, and nothing is looked up for saying it.
            return ExitCode::from(exit_code(ended.exit_code()));
        }
        let mut errors = anstream::stderr().lock();
        let code = match &self {
            Self::Command(ended, limits_hit) => {
                for hit in limits_hit.iter().filter(|_| shown != Shown::Json) {
                    let _ = writeln!(errors, "limit: {}", hit.sentence);
                }
                exit_code(ended.exit_code())
            }
            Self::TimedOut(time) => {
                let _ = writeln!(
                    errors,
                    "error: the command took longer than {}, and was stopped with all that it started",
                    seconds(*time)
                );
                TIMED_OUT
            }
            Self::Told(signal) => exit_code(128 + signal),
            Self::ClosedPipe => CLOSED_PIPE,
            Self::NoOutput(error) => {
                let _ = writeln!(errors, "error: the output cannot be written: {error}");
                1
            }
            Self::Refused(error) | Self::Broken(error) | Self::Nonsense(error) => {
                if shown == Shown::Json {
                    let _ = writeln!(std::io::stdout(), "{}", serde_json::json!({ "error": error }));
                }
                let _ = writeln!(errors, "error: {error}");
                if matches!(self, Self::Refused(_)) {
                    let _ = errors.write_all(choices(error.kind(), machine).as_bytes());
                }
                if matches!(self, Self::Nonsense(_)) { NONSENSE } else { NO_SANDBOX }
            }
        };
        ExitCode::from(code)
    }
}

/// What was asked of this machine itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// Walls of namespaces.
    Namespaces,
    /// Walls without them.
    WithoutNamespaces,
    /// Nothing: there are no walls, or they are made by somebody else.
    NotAsked,
}

/// What else can be done, where the machine stands in the way and not what was typed.
fn choices(refused: ErrorKind, machine: Machine) -> String {
    let doctor = "choices: `workden doctor` says what this machine can isolate, and how to mend what it cannot;";
    let has_level = landlock_version().is_some_and(|version| version >= LANDLOCK_LEVEL_VERSION);
    let level = match machine {
        Machine::NotAsked => return String::new(),
        Machine::WithoutNamespaces => "",
        _ if has_level => "\n         `--level landlock` needs no namespaces, and holds less;",
        _ => "",
    };
    match refused {
        // There is nothing about this machine that could be mended from in here.
        _ if workden_keeper::confine::in_sandbox() => String::new(),
        ErrorKind::LimitNotHeld => {
            format!("{doctor}\n         `--limits best-effort` does without the limits that nobody can hold\n")
        }
        ErrorKind::Unsupported | ErrorKind::PermissionDenied => format!(
            "{doctor}{level}\n         `--sandbox host` runs the command on this machine as it is, without any isolation\n"
        ),
        _ => String::new(),
    }
}

fn exit_code(code: i32) -> u8 {
    // Exit codes have eight bits; those of a command always fit.
    u8::try_from(code & 0xff).unwrap_or(u8::MAX)
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
