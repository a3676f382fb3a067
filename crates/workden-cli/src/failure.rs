//! Failures of commands, and the check by which the demo tests itself.

use std::{
    fmt,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

/// The exit code of an invalid command line, as `clap` has it.
pub(crate) const INVALID_COMMAND_LINE: u8 = 2;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A result of the demo differs from the script.
    Surprise(String),
    /// The temporary directory cannot be created.
    NoStage(io::Error),
    /// The system lacks space or threads, or fails otherwise.
    Machine(io::Error),
    /// The input could not be read.
    Input(io::Error),
    /// The output could not be written.
    Output(io::Error),
    /// The request is invalid; the sentence says why.
    Request(String),
    /// The options do not go together; the sentence says why.
    Usage(String),
}

impl Failure {
    /// Prints it to standard error.
    pub(crate) fn tell(&self) {
        let _ = writeln!(anstream::stderr(), "error: {self}");
    }

    /// Returns the exit code: 2 for an invalid command line, otherwise this one.
    pub(crate) fn exit_code(&self, otherwise: u8) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(INVALID_COMMAND_LINE),
            _ => ExitCode::from(otherwise),
        }
    }

    /// Returns whether the reader of the output has closed it.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Surprise(what) => write!(f, "unexpected result: {what}"),
            Self::NoStage(error) => write!(
                f,
                "cannot create a temporary directory: {error}\n\
                 hint: set TMPDIR to a writable directory"
            ),
            Self::Machine(error) => write!(f, "setup failed: {error}"),
            Self::Request(sentence) | Self::Usage(sentence) => f.write_str(sentence),
            Self::Input(error) => write!(f, "cannot read the input: {error}"),
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}

/// Converts an error of the library, unchanged.
pub(crate) fn request(error: workden::Error) -> Failure {
    Failure::Request(error.to_string())
}

/// Converts an error about options that do not go together.
pub(crate) fn usage(error: workden::Error) -> Failure {
    Failure::Usage(error.to_string())
}

/// Says that a file that the user named cannot be read. The path is shown as it was typed, without the system's words.
pub(crate) fn unreadable(what: &str, path: &Path, error: &io::Error) -> Failure {
    let shown = path.display();
    Failure::Request(match error.kind() {
        io::ErrorKind::NotFound => format!("{what} `{shown}` not found"),
        kind => format!("cannot read {what} `{shown}`: {kind}"),
    })
}

/// Compares a result of the demo with the expected one.
pub(crate) fn expect_same<T: PartialEq + fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(Failure::Surprise(format!("{what} is {found:?}, expected {expected:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_it_should_be_passes_and_all_else_says_what_was_found() {
        assert!(expect_same("the sum", 2, 2).is_ok());
        let failure = expect_same("the sum", 3, 2).unwrap_err().to_string();
        assert_eq!(failure, "unexpected result: the sum is 3, expected 2");
    }

    #[test]
    fn a_closed_pipe_is_told_from_a_full_disk() {
        assert!(Failure::Output(io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
        assert!(!Failure::Output(io::ErrorKind::StorageFull.into()).is_closed_pipe());
        assert!(!Failure::Machine(io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
    }
}
