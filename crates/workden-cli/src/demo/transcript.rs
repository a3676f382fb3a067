//! The transcript of the demo: the agent's thoughts, each call, and its answer.
//!
//! Styles are always written; the output stream strips them where it shows no colours.

use std::{fmt, io::Write};

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use workden::tools::{ToolAnswer, ToolFailure};

use crate::failure::Failure;

const HEADING: Style = Style::new().bold();
const THOUGHT: Style = Style::new().italic();
const CALL: Style = AnsiColor::Cyan.on_default().bold();
const REFUSAL: Style = AnsiColor::Yellow.on_default();

/// Writes the transcript.
pub(super) struct Transcript<'o> {
    out: &'o mut dyn Write,
    scenes: u32,
}

impl<'o> Transcript<'o> {
    pub(super) fn new(out: &'o mut dyn Write) -> Self {
        Self { out, scenes: 0 }
    }

    /// Writes a line.
    pub(super) fn say(&mut self, line: impl fmt::Display) -> Result<(), Failure> {
        writeln!(self.out, "{line}").map_err(Failure::Output)
    }

    /// Writes the numbered heading of a scene.
    pub(super) fn scene(&mut self, heading: &str) -> Result<(), Failure> {
        self.scenes += 1;
        let number = self.scenes;
        writeln!(self.out, "\n{HEADING}{number}. {heading}{HEADING:#}").map_err(Failure::Output)
    }

    /// Writes the agent's thought, if it has one, and its next call.
    pub(super) fn call(&mut self, thought: &str, tool: &str, arguments: &Value) -> Result<(), Failure> {
        if !thought.is_empty() {
            writeln!(self.out, "{THOUGHT}\"{thought}\"{THOUGHT:#}").map_err(Failure::Output)?;
        }
        let named = |name: &str| arguments[name].as_str();
        let short = named("path").or(named("command")).or(named("pattern")).unwrap_or_default();
        writeln!(self.out, "{CALL}> {tool}{CALL:#} {short}").map_err(Failure::Output)?;
        for (name, mark) in [("content", '|'), ("old_string", '-'), ("new_string", '+')] {
            for line in named(name).unwrap_or_default().lines() {
                writeln!(self.out, "    {mark} {line}").map_err(Failure::Output)?;
            }
        }
        Ok(())
    }

    /// Writes the answer, as a model sees it.
    pub(super) fn answer(&mut self, outcome: &Result<ToolAnswer, ToolFailure>) -> Result<(), Failure> {
        let (style, text) = match outcome {
            Ok(answer) => (Style::new(), &answer.text),
            Err(failure) => (REFUSAL, &failure.text),
        };
        for line in text.trim_end().lines() {
            writeln!(self.out, "  {style}{line}{style:#}").map_err(Failure::Output)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use workden::ErrorKind;

    use super::*;

    #[test]
    fn a_scene_has_a_number_its_calls_and_their_answers() {
        let mut out = anstream::StripStream::new(Vec::new());
        let mut transcript = Transcript::new(&mut out);
        transcript.scene("It edits").unwrap();
        let arguments = json!({ "path": "a", "old_string": "x\ny", "new_string": "z" });
        transcript.call("Hm.", "edit_file", &arguments).unwrap();
        transcript.answer(&Err(ToolFailure::new(ErrorKind::NoMatch, "Error: no\nhint: yes\n"))).unwrap();
        let text = String::from_utf8(out.into_inner()).unwrap();
        assert_eq!(
            text,
            "\n1. It edits\n\"Hm.\"\n> edit_file a\n    - x\n    - y\n    + z\n  Error: no\n  hint: yes\n"
        );
    }
}
