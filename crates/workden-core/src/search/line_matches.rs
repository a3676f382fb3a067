//! The lines of one file in an answer.
//!
//! An answer may have hundreds of thousands of lines: all lines of a file are stored in two allocations.

use std::{borrow::Cow, fmt, slice};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{SeqAccess, Visitor},
};

use crate::setters::setters;

/// A line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LineMatch<'a> {
    /// The line number, from 1.
    pub number: u64,
    /// The text without the line ending; bytes that are not UTF-8 are shown as U+FFFD.
    pub text: &'a str,
    /// Whether the line matches or is context.
    pub role: LineRole,
    /// How many bytes were left out at the end of the line.
    pub left_out: u64,
}

impl<'a> LineMatch<'a> {
    /// Creates a line that is shown in full.
    #[must_use]
    pub fn new(number: u64, text: &'a str, role: LineRole) -> Self {
        Self { number, text, role, left_out: 0 }
    }

    setters! {
        /// Sets how many bytes were left out at the end of the line.
        left_out: u64,
    }
}

/// Why a line is in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineRole {
    /// The line matches.
    Match,
    /// The line is before or after a match.
    Context,
}

/// Lines of a file, in their order.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct LineMatches {
    text: String,
    marks: Vec<Mark>,
}

/// The properties of a line besides its text.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    number: u64,
    /// The end of the line's text; it starts at the end of the previous line's.
    end: usize,
    role: LineRole,
    left_out: u64,
}

impl LineMatches {
    /// Returns the number of lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there are no lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns an iterator over the lines.
    pub fn iter(&self) -> Iter<'_> {
        Iter { text: &self.text, begin: 0, marks: self.marks.iter() }
    }

    /// Adds a line.
    pub fn push(&mut self, line: LineMatch<'_>) {
        self.text.push_str(line.text);
        self.marks.push(Mark { number: line.number, end: self.text.len(), role: line.role, left_out: line.left_out });
    }

    /// Keeps the first `most` lines.
    pub fn truncate(&mut self, most: usize) {
        self.marks.truncate(most);
        self.text.truncate(self.marks.last().map_or(0, |last| last.end));
    }
}

/// An iterator over the lines of a file.
#[derive(Clone)]
pub struct Iter<'a> {
    text: &'a str,
    begin: usize,
    marks: slice::Iter<'a, Mark>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = LineMatch<'a>;

    fn next(&mut self) -> Option<LineMatch<'a>> {
        let mark = self.marks.next()?;
        let text = &self.text[self.begin..mark.end];
        self.begin = mark.end;
        Some(LineMatch { number: mark.number, text, role: mark.role, left_out: mark.left_out })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.marks.size_hint()
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a LineMatches {
    type Item = LineMatch<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl<'a> FromIterator<LineMatch<'a>> for LineMatches {
    fn from_iter<I: IntoIterator<Item = LineMatch<'a>>>(lines: I) -> Self {
        let mut all = Self::default();
        lines.into_iter().for_each(|line| all.push(line));
        all
    }
}

impl fmt::Debug for LineMatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl Serialize for LineMatches {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de> Deserialize<'de> for LineMatches {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Lines)
    }
}

struct Lines;

impl<'de> Visitor<'de> for Lines {
    type Value = LineMatches;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lines of a file")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<LineMatches, A::Error> {
        /// A deserialised line, whose text may have to be allocated.
        #[derive(Deserialize)]
        struct Written<'a> {
            number: u64,
            #[serde(borrow)]
            text: Cow<'a, str>,
            role: LineRole,
            #[serde(default)]
            left_out: u64,
        }
        let mut all = LineMatches::default();
        while let Some(Written { number, text, role, left_out }) = sequence.next_element()? {
            all.push(LineMatch { number, text: &text, role, left_out });
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, text: &str) -> LineMatch<'_> {
        LineMatch { number, text, role: LineRole::Match, left_out: 0 }
    }

    #[test]
    fn lines_come_back_as_they_went_in() {
        let all = [line(1, "one"), line(7, ""), LineMatch { role: LineRole::Context, left_out: 3, ..line(9, "größe") }];
        let mut lines: LineMatches = all.into_iter().collect();
        assert_eq!(lines.iter().collect::<Vec<_>>(), all);
        assert_eq!((lines.len(), lines.iter().len(), lines.is_empty()), (3, 3, false));
        for most in [5, 2, 1, 0] {
            lines.truncate(most);
            assert_eq!(lines.iter().collect::<Vec<_>>(), all[..most.min(3)]);
        }
        lines.push(all[2]);
        assert_eq!(lines.iter().collect::<Vec<_>>(), [all[2]]);
    }

    #[test]
    fn they_are_written_as_a_list() {
        let lines: LineMatches = [line(1, "a \"b\"\t\u{1}"), line(2, "ü")].into_iter().collect();
        let written = serde_json::to_string(&lines).unwrap();
        assert_eq!(
            written,
            concat!(
                r#"[{"number":1,"text":"a \"b\"\t\u0001","role":"match","left_out":0},"#,
                r#"{"number":2,"text":"ü","role":"match","left_out":0}]"#
            )
        );
        assert_eq!(serde_json::from_str::<LineMatches>(&written).unwrap(), lines);
        assert_eq!(serde_json::from_reader::<_, LineMatches>(written.as_bytes()).unwrap(), lines);
    }
}
