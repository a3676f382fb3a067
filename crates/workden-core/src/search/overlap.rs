//! Whether two path patterns could match the same path: the matches of `*.p*` in a shell are not known before it runs,
//! but whether a rule's file could be among them is.
//!
//! A pattern that could match a rule's file only because a wildcard matches anything (`*`, `*.log`) says nothing about
//! the rule. It counts only if some literal character of one pattern matches a literal of the other. Otherwise the
//! answer errs towards yes: two classes are assumed to overlap.

use super::glob_syntax::{Alternative, Component, Piece, alternatives};
use crate::RuleCase;

/// A parsed pattern, for many comparisons.
#[derive(Clone, Debug)]
pub struct Shape {
    /// `None` for a pattern that does not parse.
    alternatives: Option<Vec<Alternative>>,
}

impl Shape {
    /// Parses a pattern for whole paths. A pattern that does not parse is assumed to match anything.
    #[must_use]
    pub fn of(pattern: &str) -> Self {
        Self { alternatives: alternatives(pattern).ok() }
    }

    /// Whether this shell pattern and a rule's pattern could match the same path, and share some literal character. A
    /// shared suffix does not count, unless the rule consists of it alone. A shell pattern does not match names that
    /// start with a dot, unless it starts with a dot itself.
    #[must_use]
    pub fn could_meet(&self, rule: &Self, case: RuleCase) -> bool {
        let (Some(shell), Some(rule)) = (&self.alternatives, &rule.alternatives) else { return true };
        shell.iter().any(|shell| rule.iter().any(|rule| components_meet(shell, rule, case)))
    }

    /// Whether a rule's pattern matches everything that this shell pattern matches. Returns `false` if that is not
    /// obvious.
    #[must_use]
    pub fn is_always_within(&self, rule: &Self, case: RuleCase) -> bool {
        let (Some(shell), Some(rule)) = (&self.alternatives, &rule.alternatives) else { return false };
        shell.iter().all(|shell| rule.iter().any(|rule| takes_in(&rule.components, &shell.components, case)))
    }

    /// Returns an example of a path that this shell pattern matches, with `x` for wildcards.
    #[must_use]
    pub fn sample(&self) -> String {
        let first = self.alternatives.iter().flatten().next();
        let names = first.into_iter().flat_map(|first| &first.components).filter_map(|component| match component {
            Component::AnyDepth => None,
            Component::Name(pieces) => Some(pieces.iter().map(sample_of).collect::<String>()),
        });
        names.fold(String::new(), |path, name| path + "/" + &name)
    }
}

/// Whether a rule covers a shell pattern. The shell pattern is read like a path in which a wildcard is a special letter
/// that only a wildcard matches.
fn takes_in(rule: &[Component], shell: &[Component], case: RuleCase) -> bool {
    let mut takes = vec![vec![false; shell.len() + 1]; rule.len() + 1];
    for i in (0..=rule.len()).rev() {
        for j in (0..=shell.len()).rev() {
            takes[i][j] = match (rule.get(i), shell.get(j)) {
                (None, None) => true,
                (None, Some(_)) | (Some(Component::Name(_)), None | Some(Component::AnyDepth)) => false,
                (Some(Component::AnyDepth), None) => takes[i + 1][j],
                (Some(Component::AnyDepth), Some(_)) => takes[i + 1][j] || takes[i][j + 1],
                (Some(Component::Name(own)), Some(Component::Name(name))) => {
                    takes[i + 1][j + 1] && name_takes_in(own, name, case)
                }
            };
        }
    }
    takes[0][0]
}

fn name_takes_in(rule: &[Piece], shell: &[Piece], case: RuleCase) -> bool {
    // Positions in the rule that are reachable after each piece of the shell pattern.
    let mut at = vec![false; rule.len() + 1];
    at[0] = true;
    let skip_stars = |at: &mut Vec<bool>| {
        for i in 0..rule.len() {
            at[i + 1] |= at[i] && rule[i] == Piece::AnyChars;
        }
    };
    skip_stars(&mut at);
    for piece in shell {
        let mut next = vec![false; rule.len() + 1];
        for (i, own) in rule.iter().enumerate().filter(|(i, _)| at[*i]) {
            match (own, piece) {
                (Piece::AnyChars, _) => next[i] = true,
                (Piece::AnyChar, Piece::Char(_) | Piece::AnyChar | Piece::Class { .. }) => next[i + 1] = true,
                (Piece::Char(_), Piece::Char(_)) if characters_meet(piece, own, case) => next[i + 1] = true,
                (own, piece) if own == piece => next[i + 1] = true,
                _ => {}
            }
        }
        at = next;
        skip_stars(&mut at);
    }
    at[rule.len()]
}

fn sample_of(piece: &Piece) -> char {
    match piece {
        Piece::Char(c) => *c,
        Piece::AnyChar | Piece::AnyChars | Piece::Class { negated: true, .. } => 'x',
        Piece::Class { negated: false, ranges } => ranges.first().map_or('x', |(first, _)| *first),
    }
}

/// Whether two patterns, or parts of them, could match the same text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meets {
    /// The patterns cannot match the same text.
    Not,
    /// The patterns can match the same text, if wildcards stand for the literals of the other.
    ByWildcard,
    /// The patterns can match the same text, and share a literal.
    ByText,
}

impl Meets {
    /// Combines two parts that both have to meet.
    fn and(self, other: Self) -> Self {
        if self == Self::Not || other == Self::Not { Self::Not } else { self.max(other) }
    }
}

fn components_meet(shell: &Alternative, rule: &Alternative, case: RuleCase) -> bool {
    let (a, b) = (&shell.components, &rule.components);
    // Most rules are a name in any directory: only the last name counts.
    if let ([Component::AnyDepth, Component::Name(rule)], Some(Component::Name(shell))) = (b.as_slice(), a.last()) {
        return names_meet(shell, rule, case) == Meets::ByText;
    }
    // Whether the remainders from `i` and from `j` could match the same path, filled in from the end.
    let mut meets = vec![vec![Meets::Not; b.len() + 1]; a.len() + 1];
    for i in (0..=a.len()).rev() {
        for j in (0..=b.len()).rev() {
            meets[i][j] = match (a.get(i), b.get(j)) {
                (None, None) => Meets::ByWildcard,
                (Some(Component::AnyDepth), None) => meets[i + 1][j],
                (None, Some(Component::AnyDepth)) => meets[i][j + 1],
                (None, Some(Component::Name(_))) | (Some(Component::Name(_)), None) => Meets::Not,
                (Some(Component::AnyDepth), Some(_)) | (Some(Component::Name(_)), Some(Component::AnyDepth)) => {
                    meets[i + 1][j].max(meets[i][j + 1])
                }
                (Some(Component::Name(shell)), Some(Component::Name(rule))) => match meets[i + 1][j + 1] {
                    Meets::Not => Meets::Not,
                    rest => rest.and(names_meet(shell, rule, case)),
                },
            };
        }
    }
    meets[0][0] == Meets::ByText
}

fn names_meet(shell: &[Piece], rule: &[Piece], case: RuleCase) -> Meets {
    // Most patterns differ in their first or last character, which is quick to check.
    let differ = |ends: (Option<&Piece>, Option<&Piece>)| match ends {
        (Some(a @ Piece::Char(_)), Some(b @ Piece::Char(_))) => !characters_meet(a, b, case),
        _ => false,
    };
    if differ((shell.last(), rule.last())) || differ((shell.first(), rule.first())) {
        return Meets::Not;
    }
    let dot_is_written = matches!(shell.first(), Some(Piece::Char('.')));
    let (shell, rule) = without_shared_ending(shell, rule, case);
    // For each position in the rule's name, how it was reached: one bit for each `Way`.
    let mut here = vec![0_u8; rule.len() + 1];
    let mut next = here.clone();
    here[0] = Way::START;
    for i in 0..=shell.len() {
        for j in 0..=rule.len() {
            let (a, b) = (shell.get(i), rule.get(j));
            if let (Some(a), Some(b)) = (a, b)
                && here[j] != 0
                && characters_meet(a, b, case)
            {
                let ways = Way::after(here[j], a, b, dot_is_written);
                match (*a == Piece::AnyChars, *b == Piece::AnyChars) {
                    (true, true) => here[j] |= ways,
                    (true, false) => here[j + 1] |= ways,
                    (false, true) => next[j] |= ways,
                    (false, false) => next[j + 1] |= ways,
                }
            }
            // A star may also match nothing, or nothing more.
            if a == Some(&Piece::AnyChars) {
                next[j] |= here[j];
            }
            if b == Some(&Piece::AnyChars) {
                here[j + 1] |= here[j];
            }
        }
        if i < shell.len() {
            std::mem::swap(&mut here, &mut next);
            next.fill(0);
        }
    }
    match here[rule.len()] {
        0 => Meets::Not,
        ways if ways & Way::BY_TEXT != 0 => Meets::ByText,
        _ => Meets::ByWildcard,
    }
}

/// How a position was reached, as bits: at the start of both names, inside them by wildcards alone, and inside them
/// with a shared literal.
struct Way;

impl Way {
    const START: u8 = 1;
    const BY_WILDCARD: u8 = 2;
    const BY_TEXT: u8 = 4;

    /// Returns the ways after one more character that both pieces match.
    fn after(ways: u8, a: &Piece, b: &Piece, dot_is_written: bool) -> u8 {
        // A dot inside a name does not count, because most names have one.
        let is_written = |piece: &Piece, at_start: bool| match piece {
            Piece::Char('.') => at_start,
            Piece::Char(_) | Piece::Class { .. } => true,
            Piece::AnyChar | Piece::AnyChars => false,
        };
        let way = |at_start| {
            if is_written(a, at_start) && is_written(b, at_start) { Self::BY_TEXT } else { Self::BY_WILDCARD }
        };
        let mut after = 0;
        if ways & Self::START != 0 && (dot_is_written || *b != Piece::Char('.')) {
            after |= way(true);
        }
        if ways & Self::BY_WILDCARD != 0 {
            after |= way(false);
        }
        after | (ways & Self::BY_TEXT)
    }
}

/// Removes a suffix like `.py` from both names if they share it and the rule has further literals.
fn without_shared_ending<'a>(shell: &'a [Piece], rule: &'a [Piece], case: RuleCase) -> (&'a [Piece], &'a [Piece]) {
    let both = shell.iter().rev().zip(rule.iter().rev());
    let shared =
        both.take_while(|(a, b)| matches!((a, b), (Piece::Char(_), Piece::Char(_))) && characters_meet(a, b, case));
    let Some(ending) = shared.map(|(a, _)| a).position(|piece| *piece == Piece::Char('.')).map(|at| at + 1) else {
        return (shell, rule);
    };
    let stem = &rule[..rule.len() - ending];
    match stem.iter().any(|piece| matches!(piece, Piece::Char(_))) {
        true => (&shell[..shell.len() - ending], stem),
        false => (shell, rule),
    }
}

fn characters_meet(a: &Piece, b: &Piece, case: RuleCase) -> bool {
    let fold = |c: char| match case {
        RuleCase::Sensitive => c,
        RuleCase::Insensitive if c.is_ascii() => c.to_ascii_lowercase(),
        RuleCase::Insensitive => c.to_lowercase().next().unwrap_or(c),
    };
    match (a, b) {
        (Piece::Char(a), Piece::Char(b)) => fold(*a) == fold(*b),
        (Piece::Char(c), Piece::Class { negated, ranges }) | (Piece::Class { negated, ranges }, Piece::Char(c)) => {
            let within = |c: char| ranges.iter().any(|(first, last)| (*first..=*last).contains(&c));
            let upper = c.to_uppercase().next().unwrap_or(*c);
            let is_in = within(*c) || (case == RuleCase::Insensitive && (within(fold(*c)) || within(upper)));
            // In a case-insensitive class a character can be both inside and outside.
            is_in != *negated || case == RuleCase::Insensitive && *negated
        }
        (Piece::Class { .. } | Piece::AnyChar | Piece::AnyChars, _) | (_, Piece::AnyChar | Piece::AnyChars) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_meet_where_some_path_matches_both() {
        for (shell, rule, expected) in [
            ("/w/*.rs", "**/*.pem", false),
            ("/w/*.p*", "**/*.pem", true),
            ("/w/*.pem", "**/*.pem", true),
            ("/w/*", "**/*.pem", false),
            ("/w/*.log", "**/*secret*", false),
            ("/w/*.log", "**/secrets.*/**", false),
            ("/w/.*", "**/.ssh/**", true),
            ("/w/s*", "**/*secret*", true),
            ("/w/*.py", "**/secrets.py", false),
            ("/w/s*.py", "**/secrets.py", true),
            ("/w/*.json", "**/*account*.json", false),
            ("/w/*", "**/.env", false),
            ("/w/.*", "**/.env", true),
            ("/w/.e?v", "**/.env", true),
            ("/w/?env", "**/.env", false),
            ("/w/[.]env", "**/.env", false),
            ("/w/*env", "**/.env", false),
            ("/w/*/id_*", "**/id_rsa", true),
            ("/w/id_[a-r]sa", "**/id_rsa", true),
            // `id_Rsa` matches both.
            ("/w/id_[!r]sa", "**/id_rsa", true),
            ("/w/id_[!r]sa.x", "**/id_rsa", false),
            ("/w/ID_*", "**/id_rsa", true),
            ("/w/**/*.pyc", "**/secrets/**", false),
            ("/w/sec*/x", "**/secrets/**", true),
            ("/w/src/*.pyc", "**/secrets/**", false),
            ("/w/*/x.txt", "**/secrets/**", false),
            ("/etc/*", "/etc/**", true),
            ("/w/*", "/etc/**", false),
            ("/*", "/etc", false),
            ("/e*", "/etc", true),
            ("/w/{a,b}.pem", "**/*.pem", true),
            ("/w/[", "**/*.pem", true),
        ] {
            assert_eq!(
                Shape::of(shell).could_meet(&Shape::of(rule), RuleCase::Insensitive),
                expected,
                "{shell} {rule}"
            );
        }
        assert!(!Shape::of("/w/ID_*").could_meet(&Shape::of("**/id_rsa"), RuleCase::Sensitive));
    }

    #[test]
    fn what_is_always_within_has_no_match_outside() {
        for (shell, rule, expected) in [
            ("/w/*.rs", "**/*.{py,rs}", true),
            ("/w/*.RS", "**/*.rs", true),
            ("/w/*.r?", "**/*.rs", false),
            ("/w/*.r?", "**/*.*", true),
            ("/w/*", "**/*.rs", false),
            ("/w/a.rs", "**/*.rs", true),
            ("/w/**/*.rs", "**/*.rs", true),
            ("/w/**/*.rs", "/w/*.rs", false),
            ("/w/{a,b}.rs", "**/{a,b,c}.rs", true),
            ("/w/{a,d}.rs", "**/{a,b,c}.rs", false),
            ("/w/[ab].rs", "**/?.rs", true),
        ] {
            let within = Shape::of(shell).is_always_within(&Shape::of(rule), RuleCase::Insensitive);
            assert_eq!(within, expected, "{shell} {rule}");
        }
    }

    #[test]
    fn a_sample_looks_like_the_matches() {
        assert_eq!(Shape::of("/w/**/*.p?m").sample(), "/w/x.pxm");
        assert_eq!(Shape::of("/w/id_[rd]sa").sample(), "/w/id_rsa");
    }
}
