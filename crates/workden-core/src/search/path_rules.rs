//! Many path rules as one automaton: a path is read once, however many rules there are.
//!
//! Invariant: the answer is that of trying the rules one by one, in order. A rule matches where its
//! pattern does and none of its exceptions do, and the first that matches is the answer.

use regex_automata::{Anchored, Input, PatternID, meta::Regex};

use super::glob::{RuleCase, build_regex, invalid, regex_text, rule_alternatives};
use crate::{Error, Result, VirtualPath, limits};

/// The pattern of one rule, with what it leaves out.
#[derive(Clone, Copy, Debug)]
pub struct PatternOf<'a> {
    /// What it matches; as for [`compile`](super::glob::compile).
    pub pattern: &'a str,
    /// What it does not match all the same.
    pub except: &'a [String],
    /// Whether letter case counts in all of them.
    pub case: RuleCase,
}

/// Rules in order, ready to say which of them is the first to match a path.
#[derive(Clone, Debug, Default)]
pub struct PathRules {
    matcher: Matcher,
    /// For each pattern of the matcher: its rule, and what it says there.
    roles: Vec<(usize, Role)>,
}

#[derive(Clone, Debug, Default)]
enum Matcher {
    /// No rules at all.
    #[default]
    Nothing,
    /// All patterns in one automaton.
    Together(Regex),
    /// One for each, where all together would be too large.
    Apart(Vec<Regex>),
}

/// What a pattern says of its rule. Exceptions stand before the pattern that they belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Excepts,
    Matches,
}

impl PathRules {
    /// Compiles rules. An error comes with the place of the rule that it is about.
    ///
    /// # Errors
    ///
    /// `InvalidPattern` as for [`compile`](super::glob::compile).
    pub fn compile(rules: &[PatternOf<'_>]) -> Result<Self, (usize, Error)> {
        let mut roles = Vec::new();
        let mut texts = Vec::new();
        let mut patterns = Vec::new();
        for (nth, rule) in rules.iter().enumerate() {
            let excepted = rule.except.iter().map(|except| (except.as_str(), Role::Excepts));
            for (pattern, role) in excepted.chain([(rule.pattern, Role::Matches)]) {
                let all = rule_alternatives(pattern, rule.case).map_err(|error| (nth, error))?;
                texts.push(regex_text(&all, rule.case));
                patterns.push(pattern);
                roles.push((nth, role));
            }
        }
        if texts.is_empty() {
            return Ok(Self::default());
        }
        // Where even the text is large, the automaton of all would be as well.
        let together = texts.iter().map(String::len).sum::<usize>() <= limits::COMPILED_PATTERN_BYTES;
        let matcher = match together.then(|| build_regex(&texts)).flatten() {
            Some(regex) => Matcher::Together(regex),
            None => Matcher::Apart(one_by_one(&texts, &patterns, &roles)?),
        };
        Ok(Self { matcher, roles })
    }

    /// The place of the first rule that matches this path.
    #[must_use]
    pub fn first_match(&self, path: &VirtualPath) -> Option<usize> {
        let text = path.relative();
        let first = match &self.matcher {
            Matcher::Nothing => return None,
            Matcher::Together(regex) => {
                regex.search_half(&Input::new(text).anchored(Anchored::Yes))?.pattern().as_usize()
            }
            Matcher::Apart(_) => 0,
        };
        let mut excepted = None;
        for (nth, (rule, role)) in self.roles.iter().enumerate().skip(first) {
            if excepted == Some(*rule) || !self.pattern_matches(nth, first, text) {
                continue;
            }
            match role {
                Role::Excepts => excepted = Some(*rule),
                Role::Matches => return Some(*rule),
            }
        }
        None
    }

    fn pattern_matches(&self, nth: usize, first: usize, text: &str) -> bool {
        match &self.matcher {
            Matcher::Nothing => false,
            Matcher::Together(_) if nth == first => true,
            Matcher::Together(regex) => PatternID::new(nth)
                .is_ok_and(|id| regex.search_half(&Input::new(text).anchored(Anchored::Pattern(id))).is_some()),
            Matcher::Apart(all) => all.get(nth).is_some_and(|regex| regex.is_match(text)),
        }
    }
}

fn one_by_one(texts: &[String], patterns: &[&str], roles: &[(usize, Role)]) -> Result<Vec<Regex>, (usize, Error)> {
    let build = |(nth, text): (usize, &String)| {
        let too_large = || (roles[nth].0, invalid(patterns[nth], "it is too large to compile"));
        build_regex(std::slice::from_ref(text)).ok_or_else(too_large)
    };
    texts.iter().enumerate().map(build).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut all = vec![pattern(large.as_str()); 40];
        all.push(pattern("*.md"));
        all.push(pattern("/x/**"));
        let rules = PathRules::compile(&all).unwrap();
        assert!(matches!(rules.matcher, Matcher::Apart(_)));
        assert_eq!(rules.first_match(&VirtualPath::parse("/x/a.md").unwrap()), Some(40));
        assert_eq!(rules.first_match(&VirtualPath::parse("/x/a.rs").unwrap()), Some(41));
        assert_eq!(rules.first_match(&VirtualPath::parse("/y").unwrap()), None);
    }

    #[test]
    fn an_error_says_which_rule_it_is_about() {
        let pattern = |pattern| PatternOf { pattern, except: &[], case: RuleCase::Sensitive };
        assert_eq!(PathRules::compile(&[pattern("/a"), pattern("[z-a]")]).unwrap_err().0, 1);
    }
}
