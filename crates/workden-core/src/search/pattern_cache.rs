//! Rules that were compiled before: the same few rulesets come with every search, and compiling
//! one takes longer than a small search.
//!
//! Invariant: it holds a bounded number of rulesets of bounded size, and an answer is the one that
//! compiling would give: the rules themselves are the key.

use std::{
    collections::VecDeque,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use super::{
    glob::{PatternOf, RuleCase},
    path_rules::Compiled,
};

/// How many rulesets are kept; the oldest makes room.
const KEPT: usize = 32;
/// Bytes that the patterns of a ruleset may have to be kept.
const KEPT_BYTES: usize = 64 * 1024;

type Key = Vec<(String, Vec<String>, RuleCase)>;
type Kept = VecDeque<(Key, Arc<Compiled>)>;

static BEFORE: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);

/// What these rules compiled to before, or compile to now.
pub(super) fn get_or_compile<E>(
    rules: &[PatternOf<'_>],
    compile: impl FnOnce() -> Result<Compiled, E>,
) -> Result<Arc<Compiled>, E> {
    let size = |rule: &PatternOf<'_>| rule.pattern.len() + rule.except.iter().map(String::len).sum::<usize>();
    if rules.iter().map(size).sum::<usize>() > KEPT_BYTES {
        return compile().map(Arc::new);
    }
    let is_same = |key: &Key| key.len() == rules.len() && key.iter().zip(rules).all(|(kept, rule)| same(kept, rule));
    let found = |kept: &Kept| kept.iter().find(|(key, _)| is_same(key)).map(|(_, rules)| Arc::clone(rules));
    if let Some(compiled) = found(&BEFORE.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(compiled);
    }
    // Not under the lock: a large ruleset must not hold up the small ones.
    let compiled = Arc::new(compile()?);
    let key = rules.iter().map(|rule| (rule.pattern.to_owned(), rule.except.to_vec(), rule.case)).collect();
    let mut kept = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(compiled) = found(&kept) {
        return Ok(compiled);
    }
    if kept.len() == KEPT {
        kept.pop_front();
    }
    kept.push_back((key, Arc::clone(&compiled)));
    Ok(compiled)
}

fn same((pattern, except, case): &(String, Vec<String>, RuleCase), rule: &PatternOf<'_>) -> bool {
    pattern == rule.pattern && *case == rule.case && except == rule.except
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{VirtualPath, search::glob::PathRules};

    #[test]
    fn rules_that_differ_in_anything_are_different_rules() {
        let (none, md) = (vec![], vec!["*.md".to_owned()]);
        let rule = |pattern, except, case| PatternOf { pattern, except, case };
        let first = |rules: &[PatternOf<'_>], typed: &str| {
            PathRules::compile(rules).unwrap().first_match(&VirtualPath::parse(typed).unwrap())
        };
        // More than are kept, and each of them twice.
        let names: Vec<String> = (0..KEPT + 3).map(|nth| format!("name{nth}")).collect();
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
        let large = "x".repeat(KEPT_BYTES / 8);
        let all: Vec<PatternOf<'_>> = (0..9).map(|_| rule(&large, &none, RuleCase::Sensitive)).collect();
        assert_eq!(first(&all, "/y"), None);
    }
}
