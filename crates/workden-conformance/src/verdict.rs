//! What a check found: nothing to object to, or a `Failure` that says what was seen and where.

use std::{fmt, panic::Location};

use workden_core::{Error, ErrorKind, Result};

/// Whether a check holds.
pub type Outcome = Result<(), Failure>;

/// Why a check does not hold.
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

    /// What was seen, and what should have been.
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

/// Holds when `fact` does.
#[track_caller]
pub(crate) fn ensure(fact: bool, otherwise: impl Into<String>) -> Outcome {
    if fact { Ok(()) } else { Err(Failure::new(otherwise)) }
}

/// Holds when what was seen is what is expected.
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

/// Holds when a call was refused with an error of this kind; gives the error.
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

/// Holds when an error's sentence or hint has these words in it.
#[track_caller]
pub(crate) fn says(error: &Error, words: &str) -> Outcome {
    ensure(error.to_string().contains(words), format!("an error should say `{words}`, but is {error:?}"))
}

/// A value as a failure shows it: contents of a megabyte are not to be read in full.
fn shortened(shown: &str) -> String {
    const SHOWN_CHARS: usize = 600;
    match shown.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}... ({} bytes in all)", &shown[..at], shown.len()),
        None => shown.to_owned(),
    }
}
