//! How a run ended: its exit code, and the message on standard error.

use std::{io::Write, process::ExitCode, time::Duration};

use workden_core::{
    Error, ErrorKind,
    sandbox::{Ended, Hint, LimitHit},
};

use super::Shown;
use crate::{
    failure::INVALID_COMMAND_LINE,
    isolation::{LANDLOCK_LEVEL_VERSION, in_sandbox, landlock_version},
};

/// The sandbox could not be started, or was lost.
const NO_SANDBOX: u8 = 125;
/// The command timed out.
const TIMED_OUT: u8 = 124;
/// The reader of the output has closed it: the code of a program that `SIGPIPE` ended.
const CLOSED_PIPE: u8 = 141;

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The command ended, hit these limits, and failed for these reasons.
    Command(Ended, Vec<LimitHit>, Vec<Hint>),
    /// The command timed out.
    TimedOut(Duration),
    /// This signal ended the run.
    Told(i32),
    /// The reader of the output has closed it.
    ClosedPipe,
    /// The output cannot be written.
    NoOutput(std::io::Error),
    /// The command line is invalid.
    Nonsense(Error),
    /// The sandbox could not be started.
    Refused(Error),
    /// The sandbox was lost.
    Broken(Error),
}

impl Ending {
    /// Returns the ending for a failure of this process before the sandbox started.
    pub(super) fn not_started(sentence: &str) -> Self {
        Self::Refused(Error::new(ErrorKind::Io, sentence))
    }

    /// Returns the ending for output that cannot be written.
    pub(crate) fn output(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::NoOutput(error),
        }
    }

    /// Prints the message, if there is one, and returns the exit code.
    pub(crate) fn tell(self, shown: Shown, machine: Machine) -> ExitCode {
        if let Self::Command(ended, hits, hints) = &self
            && hits.is_empty()
            && hints.is_empty()
        {
            // The usual case returns early, without locking standard error.
            return ExitCode::from(exit_code(ended.exit_code()));
        }
        let mut errors = anstream::stderr().lock();
        let code = match &self {
            Self::Command(ended, limits_hit, hints) => {
                for hit in limits_hit.iter().filter(|_| !shown.is_json()) {
                    let _ = writeln!(errors, "limit: {}", hit.sentence);
                }
                for hint in hints.iter().filter(|_| !shown.is_json()) {
                    let _ = writeln!(errors, "hint: {}", hint.sentence());
                }
                exit_code(ended.exit_code())
            }
            Self::TimedOut(time) => {
                let _ = writeln!(
                    errors,
                    "error: the command timed out after {} and was stopped, with all that it started",
                    seconds(*time)
                );
                TIMED_OUT
            }
            Self::Told(signal) => exit_code(128 + signal),
            Self::ClosedPipe => CLOSED_PIPE,
            Self::NoOutput(error) => {
                let _ = writeln!(errors, "error: cannot write the output: {error}");
                1
            }
            Self::Refused(error) | Self::Broken(error) | Self::Nonsense(error) => {
                if shown.is_json() {
                    let _ = writeln!(std::io::stdout(), "{}", serde_json::json!({ "error": error }));
                }
                let _ = writeln!(errors, "error: {error}");
                if matches!(self, Self::Refused(_)) {
                    let _ = errors.write_all(choices(error.kind(), machine).as_bytes());
                }
                if matches!(self, Self::Nonsense(_)) { INVALID_COMMAND_LINE } else { NO_SANDBOX }
            }
        };
        ExitCode::from(code)
    }
}

/// The isolation that this machine itself must provide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// Namespaces.
    Namespaces,
    /// Landlock and seccomp.
    WithoutNamespaces,
    /// None: the command is not isolated, or a daemon isolates it.
    NotAsked,
}

/// Lists alternatives, if the machine is the obstacle and not the command line.
fn choices(refused: ErrorKind, machine: Machine) -> String {
    let doctor = "choices: `workden doctor` checks which isolation this machine supports and how to enable the rest;";
    let has_level = landlock_version().is_some_and(|version| version >= LANDLOCK_LEVEL_VERSION);
    let level = match machine {
        Machine::NotAsked => return String::new(),
        Machine::WithoutNamespaces => "",
        _ if has_level => "\n         `--level landlock` needs no namespaces, and is weaker;",
        _ => "",
    };
    match refused {
        // From inside a sandbox the machine cannot be changed.
        _ if in_sandbox() => String::new(),
        // The error itself names what to use.
        _ if cfg!(not(target_os = "linux")) => String::new(),
        ErrorKind::LimitNotHeld => {
            format!("{doctor}\n         `--limits best-effort` runs without the limits that cannot be enforced\n")
        }
        ErrorKind::Unsupported | ErrorKind::PermissionDenied => format!(
            "{doctor}{level}\n         `--sandbox host` runs the command on this machine, without any isolation\n"
        ),
        _ => String::new(),
    }
}

fn exit_code(code: i32) -> u8 {
    // Exit codes have eight bits.
    u8::try_from(code & 0xff).unwrap_or(u8::MAX)
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
