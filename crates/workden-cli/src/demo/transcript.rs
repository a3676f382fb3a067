//! The transcript of the demo: a heading for each scene, each call in plain words, its answer below.
//!
//! Styles are always written; the stream that it goes to leaves them out where nobody sees colours.

use std::{fmt, io::Write};

use anstyle::{AnsiColor, Style};
use workden_core::{Error, ErrorKind};

use crate::failure::{Failure, expect_refusal};

const HEADING: Style = Style::new().bold();
const CALL: Style = AnsiColor::Cyan.on_default();
const REFUSAL: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Yellow.on_default();

/// Where the demo is told, and how much of it was.
pub(super) struct Transcript<'o> {
    out: &'o mut dyn Write,
    scenes: u32,
    calls: u32,
}

impl<'o> Transcript<'o> {
    pub(super) fn new(out: &'o mut dyn Write) -> Self {
        Self { out, scenes: 0, calls: 0 }
    }

    /// Scenes and calls so far.
    pub(super) fn counts(&self) -> (u32, u32) {
        (self.scenes, self.calls)
    }

    /// A line of its own.
    pub(super) fn say(&mut self, line: impl fmt::Display) -> Result<(), Failure> {
        writeln!(self.out, "{HEADING}{line}{HEADING:#}").map_err(Failure::Output)
    }

    /// Opens a scene; the heading says what it shows.
    pub(super) fn scene(&mut self, heading: &str) -> Result<(), Failure> {
        self.scenes += 1;
        let number = self.scenes;
        writeln!(self.out, "\n{HEADING}{number}. {heading}{HEADING:#}").map_err(Failure::Output)
    }

    /// What a reader has to know before the calls that follow.
    pub(super) fn note(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        writeln!(self.out, "{text}").map_err(Failure::Output)
    }

    /// A call that is about to be made.
    pub(super) fn call(&mut self, call: impl fmt::Display) -> Result<(), Failure> {
        self.calls += 1;
        writeln!(self.out, "{CALL}> {call}{CALL:#}").map_err(Failure::Output)
    }

    /// What it answered.
    pub(super) fn answer(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        for line in text.to_string().lines() {
            let indent = if line.is_empty() { "" } else { "  " };
            writeln!(self.out, "{indent}{line}").map_err(Failure::Output)?;
        }
        Ok(())
    }

    /// That it was refused, for the reason that this scene is about.
    pub(super) fn refusal<T: fmt::Debug>(
        &mut self,
        expected: ErrorKind,
        outcome: Result<T, Error>,
    ) -> Result<(), Failure> {
        let error = expect_refusal(expected, outcome)?;
        writeln!(self.out, "  {REFUSAL}{expected:?}{REFUSAL:#}").map_err(Failure::Output)?;
        self.answer(error.sentence())?;
        match error.hint_text() {
            Some(hint) => writeln!(self.out, "  {HINT}hint: {hint}{HINT:#}").map_err(Failure::Output),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(tell: impl FnOnce(&mut Transcript<'_>) -> Result<(), Failure>) -> (String, Result<(), Failure>) {
        let mut out = anstream::StripStream::new(Vec::new());
        let outcome = tell(&mut Transcript::new(&mut out));
        (String::from_utf8(out.into_inner()).unwrap(), outcome)
    }

    #[test]
    fn a_scene_has_a_number_its_calls_and_their_answers() {
        let (text, outcome) = told(|transcript| {
            transcript.scene("It reads")?;
            transcript.call("read /a")?;
            transcript.answer("one\n\ntwo")?;
            transcript.call("read /b")?;
            transcript.refusal(ErrorKind::NotFound, Err::<(), _>(Error::new(ErrorKind::NotFound, "gone").hint("look")))
        });
        assert!(outcome.is_ok());
        assert_eq!(text, "\n1. It reads\n> read /a\n  one\n\n  two\n> read /b\n  NotFound\n  gone\n  hint: look\n");
    }

    #[test]
    fn a_refusal_that_does_not_come_is_a_surprise() {
        let (text, outcome) = told(|transcript| transcript.refusal(ErrorKind::Escapes, Ok("the secret")));
        assert!(matches!(outcome, Err(Failure::Surprise(_))));
        assert!(text.is_empty());
    }
}
