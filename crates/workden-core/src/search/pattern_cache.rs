//! A cache of compiled rules: the same few rulesets come with every search, and compiling one takes longer than a small
//! search.
//!
//! Invariant: the cache holds a bounded number of rulesets of bounded size, and returns exactly what compiling would
//! return: the rules themselves are the key.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use super::glob_regex::{PatternOf, RuleCase};

/// How many rulesets are kept; a new one replaces the oldest.
pub(super) const KEPT: usize = 32;
/// Bytes of the patterns of the largest ruleset that is kept.
pub(super) const KEPT_BYTES: usize = 64 * 1024;

type Key = Vec<(String, Vec<String>, RuleCase)>;
type Rulesets<T> = VecDeque<(Key, Arc<T>)>;

/// Compiled rulesets, by their rules.
pub(super) struct PatternCache<T>(Mutex<Rulesets<T>>);

impl<T> PatternCache<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Returns the compiled form of these rules from the cache, or compiles them.
    pub(super) fn get_or_compile<E>(
        &self,
        rules: &[PatternOf<'_>],
        compile: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let size = |rule: &PatternOf<'_>| rule.pattern.len() + rule.except.iter().map(String::len).sum::<usize>();
        if rules.iter().map(size).sum::<usize>() > KEPT_BYTES {
            return compile().map(Arc::new);
        }
        let is_same =
            |key: &Key| key.len() == rules.len() && key.iter().zip(rules).all(|(kept, rule)| same(kept, rule));
        let found = |kept: &Rulesets<T>| kept.iter().find(|(key, _)| is_same(key)).map(|(_, rules)| Arc::clone(rules));
        if let Some(compiled) = found(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(compiled);
        }
        // Compiled outside the lock: a large ruleset must not delay small ones.
        let compiled = Arc::new(compile()?);
        let key = rules.iter().map(|rule| (rule.pattern.to_owned(), rule.except.to_vec(), rule.case)).collect();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = found(&kept) {
            return Ok(compiled);
        }
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((key, Arc::clone(&compiled)));
        Ok(compiled)
    }
}

fn same((pattern, except, case): &(String, Vec<String>, RuleCase), rule: &PatternOf<'_>) -> bool {
    pattern == rule.pattern && *case == rule.case && except == rule.except
}
