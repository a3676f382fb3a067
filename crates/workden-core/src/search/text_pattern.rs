//! Patterns for text other than paths, such as the arguments of a command: the syntax of path patterns, but with `/` as
//! an ordinary character that `*` matches.

use regex_automata::meta::Regex;
use regex_syntax::hir::Hir;

use super::{
    glob_regex::{
        RuleCase, any_byte, any_char, build_regex, char_expression, class, class_expression, invalid, repeated, whole,
    },
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
        let alternatives = all.iter().map(|pieces| Hir::concat(pieces.iter().map(expression).collect())).collect();
        build_regex(&[whole(alternatives)]).map(Self).ok_or_else(|| invalid(pattern, "it is too large to compile"))
    }

    /// Whether this text matches.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

fn expression(piece: &Piece) -> Hir {
    match piece {
        Piece::Char(c) => char_expression(*c, RuleCase::Sensitive),
        Piece::AnyChar => class_expression(any_char()),
        Piece::AnyChars => repeated(0, any_byte()),
        Piece::Class { negated, ranges } => class_expression(class(*negated, ranges, RuleCase::Sensitive)),
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
