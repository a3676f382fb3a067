//! The outcome of a check: success, or a `Failure` that describes the difference.

use std::{fmt, panic::Location};

use workden_core::{Error, ErrorKind, Result};

/// Success if a check holds, otherwise a `Failure`.
pub type Outcome = Result<(), Failure>;

/// The reason why a check does not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    sentence: String,
    place: &'static Location<'static>,
}

impl Failure {
    #[track_caller]
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), place: Location::caller() }
    }

    /// Returns the observed and the expected behaviour as a sentence.
    #[must_use]
    pub fn sentence(&self) -> &str {
        &self.sentence
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{})", self.sentence, self.place.file(), self.place.line())
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    #[track_caller]
    fn from(error: Error) -> Self {
        Self::new(format!("a call that should succeed was refused with {error:?}"))
    }
}

/// Holds when `fact` is true.
#[track_caller]
pub(crate) fn ensure(fact: bool, otherwise: impl Into<String>) -> Outcome {
    if fact { Ok(()) } else { Err(Failure::new(otherwise)) }
}

/// Holds when the observed value equals the expected one.
#[track_caller]
pub(crate) fn equal<A: PartialEq<E> + fmt::Debug, E: fmt::Debug>(
    what: impl fmt::Display,
    seen: A,
    expected: E,
) -> Outcome {
    if seen == expected {
        return Ok(());
    }
    let (seen, expected) = (shortened(&format!("{seen:?}")), shortened(&format!("{expected:?}")));
    Err(Failure::new(format!("{what}: saw {seen}, expected {expected}")))
}

/// Holds when a call was refused with an error of this kind; returns the error.
#[track_caller]
pub(crate) fn refused<T: fmt::Debug>(
    what: impl fmt::Display,
    answer: Result<T>,
    kind: ErrorKind,
) -> Result<Error, Failure> {
    match answer {
        Err(error) if error.kind() == kind => Ok(error),
        Err(error) => Err(Failure::new(format!("{what}: should be refused with {kind:?}, but was with {error:?}"))),
        Ok(answer) => Err(Failure::new(format!(
            "{what}: should be refused with {kind:?}, but gave {}",
            shortened(&format!("{answer:?}"))
        ))),
    }
}

/// Holds when an error's message or hint contains `words`.
#[track_caller]
pub(crate) fn says(error: &Error, words: &str) -> Outcome {
    ensure(error.to_string().contains(words), format!("an error should say `{words}`, but is {error:?}"))
}

/// Shortens a value for a failure message: contents of a megabyte must not be shown in full.
fn shortened(shown: &str) -> String {
    const SHOWN_CHARS: usize = 600;
    match shown.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}... ({} bytes in all)", &shown[..at], shown.len()),
        None => shown.to_owned(),
    }
}
