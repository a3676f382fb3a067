//! `.gitignore` as git and ripgrep read it: a directory's rules come before those of its parents, up to the
//! repository's root, and no rules apply outside a repository.

use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use workden_core::{VirtualPath, limits, search::glob::check_size};

/// The ignore rules for a directory: its own, then those of its parents.
#[derive(Debug)]
pub(crate) struct IgnoreChain {
    above: Option<Arc<Self>>,
    directory_len: usize,
    rules: Option<Gitignore>,
    /// How many rules apply up to the repository's root.
    count: usize,
    is_repository: bool,
    in_repository: bool,
}

impl IgnoreChain {
    /// Returns the rules for `directory`, from the rules above it, the content of its `.gitignore`, and whether it
    /// contains a `.git`. Shares the rules above if there are no new ones.
    #[must_use]
    pub(crate) fn enter(
        above: Option<&Arc<Self>>,
        directory: &VirtualPath,
        gitignore: Option<&[u8]>,
        has_git: bool,
    ) -> Option<Arc<Self>> {
        // The rules above a repository do not apply in it; the number of rules in it is bounded.
        let above = if has_git { None } else { above };
        let before = above.map_or(0, |above| above.count);
        let most = limits::IGNORE_RULES.min(limits::IGNORE_RULES_ABOVE - before);
        let rules = gitignore.and_then(|content| parse(content, most));
        if rules.is_none() && !has_git {
            return above.cloned();
        }
        Some(Arc::new(Self {
            count: before + rules.as_ref().map_or(0, Gitignore::len).min(most),
            directory_len: if directory.is_root() { 0 } else { directory.as_str().len() },
            rules,
            is_repository: has_git,
            in_repository: has_git || above.is_some_and(|above| above.in_repository),
            above: above.cloned(),
        }))
    }

    /// Returns whether the rules ignore or keep this path; `None` if no rule matches.
    #[must_use]
    pub(crate) fn verdict(&self, path: &str, is_dir: bool) -> Option<IgnoreVerdict> {
        if !self.in_repository {
            return None;
        }
        let mut next = Some(self);
        while let Some(chain) = next {
            let relative = &path[chain.directory_len + 1..];
            match chain.rules.as_ref().map(|rules| rules.matched(relative, is_dir)) {
                Some(ignore::Match::Ignore(_)) => return Some(IgnoreVerdict::Ignore),
                Some(ignore::Match::Whitelist(_)) => return Some(IgnoreVerdict::Keep),
                Some(ignore::Match::None) | None => {}
            }
            if chain.is_repository {
                return None;
            }
            next = chain.above.as_deref();
        }
        None
    }
}

/// The decision of an ignore file about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IgnoreVerdict {
    /// The path is ignored.
    Ignore,
    /// The path is kept, even if a rule above or its leading dot would exclude it.
    Keep,
}

fn parse(content: &[u8], most: usize) -> Option<Gitignore> {
    let content = &content[..content.len().min(limits::IGNORE_FILE_BYTES)];
    let mut builder = GitignoreBuilder::new("");
    let text = String::from_utf8_lossy(content);
    let says_something = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    for line in text.lines().filter(says_something).take(most) {
        // The file comes from the author of the repository, and the engine recurses into braces: a line that is too
        // complex is skipped like an invalid pattern, as in git.
        if check_size(line).is_ok() {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(typed: &str) -> VirtualPath {
        VirtualPath::parse(typed).unwrap()
    }

    #[test]
    fn the_nearest_rule_wins_and_the_repository_is_the_end() {
        let outer = IgnoreChain::enter(None, &path("/"), Some(b"*.txt\n"), false);
        assert_eq!(outer.as_ref().unwrap().verdict("/a.txt", false), None, "no repository, no rules");
        let repo = IgnoreChain::enter(outer.as_ref(), &path("/repo"), Some(b"*.log\n/build/\n"), true);
        let deep = IgnoreChain::enter(repo.as_ref(), &path("/repo/x"), Some(b"!keep.log\n"), false);
        let repo = repo.unwrap();
        let deep = deep.unwrap();
        assert_eq!(repo.verdict("/repo/a.log", false), Some(IgnoreVerdict::Ignore));
        assert_eq!(repo.verdict("/repo/a.txt", false), None, "rules above the repository do not reach in");
        assert_eq!(repo.verdict("/repo/build", true), Some(IgnoreVerdict::Ignore));
        assert_eq!(deep.verdict("/repo/x/build", true), None, "anchored");
        assert_eq!(deep.verdict("/repo/x/a.log", false), Some(IgnoreVerdict::Ignore));
        assert_eq!(deep.verdict("/repo/x/keep.log", false), Some(IgnoreVerdict::Keep));
    }

    #[test]
    fn many_ignore_files_below_one_another_are_bounded_together() {
        let rules: String = (0..limits::IGNORE_RULES).map(|n| format!("a{n}\n")).collect();
        let mut chain = IgnoreChain::enter(None, &path("/"), Some(b""), true);
        let mut directory = VirtualPath::root();
        for _ in 0..limits::IGNORE_RULES_ABOVE / limits::IGNORE_RULES + 3 {
            directory = directory.child("d").unwrap();
            chain = IgnoreChain::enter(chain.as_ref(), &directory, Some(rules.as_bytes()), false);
        }
        let deepest = chain.as_ref().unwrap();
        assert_eq!(deepest.count, limits::IGNORE_RULES_ABOVE);
        assert!(deepest.directory_len < directory.as_str().len(), "nothing is held for what is too much");
        assert_eq!(deepest.verdict("/d/d/d/d/d/d/d/a7", false), Some(IgnoreVerdict::Ignore));
        let inner = IgnoreChain::enter(chain.as_ref(), &directory, Some(b"*.o"), true).unwrap();
        assert_eq!(inner.count, 1, "a repository starts anew");
    }

    #[test]
    fn nonsense_in_an_ignore_file_is_passed_over() {
        let chain = IgnoreChain::enter(None, &path("/"), Some(b"[z-a]\n\xFF\xFE\n{{{\n*.o\n"), true).unwrap();
        assert_eq!(chain.verdict("/a.o", false), Some(IgnoreVerdict::Ignore));
    }

    #[test]
    fn an_ignore_file_made_to_break_the_compiler_costs_little() {
        for line in ["a?b[cd]*x\n", "{a,b}c*d?\n", "x\n", "{{{{{{{{a,b},c},d},e},f},g},h},i}*\n"] {
            let started = std::time::Instant::now();
            let chain = IgnoreChain::enter(None, &path("/"), Some(line.repeat(100_000).as_bytes()), true).unwrap();
            assert!(started.elapsed().as_secs() < 60, "{line:?} took {:?}", started.elapsed());
            assert_eq!(chain.verdict("/neither", false), None);
        }
        let nested = "{".repeat(300_000) + "a" + &"}".repeat(300_000) + "\n*.o\n";
        let chain = IgnoreChain::enter(None, &path("/"), Some(nested.as_bytes()), true).unwrap();
        assert_eq!(chain.verdict("/a.o", false), Some(IgnoreVerdict::Ignore), "the next line still holds");
    }
}
