//! Path patterns as regular expressions: the reading of a rule's pattern, and the input of the regex engine.

use std::fmt::Write as _;

use regex_automata::{meta::Regex, util::syntax};
use serde::{Deserialize, Serialize};

use super::glob_syntax::{Alternative, Component, Piece, alternatives};
use crate::{Error, ErrorKind, Result, limits};

/// Whether a rule's pattern distinguishes letter case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleCase {
    /// `*.KEY` and `*.key` are different.
    #[default]
    Sensitive,
    /// `*.KEY` and `*.key` are the same.
    Insensitive,
}

/// The pattern of one rule, with its exceptions.
#[derive(Clone, Copy, Debug)]
pub struct PatternOf<'a> {
    /// The pattern, as for [`compile`](super::glob::compile).
    pub pattern: &'a str,
    /// Patterns of paths that the rule does not match, despite `pattern`.
    pub except: &'a [String],
    /// Whether letter case counts in all of the patterns.
    pub case: RuleCase,
}

/// Returns the alternatives of a rule's pattern, each starting at the root.
pub(super) fn rule_alternatives(pattern: &str, case: RuleCase) -> Result<Vec<Alternative>> {
    let mut all = alternatives(pattern).map_err(|why| invalid(pattern, &why))?;
    all.retain(|alternative| alternative.absolute || !alternative.components.is_empty());
    if all.is_empty() {
        return Err(invalid(pattern, "it is empty"));
    }
    // Such a pattern would match a directory but not its content, which is never intended.
    if all.iter().any(|alternative| alternative.ends_in_slash) {
        return Err(invalid(pattern, "it ends in `/`; for everything in a directory, end it in `/**`"));
    }
    // Case folding visits each character of a class.
    if case == RuleCase::Insensitive && all.iter().map(class_sizes).sum::<usize>() > FOLDED_CHARS {
        return Err(invalid(pattern, "its classes have too many characters for a rule that disregards case"));
    }
    for alternative in all.iter_mut().filter(|alternative| !alternative.has_slash) {
        if alternative.components.first() != Some(&Component::AnyDepth) {
            alternative.components.insert(0, Component::AnyDepth);
        }
    }
    Ok(all)
}

/// How many characters the classes of a case-insensitive rule may have.
const FOLDED_CHARS: usize = 100_000;

fn class_sizes(alternative: &Alternative) -> usize {
    let pieces = alternative.components.iter().flat_map(|component| match component {
        Component::AnyDepth => &[][..],
        Component::Name(pieces) => pieces,
    });
    let size = |range: &(char, char)| u32::from(range.1) as usize - u32::from(range.0) as usize + 1;
    let sizes = pieces.map(|piece| match piece {
        Piece::Class { ranges, .. } => ranges.iter().map(size).sum(),
        Piece::Char(_) | Piece::AnyChar | Piece::AnyChars => 0,
    });
    sizes.sum()
}

pub(super) fn invalid(pattern: &str, why: &str) -> Error {
    const SHOWN_CHARS: usize = 200;
    let mut shown: String = pattern.chars().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if pattern.chars().nth(SHOWN_CHARS).is_some() {
        shown.push_str("...");
    }
    Error::new(ErrorKind::InvalidPattern, format!("invalid glob `{shown}`: {why}"))
        .hint("`*` matches within a name, `**/` any directories, `{a,b}` either, `[a-z]` one of a class; `\\` escapes")
}

/// Combines several expressions into one that reports which of them matched, by index; `None` if it would be too large.
pub(super) fn build_regex(texts: &[String]) -> Option<Regex> {
    let config = Regex::config()
        .utf8_empty(false)
        .nfa_size_limit(Some(limits::COMPILED_PATTERN_BYTES))
        .hybrid_cache_capacity(limits::COMPILED_PATTERN_BYTES);
    let syntax = syntax::Config::new().utf8(false);
    Regex::builder().syntax(syntax).configure(config).build_many(texts).ok()
}

pub(super) fn regex_text(all: &[Alternative], case: RuleCase) -> String {
    let mut text = String::from(match case {
        RuleCase::Sensitive => r"\A(?:",
        RuleCase::Insensitive => r"\A(?i:",
    });
    for (nth, alternative) in all.iter().enumerate() {
        if nth > 0 {
            text.push('|');
        }
        write_alternative(&mut text, &alternative.components);
    }
    text.push_str(r")\z");
    text
}

fn write_alternative(out: &mut String, components: &[Component]) {
    let mut needs_slash = false;
    for (nth, component) in components.iter().enumerate() {
        if needs_slash {
            out.push('/');
        }
        let is_last = nth + 1 == components.len();
        match component {
            // Everything, including the root.
            Component::AnyDepth if components.len() == 1 => out.push_str("(?s-u:.)*"),
            Component::AnyDepth if is_last => out.push_str("(?s-u:.)+"),
            Component::AnyDepth => out.push_str("(?:(?s-u:.)*/)?"),
            Component::Name(pieces) => write_name(out, pieces),
        }
        needs_slash = *component != Component::AnyDepth;
    }
}

fn write_name(out: &mut String, pieces: &[Piece]) {
    if pieces.iter().all(|piece| *piece == Piece::AnyChars) {
        // A name is never empty, and the root has no name.
        return out.push_str("(?-u:[^/])+");
    }
    let mut after_stars = false;
    for piece in pieces {
        match piece {
            Piece::AnyChars if after_stars => {}
            // Bytes are equivalent to characters here, and compile smaller.
            Piece::AnyChars => out.push_str("(?-u:[^/])*"),
            Piece::AnyChar => out.push_str("[^/]"),
            Piece::Char(c) => write_char(out, *c),
            Piece::Class { negated, ranges } => {
                out.push_str(if *negated { "[^/" } else { "[[" });
                for (first, last) in ranges {
                    write_char(out, *first);
                    out.push('-');
                    write_char(out, *last);
                }
                out.push_str(if *negated { "]" } else { "]--/]" });
            }
        }
        after_stars = *piece == Piece::AnyChars;
    }
}

/// Writes a character by its number, so that it has no special meaning for the engine.
pub(super) fn write_char(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        let _ = write!(out, "\\x{{{:X}}}", u32::from(c));
    }
}
