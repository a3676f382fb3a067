//! Why a command did not succeed, and the checks that make the demo a test of itself.

use std::{
    fmt,
    io::{self, Write},
};

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something did not come out as shown.
    Surprise(String),
    /// There is nowhere to make the temporary directory.
    NoStage(io::Error),
    /// The machine has no room, no threads, or does otherwise not do what it should.
    Machine(io::Error),
    /// The input could not be read.
    Input(io::Error),
    /// The output could not be written.
    Output(io::Error),
    /// What was asked for makes no sense; the sentence says why.
    Request(String),
}

impl Failure {
    /// Says it on standard error.
    pub(crate) fn tell(&self) {
        let _ = writeln!(anstream::stderr(), "error: {self}");
    }

    /// Whether the reader of the output has gone.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Surprise(what) => write!(f, "this did not come out as shown: {what}"),
            Self::NoStage(error) => write!(
                f,
                "the demo cannot make its temporary directory: {error}\n\
                 hint: set TMPDIR to a directory that exists and can be written to"
            ),
            Self::Machine(error) => write!(f, "this cannot be set up here: {error}"),
            Self::Request(sentence) => f.write_str(sentence),
            Self::Input(error) => write!(f, "the input cannot be read: {error}"),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

/// An error of the library, as it is.
pub(crate) fn request(error: workden::Error) -> Failure {
    Failure::Request(error.to_string())
}

/// Makes sure that something is what it should be.
pub(crate) fn expect_same<T: PartialEq + fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(Failure::Surprise(format!("{what} should be {expected:?}, and is {found:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_it_should_be_passes_and_all_else_says_what_was_found() {
        assert!(expect_same("the sum", 2, 2).is_ok());
        let failure = expect_same("the sum", 3, 2).unwrap_err().to_string();
        assert_eq!(failure, "this did not come out as shown: the sum should be 2, and is 3");
    }

    #[test]
    fn a_closed_pipe_is_told_from_a_full_disk() {
        assert!(Failure::Output(io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
        assert!(!Failure::Output(io::ErrorKind::StorageFull.into()).is_closed_pipe());
        assert!(!Failure::Machine(io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
    }
}
