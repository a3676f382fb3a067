//! Patterns for text other than paths, such as the arguments of a command: the syntax of path patterns, but with `/` as
//! an ordinary character that `*` matches.

use regex_automata::meta::Regex;

use super::{
    glob_regex::{build_regex, invalid, write_char},
    glob_syntax::{Piece, text_alternatives},
};
use crate::Result;

/// A pattern for a whole text; letter case counts.
#[derive(Clone, Debug)]
pub struct TextPattern(Regex);

impl TextPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPattern` if the pattern does not parse or exceeds the [`limits`](crate::limits).
    pub fn new(pattern: &str) -> Result<Self> {
        let all = text_alternatives(pattern).map_err(|why| invalid(pattern, &why))?;
        let mut text = String::from(r"\A(?:");
        for (nth, pieces) in all.iter().enumerate() {
            if nth > 0 {
                text.push('|');
            }
            pieces.iter().for_each(|piece| write_piece(&mut text, piece));
        }
        text.push_str(r")\z");
        build_regex(&[text]).map(Self).ok_or_else(|| invalid(pattern, "it is too large to compile"))
    }

    /// Whether this text matches.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

fn write_piece(out: &mut String, piece: &Piece) {
    match piece {
        Piece::Char(c) => write_char(out, *c),
        Piece::AnyChar => out.push_str("(?s:.)"),
        Piece::AnyChars => out.push_str("(?s-u:.)*"),
        Piece::Class { negated, ranges } => {
            out.push_str(if *negated { "[^" } else { "[" });
            for (first, last) in ranges {
                write_char(out, *first);
                out.push('-');
                write_char(out, *last);
            }
            out.push(']');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_is_a_character_like_any_other() {
        let check = |pattern: &str, matching: &[&str], others: &[&str]| {
            let compiled = TextPattern::new(pattern).unwrap();
            matching.iter().for_each(|text| assert!(compiled.is_match(text), "{pattern} on {text:?}"));
            others.iter().for_each(|text| assert!(!compiled.is_match(text), "{pattern} on {text:?}"));
        };
        check("of=/dev/*", &["of=/dev/sda", "of=/dev/disk/by-id/x", "of=/dev/"], &["of=/dev", "OF=/dev/x"]);
        check("{a,b/c}?", &["ax", "b/c/", "a\n", "aé"], &["a", "b/c"]);
        check("[!a]", &["/", "b", "\n"], &["a", ""]);
        check("a[+-9]", &["a/", "a5"], &["a:"]);
        check("", &[""], &["a"]);
        assert!(TextPattern::new("[z-a]").is_err() && TextPattern::new("{a").is_err());
    }
}
