//! Path patterns as regular expressions: the reading of a rule's pattern, and the input of the regex engine.

use regex_automata::meta::Regex;
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, Look, Repetition};
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
    let size = |range: &(char, char)| u32::from(range.1) as usize - u32::from(range.0) as usize + 1;
    let sizes = pieces_of(alternative).map(|piece| match piece {
        Piece::Class { ranges, .. } => ranges.iter().map(size).sum(),
        Piece::Char(_) | Piece::AnyChar | Piece::AnyChars => 0,
    });
    sizes.sum()
}

/// Returns how many characters and wildcards these have.
pub(super) fn pieces(all: &[Alternative]) -> usize {
    all.iter().map(|alternative| pieces_of(alternative).count()).sum()
}

fn pieces_of(alternative: &Alternative) -> impl Iterator<Item = &Piece> {
    alternative.components.iter().flat_map(|component| match component {
        Component::AnyDepth => &[][..],
        Component::Name(pieces) => pieces,
    })
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
pub(super) fn build_regex(expressions: &[Hir]) -> Option<Regex> {
    let config = Regex::config()
        .utf8_empty(false)
        .nfa_size_limit(Some(limits::COMPILED_PATTERN_BYTES))
        .hybrid_cache_capacity(limits::COMPILED_PATTERN_BYTES);
    Regex::builder().configure(config).build_many_from_hir(expressions).ok()
}

/// Returns the expression of a path pattern. It is made of parts, not of text: a policy has hundreds of patterns, and
/// parsing their text took a third of the start of a server.
pub(super) fn path_expression(all: &[Alternative], case: RuleCase) -> Hir {
    whole(all.iter().map(|alternative| components_expression(&alternative.components, case)).collect())
}

/// Returns an expression that matches a text as a whole, by any of these.
pub(super) fn whole(alternatives: Vec<Hir>) -> Hir {
    Hir::concat(vec![Hir::look(Look::Start), Hir::alternation(alternatives), Hir::look(Look::End)])
}

fn components_expression(components: &[Component], case: RuleCase) -> Hir {
    let mut parts = Vec::new();
    let mut needs_slash = false;
    for (nth, component) in components.iter().enumerate() {
        if needs_slash {
            parts.push(slash());
        }
        let is_last = nth + 1 == components.len();
        match component {
            // Everything, including the root.
            Component::AnyDepth if components.len() == 1 => parts.push(repeated(0, any_byte())),
            Component::AnyDepth if is_last => parts.push(repeated(1, any_byte())),
            Component::AnyDepth => {
                let above = Hir::concat(vec![repeated(0, any_byte()), slash()]);
                parts.push(Hir::repetition(Repetition { min: 0, max: Some(1), greedy: true, sub: Box::new(above) }));
            }
            Component::Name(pieces) => push_name(&mut parts, pieces, case),
        }
        needs_slash = *component != Component::AnyDepth;
    }
    Hir::concat(parts)
}

fn push_name(parts: &mut Vec<Hir>, pieces: &[Piece], case: RuleCase) {
    if pieces.iter().all(|piece| *piece == Piece::AnyChars) {
        // A name is never empty, and the root has no name.
        return parts.push(repeated(1, byte_of_a_name()));
    }
    let mut after_stars = false;
    for piece in pieces {
        match piece {
            Piece::AnyChars if after_stars => {}
            // Bytes are equivalent to characters here, and compile smaller.
            Piece::AnyChars => parts.push(repeated(0, byte_of_a_name())),
            Piece::AnyChar => parts.push(class_expression(without_slash(any_char()))),
            Piece::Char(c) => parts.push(char_expression(*c, case)),
            Piece::Class { negated, ranges } => {
                parts.push(class_expression(without_slash(class(*negated, ranges, case))));
            }
        }
        after_stars = *piece == Piece::AnyChars;
    }
}

pub(super) fn char_expression(c: char, case: RuleCase) -> Hir {
    match case {
        RuleCase::Sensitive => Hir::literal(c.encode_utf8(&mut [0; 4]).as_bytes()),
        RuleCase::Insensitive => class_expression(class(false, &[(c, c)], case)),
    }
}

/// Returns the characters of a class: case is folded before the class is negated, so that `[!a]` excludes `A` as well.
pub(super) fn class(negated: bool, ranges: &[(char, char)], case: RuleCase) -> ClassUnicode {
    let mut class = ClassUnicode::new(ranges.iter().map(|(first, last)| ClassUnicodeRange::new(*first, *last)));
    if case == RuleCase::Insensitive {
        class.case_fold_simple();
    }
    if negated {
        class.negate();
    }
    class
}

pub(super) fn any_char() -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)])
}

pub(super) fn class_expression(class: ClassUnicode) -> Hir {
    Hir::class(Class::Unicode(class))
}

pub(super) fn any_byte() -> Hir {
    Hir::class(Class::Bytes(ClassBytes::new([ClassBytesRange::new(0, u8::MAX)])))
}

pub(super) fn repeated(min: u32, sub: Hir) -> Hir {
    Hir::repetition(Repetition { min, max: None, greedy: true, sub: Box::new(sub) })
}

fn slash() -> Hir {
    Hir::literal(*b"/")
}

fn without_slash(mut class: ClassUnicode) -> ClassUnicode {
    class.difference(&ClassUnicode::new([ClassUnicodeRange::new('/', '/')]));
    class
}

fn byte_of_a_name() -> Hir {
    Hir::class(Class::Bytes(ClassBytes::new([
        ClassBytesRange::new(0, b'/' - 1),
        ClassBytesRange::new(b'/' + 1, u8::MAX),
    ])))
}
