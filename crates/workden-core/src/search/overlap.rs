//! Whether two path patterns could match the same path: what a shell would make of `*.p*` is not
//! known before it runs, but whether it could be a file of a rule is.
//!
//! A pattern that only could become such a file because a wildcard of it could become anything (`*`,
//! `*.log`) says nothing of the rule. What counts is that some written character of the one is one of
//! the other. Beyond that it errs towards yes: a class against a class is taken to overlap.

use super::glob_syntax::{Alternative, Component, Piece, alternatives};
use crate::RuleCase;

/// A pattern, read once and compared often.
#[derive(Clone, Debug)]
pub struct Shape {
    /// `None` for what cannot be read.
    alternatives: Option<Vec<Alternative>>,
}

impl Shape {
    /// Reads a pattern over whole paths. What cannot be read is taken to match anything.
    #[must_use]
    pub fn of(pattern: &str) -> Self {
        Self { alternatives: alternatives(pattern).ok() }
    }

    /// Whether this pattern of a shell and a pattern of a rule could mean the same path, and the one
    /// has something in it of what is written in the other: an ending that both have does not count,
    /// unless it is all that the rule says. A pattern of a shell does not match names that start with a
    /// dot, unless it starts with one itself.
    #[must_use]
    pub fn could_meet(&self, rule: &Self, case: RuleCase) -> bool {
        let (Some(shell), Some(rule)) = (&self.alternatives, &rule.alternatives) else { return true };
        shell.iter().any(|shell| rule.iter().any(|rule| components_meet(shell, rule, case)))
    }

    /// Whether everything that this pattern of a shell matches is matched by a pattern of a rule, too.
    /// Says no where it is not plain to see.
    #[must_use]
    pub fn is_always_within(&self, rule: &Self, case: RuleCase) -> bool {
        let (Some(shell), Some(rule)) = (&self.alternatives, &rule.alternatives) else { return false };
        shell.iter().all(|shell| rule.iter().any(|rule| takes_in(&rule.components, &shell.components, case)))
    }

    /// A path that this pattern of a shell matches, to see what its matches look like: `x` for what may
    /// be anything.
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

/// The pattern of a shell is read like a path in which a wildcard is a letter of its own, which only
/// a wildcard matches.
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
    // Positions of the rule that are reachable after each piece of the shell's.
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

/// Whether two patterns, or parts of them, could match the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meets {
    /// They cannot.
    Not,
    /// They can, if wildcards become what the other has written.
    ByWildcard,
    /// They can, and something is written in both.
    ByText,
}

impl Meets {
    /// Of two parts, both of which have to meet.
    fn and(self, other: Self) -> Self {
        if self == Self::Not || other == Self::Not { Self::Not } else { self.max(other) }
    }
}

fn components_meet(shell: &Alternative, rule: &Alternative, case: RuleCase) -> bool {
    let (a, b) = (&shell.components, &rule.components);
    // A name in any directory, as most rules are: only the last name counts.
    if let ([Component::AnyDepth, Component::Name(rule)], Some(Component::Name(shell))) = (b.as_slice(), a.last()) {
        return names_meet(shell, rule, case) == Meets::ByText;
    }
    // Whether the rests from `i` and from `j` on could match the same, filled in from the end.
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
    // Most differ in how they begin or end, which is seen at once.
    let differ = |ends: (Option<&Piece>, Option<&Piece>)| match ends {
        (Some(a @ Piece::Char(_)), Some(b @ Piece::Char(_))) => !characters_meet(a, b, case),
        _ => false,
    };
    if differ((shell.last(), rule.last())) || differ((shell.first(), rule.first())) {
        return Meets::Not;
    }
    let dot_is_written = matches!(shell.first(), Some(Piece::Char('.')));
    let (shell, rule) = without_shared_ending(shell, rule, case);
    // For each position in the rule's name the ways to get there: one bit for each `Way`.
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
            // A star may also stand for nothing, or for nothing more.
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

/// How a position was got to, as bits: at the start of both names, within them by wildcards alone, and
/// within them with something that is written in both.
struct Way;

impl Way {
    const START: u8 = 1;
    const BY_WILDCARD: u8 = 2;
    const BY_TEXT: u8 = 4;

    /// The ways there are after one more character that both pieces can be.
    fn after(ways: u8, a: &Piece, b: &Piece, dot_is_written: bool) -> u8 {
        // A dot within a name is in most names.
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

/// Both without an ending like `.py` that both have, where the rule has more to say than that.
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
            // In a class that disregards case a character can be both in and out.
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
            // `id_Rsa` is one for both.
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
