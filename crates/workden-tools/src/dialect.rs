//! `Dialect`: where the console speaks as another library does. Everything that differs between two dialects is here.

use std::fmt::Display;

use serde_json::{Value, json};
use workden_core::limits;

/// The meaning of arguments and the words of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// As coding agents know their tools: lines count from 1, an edit answers with the changed lines, a glob leaves out
    /// ignored files, and an answer of a command is short.
    #[default]
    Workden,
    /// As pydantic-ai-backend, whose callers match on its answers: `offset` is a number of lines to skip, and a glob
    /// shows everything.
    PydanticAiBackend,
}

impl Dialect {
    /// Characters of output that `execute` answers with, unless an option sets another number.
    pub(crate) fn output_chars(self) -> usize {
        match self {
            Self::Workden => limits::ANSWER_CHARS,
            Self::PydanticAiBackend => limits::OUTPUT_CHARS,
        }
    }

    /// The number of lines that an `offset` skips. A first line 0 is taken for 1.
    pub(crate) fn lines_to_skip(self, offset: Option<u64>) -> u64 {
        match self {
            Self::Workden => offset.unwrap_or(1).saturating_sub(1),
            Self::PydanticAiBackend => offset.unwrap_or(0),
        }
    }

    /// Whether an edit answers with the changed lines.
    pub(crate) fn shows_changed_lines(self) -> bool {
        self == Self::Workden
    }

    /// Whether a read says in the words of the tools where to continue and where a file ends.
    pub(crate) fn names_lines(self) -> bool {
        self == Self::Workden
    }

    /// Whether a glob shows ignored files unless a call says otherwise.
    pub(crate) fn shows_ignored_files(self) -> bool {
        self == Self::PydanticAiBackend
    }

    /// A number of things: `1 file`, `2 files`; in the other dialect `1 file(s)`.
    pub(crate) fn counted(self, count: u64, thing: &str) -> String {
        let ending = if thing.ends_with("ch") { "es" } else { "s" };
        match (self, count) {
            (Self::PydanticAiBackend, _) => format!("{count} {thing}({ending})"),
            (Self::Workden, 1) => format!("1 {thing}"),
            (Self::Workden, _) => format!("{count} {thing}{ending}"),
        }
    }

    /// The size of a file.
    pub(crate) fn size(self, bytes: u64) -> String {
        match self {
            Self::Workden => self.counted(bytes, "byte"),
            Self::PydanticAiBackend => format!("{bytes} bytes"),
        }
    }

    /// A summary of the engine, which writes `1 line(s)`.
    pub(crate) fn summary(self, summary: &str) -> String {
        if self == Self::PydanticAiBackend {
            return summary.to_owned();
        }
        let mut words: Vec<&str> = summary.split(' ').collect();
        for at in 1..words.len() {
            if words[at] == "line(s)" {
                words[at] = if words[at - 1] == "1" { "line" } else { "lines" };
            }
        }
        words.join(" ")
    }

    /// The answer to a write.
    pub(crate) fn wrote(self, lines: u64, path: impl Display) -> String {
        match self {
            Self::Workden => format!("Wrote {} to {path}", self.counted(lines, "line")),
            Self::PydanticAiBackend => format!("Wrote {lines} lines to {path}"),
        }
    }

    /// The schema of a tool's arguments as this dialect shows it.
    pub(crate) fn schema(self, tool: &str, schema: &Value) -> Value {
        let mut schema = schema.clone();
        let properties = schema["properties"].as_object_mut();
        match (self, tool, properties) {
            (Self::PydanticAiBackend, "read_file", Some(properties)) => {
                if let Some(offset) = properties.get_mut("offset") {
                    offset["description"] = json!("The number of lines to skip.");
                    offset["default"] = json!(0);
                }
            }
            (Self::PydanticAiBackend, "glob", Some(properties)) => {
                properties.shift_remove("include_ignored");
            }
            _ => {}
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_and_several() {
        let (own, other) = (Dialect::Workden, Dialect::PydanticAiBackend);
        assert_eq!([0, 1, 2].map(|count| own.counted(count, "match")), ["0 matches", "1 match", "2 matches"]);
        assert_eq!([0, 1, 2].map(|count| own.counted(count, "file")), ["0 files", "1 file", "2 files"]);
        assert_eq!(other.counted(1, "match"), "1 match(es)");
        assert_eq!((own.size(1), other.size(1)), ("1 byte".into(), "1 bytes".into()));
        let summary = "Replaced 21 line(s) with 1 line(s) at line 1";
        assert_eq!(
            (own.summary(summary).as_str(), other.summary(summary).as_str()),
            ("Replaced 21 lines with 1 line at line 1", summary)
        );
        assert_eq!((own.wrote(1, "a"), other.wrote(1, "a")), ("Wrote 1 line to a".into(), "Wrote 1 lines to a".into()));
    }

    #[test]
    fn lines_count_from_1_and_0_is_taken_for_1() {
        assert_eq!(
            [None, Some(0), Some(1), Some(9)].map(|offset| Dialect::Workden.lines_to_skip(offset)),
            [0, 0, 0, 8]
        );
        let other = Dialect::PydanticAiBackend;
        assert_eq!([None, Some(0), Some(1)].map(|offset| other.lines_to_skip(offset)), [0, 0, 1]);
    }
}
