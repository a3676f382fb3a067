//! Many path rules as one automaton: a path is read once, however many rules there are.
//!
//! Invariant: the answer is the same as from trying the rules one by one, in order. A rule matches if its pattern
//! matches and none of its exceptions do, and the first matching rule is the answer.

use std::{ops::Range, sync::Arc};

use regex_automata::{Anchored, Input, PatternID, meta::Regex};
use regex_syntax::hir::Hir;

use super::{
    glob_regex::{PatternOf, RuleCase, build_regex, invalid, path_expression, pieces, rule_alternatives},
    glob_syntax::Alternative,
    pattern_cache::PatternCache,
};
use crate::{Error, Result, VirtualPath};

/// Compiled rulesets: the same few come with every search.
static COMPILED: PatternCache<Compiled> = PatternCache::new();

/// How many characters and wildcards all patterns together may have for a common automaton. Its expression takes hundreds
/// of bytes for each, before the size of the automaton is known.
const MOST_TOGETHER: usize = 100_000;

/// Compiled rules in order, to find the first rule that matches a path.
#[derive(Clone, Debug, Default)]
pub struct PathRules(Arc<Compiled>);

#[derive(Debug, Default)]
struct Compiled {
    patterns: Patterns,
    /// The exceptions of all rules. Most paths match no rule, and need no look at these.
    exceptions: Patterns,
    /// For each rule, the range of its exceptions.
    own: Vec<Range<usize>>,
}

/// Patterns that are identified by index.
#[derive(Debug)]
enum Patterns {
    /// All patterns in one automaton.
    Together(Regex),
    /// One automaton for each pattern, if a common one would be too large, or there are no patterns.
    Apart(Vec<Regex>),
}

impl PathRules {
    /// Compiles rules. An error comes with the index of the rule at fault.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPattern` as for [`compile`](super::glob::compile).
    pub fn compile(rules: &[PatternOf<'_>]) -> Result<Self, (usize, Error)> {
        COMPILED.get_or_compile(rules, || Compiled::new(rules)).map(Self)
    }

    /// Returns the index of the first rule that matches this path.
    #[must_use]
    pub fn first_match(&self, path: &VirtualPath) -> Option<usize> {
        self.0.first_match(path.relative())
    }
}

impl Compiled {
    fn new(rules: &[PatternOf<'_>]) -> Result<Self, (usize, Error)> {
        let (mut patterns, mut exceptions) = (Vec::new(), Vec::new());
        let mut own = Vec::new();
        for (nth, rule) in rules.iter().enumerate() {
            patterns.push((nth, rule.pattern, rule.case));
            let first = exceptions.len();
            exceptions.extend(rule.except.iter().map(|except| (nth, except.as_str(), rule.case)));
            own.push(first..exceptions.len());
        }
        Ok(Self { patterns: Patterns::compile(&patterns)?, exceptions: Patterns::compile(&exceptions)?, own })
    }

    fn first_match(&self, text: &str) -> Option<usize> {
        let first = self.patterns.first_match(text)?;
        let is_excepted = |rule: usize| self.own[rule].clone().any(|nth| self.exceptions.is_match(nth, text));
        if !is_excepted(first) {
            return Some(first);
        }
        (first + 1..self.own.len()).find(|rule| self.patterns.is_match(*rule, text) && !is_excepted(*rule))
    }
}

impl Patterns {
    fn compile(patterns: &[(usize, &str, RuleCase)]) -> Result<Self, (usize, Error)> {
        let read = |(rule, pattern, case): &(usize, &str, RuleCase)| {
            rule_alternatives(pattern, *case).map_err(|error| (*rule, error))
        };
        let all: Vec<Vec<Alternative>> = patterns.iter().map(read).collect::<Result<_, _>>()?;
        let expressions = || all.iter().zip(patterns).map(|(all, (.., case))| path_expression(all, *case));
        let are_few = !all.is_empty() && all.iter().map(|all| pieces(all)).sum::<usize>() <= MOST_TOGETHER;
        if let Some(regex) = are_few.then(|| build_regex(&expressions().collect::<Vec<_>>())).flatten() {
            return Ok(Self::Together(regex));
        }
        let build = |(expression, (rule, pattern, _)): (Hir, &(usize, &str, RuleCase))| {
            let too_large = || (*rule, invalid(pattern, "it is too large to compile"));
            build_regex(&[expression]).ok_or_else(too_large)
        };
        Ok(Self::Apart(expressions().zip(patterns).map(build).collect::<Result<_, _>>()?))
    }

    fn first_match(&self, text: &str) -> Option<usize> {
        match self {
            Self::Together(regex) => {
                let found = regex.search_half(&Input::new(text).anchored(Anchored::Yes))?;
                Some(found.pattern().as_usize())
            }
            Self::Apart(all) => all.iter().position(|regex| regex.is_match(text)),
        }
    }

    fn is_match(&self, nth: usize, text: &str) -> bool {
        match self {
            Self::Together(regex) => PatternID::new(nth)
                .is_ok_and(|id| regex.search_half(&Input::new(text).anchored(Anchored::Pattern(id))).is_some()),
            Self::Apart(all) => all.get(nth).is_some_and(|regex| regex.is_match(text)),
        }
    }
}

impl Default for Patterns {
    fn default() -> Self {
        Self::Apart(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::pattern_cache, *};

    fn first(rules: &[(&str, &[&str])], typed: &str) -> Option<usize> {
        let excepts: Vec<Vec<String>> =
            rules.iter().map(|(_, except)| except.iter().map(ToString::to_string).collect()).collect();
        let rules: Vec<PatternOf<'_>> = rules
            .iter()
            .zip(&excepts)
            .map(|((pattern, _), except)| PatternOf { pattern, except, case: RuleCase::Insensitive })
            .collect();
        PathRules::compile(&rules).unwrap().first_match(&VirtualPath::parse(typed).unwrap())
    }

    #[test]
    fn the_first_rule_that_matches_is_the_answer() {
        let rules: &[(&str, &[&str])] = &[("/a/**", &[]), ("*.md", &[]), ("/**", &[])];
        assert_eq!(first(rules, "/a/x.md"), Some(0));
        assert_eq!(first(rules, "/b/x.MD"), Some(1));
        assert_eq!(first(rules, "/b"), Some(2));
        assert_eq!(first(&rules[..2], "/b"), None);
        assert_eq!(first(&[], "/b"), None);
    }

    #[test]
    fn a_rule_that_disregards_case_does_so_in_classes() {
        for (pattern, matching, others) in [
            ("[!a]x", vec!["/bx", "/BX"], vec!["/ax", "/Ax", "/AX"]),
            ("[a-c]x", vec!["/bX", "/Bx"], vec!["/dx"]),
            // The sign of the unit kelvin is a `k` in another case, as some file systems have it.
            ("*.key", vec!["/a.KEY", "/a.\u{212a}ey"], vec!["/a.kez"]),
            ("a[.-0]b", vec!["/a.b", "/A0B"], vec!["/a/b"]),
        ] {
            matching.iter().for_each(|path| assert_eq!(first(&[(pattern, &[])], path), Some(0), "{pattern} on {path}"));
            others.iter().for_each(|path| assert_eq!(first(&[(pattern, &[])], path), None, "{pattern} on {path}"));
        }
    }

    #[test]
    fn an_exception_is_one_to_its_own_rule_only() {
        let rules: &[(&str, &[&str])] =
            &[(".env.*", &[".env.example", "*.dist"]), ("/keep/**", &["*.tmp"]), ("*", &["*.md"])];
        assert_eq!(first(rules, "/.env.local"), Some(0));
        assert_eq!(first(rules, "/keep/.env.example"), Some(1));
        assert_eq!(first(rules, "/.env.dist"), Some(2));
        assert_eq!(first(rules, "/keep/x.tmp"), Some(2));
        assert_eq!(first(rules, "/a.md"), None);
    }

    #[test]
    fn rules_that_are_too_large_together_are_matched_apart() {
        let large = format!("/**/{}", "[a-z]".repeat(2_500));
        let pattern = |pattern| PatternOf { pattern, except: &[], case: RuleCase::Insensitive };
        // The first automaton would be too large; the second is not tried.
        for count in [38, 40] {
            let mut all = vec![pattern(large.as_str()); count];
            all.push(pattern("*.md"));
            all.push(pattern("/x/**"));
            let rules = PathRules::compile(&all).unwrap();
            assert!(matches!(rules.0.patterns, Patterns::Apart(_)));
            assert_eq!(rules.first_match(&VirtualPath::parse("/x/a.md").unwrap()), Some(count));
            assert_eq!(rules.first_match(&VirtualPath::parse("/x/a.rs").unwrap()), Some(count + 1));
            assert_eq!(rules.first_match(&VirtualPath::parse("/y").unwrap()), None);
        }
    }

    #[test]
    fn an_error_says_which_rule_it_is_about() {
        let pattern = |pattern| PatternOf { pattern, except: &[], case: RuleCase::Sensitive };
        assert_eq!(PathRules::compile(&[pattern("/a"), pattern("[z-a]")]).unwrap_err().0, 1);
    }

    #[test]
    fn rules_that_differ_in_anything_are_different_rules() {
        let (none, md) = (vec![], vec!["*.md".to_owned()]);
        let rule = |pattern, except, case| PatternOf { pattern, except, case };
        let first = |rules: &[PatternOf<'_>], typed: &str| {
            PathRules::compile(rules).unwrap().first_match(&VirtualPath::parse(typed).unwrap())
        };
        // More rulesets than are kept, and each of them twice.
        let names: Vec<String> = (0..pattern_cache::KEPT + 3).map(|nth| format!("name{nth}")).collect();
        for name in names.iter().chain(&names) {
            assert_eq!(first(&[rule(name, &none, RuleCase::Sensitive)], &format!("/x/{name}")), Some(0));
            assert_eq!(first(&[rule(name, &none, RuleCase::Sensitive)], "/x/name"), None);
        }
        for _ in 0..2 {
            assert_eq!(first(&[rule("a*", &none, RuleCase::Sensitive)], "/A.md"), None);
            assert_eq!(first(&[rule("a*", &none, RuleCase::Insensitive)], "/A.md"), Some(0));
            assert_eq!(first(&[rule("a*", &md, RuleCase::Insensitive)], "/A.md"), None);
            let both = [rule("b*", &none, RuleCase::Insensitive), rule("a*", &none, RuleCase::Insensitive)];
            assert_eq!(first(&both, "/A.md"), Some(1));
        }
        let large = "x".repeat(pattern_cache::KEPT_BYTES / 8);
        let all: Vec<PatternOf<'_>> = (0..9).map(|_| rule(&large, &none, RuleCase::Sensitive)).collect();
        assert_eq!(first(&all, "/y"), None);
    }
}
