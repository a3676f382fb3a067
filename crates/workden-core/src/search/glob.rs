//! Path patterns: `*` and `?` within a name, `**` across directories, `{a,b}` and `[a-z]`.
//!
//! One compiler for every pattern of workden, so that a rule, a filter and a glob agree on what a
//! star is.

use globset::{GlobBuilder, GlobMatcher, GlobSet};

use crate::{Error, ErrorKind, Result, VirtualPath, visibility::RuleCase};

/// Compiles a pattern over whole paths.
///
/// # Errors
///
/// `InvalidPattern` when it does not parse.
pub fn compile(pattern: &str, case: RuleCase) -> Result<GlobMatcher> {
    Ok(build(pattern, case)?.compile_matcher())
}

fn build(pattern: &str, case: RuleCase) -> Result<globset::Glob> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .case_insensitive(case == RuleCase::Insensitive)
        .build()
        .map_err(|error| invalid(pattern, &error.kind().to_string()))
}

fn invalid(pattern: &str, why: &str) -> Error {
    Error::new(ErrorKind::InvalidPattern, format!("invalid glob `{}`: {why}", pattern.escape_debug()))
        .hint("`*` matches within a name, `**/` any directories, `{a,b}` either, `[a-z]` one of a class; `\\` escapes")
}

/// The pattern of a glob request, ready to match paths as the agent sees them.
#[derive(Clone, Debug)]
pub struct PathPattern {
    anchor: VirtualPath,
    start: VirtualPath,
    deepest: Option<usize>,
    set: GlobSet,
}

impl PathPattern {
    /// Compiles a pattern that is relative to `base`, or absolute when it starts with `/`.
    ///
    /// # Errors
    ///
    /// `InvalidPattern` when it is empty, climbs with `..`, or does not parse.
    pub fn new(pattern: &str, base: &VirtualPath) -> Result<Self> {
        let anchor = if pattern.starts_with('/') { VirtualPath::root() } else { base.clone() };
        let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return Err(invalid(pattern, "`..` cannot be matched"));
        }
        if pattern.contains('\0') {
            return Err(invalid(pattern, "it contains a NUL character"));
        }
        if parts.is_empty() {
            return Err(Error::new(ErrorKind::InvalidPattern, "an empty glob matches nothing")
                .hint("`**/*` matches every file, `*.md` those of one directory"));
        }
        let plain = |part: &&&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\', ',']);
        let literal = parts.iter().take(parts.len() - 1).take_while(plain);
        let start = literal.fold(anchor.clone(), |path, part| path.child_unchecked(part));
        let fixed_depth = !parts.iter().any(|part| part.contains("**") || part.contains('{'));
        let joined = parts.join("/");
        let set = GlobSet::builder()
            .add(build(&joined, RuleCase::Sensitive)?)
            .build()
            .map_err(|error| invalid(pattern, &error.kind().to_string()))?;
        let deepest = fixed_depth.then(|| anchor.depth() + parts.len());
        Ok(Self { anchor, start, deepest, set })
    }

    /// The directory below which everything that can match lies.
    #[must_use]
    pub fn start(&self) -> &VirtualPath {
        &self.start
    }

    /// Whether something below this directory could match.
    #[must_use]
    pub fn may_match_below(&self, directory: &VirtualPath) -> bool {
        self.deepest.is_none_or(|deepest| directory.depth() < deepest)
    }

    /// Whether this path matches.
    #[must_use]
    pub fn is_match(&self, path: &VirtualPath) -> bool {
        let text = path.as_str();
        let relative = match self.anchor.is_root() {
            true => &text[1..],
            false => match text.strip_prefix(self.anchor.as_str()).and_then(|rest| rest.strip_prefix('/')) {
                Some(relative) => relative,
                None => return false,
            },
        };
        self.set.is_match(relative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(typed: &str) -> VirtualPath {
        VirtualPath::parse(typed).unwrap()
    }

    fn check(pattern: &str, base: &str, matching: &[&str], others: &[&str]) {
        let compiled = PathPattern::new(pattern, &path(base)).unwrap();
        for (expected, paths) in [(true, matching), (false, others)] {
            for typed in paths {
                let path = path(typed);
                assert_eq!(compiled.is_match(&path), expected, "{pattern} in {base} on {typed}");
                let reachable = path.parent().is_none_or(|parent| compiled.may_match_below(&parent));
                assert!(!expected || reachable && path.is_within(compiled.start()), "{pattern} never gets to {typed}");
            }
        }
    }

    #[test]
    fn stars_braces_and_classes() {
        check("*.py", "/", &["/a.py", "/.a.py"], &["/d/a.py", "/a.pyc"]);
        check("**/*.py", "/", &["/a.py", "/d/e/a.py", "/.h/a.py"], &["/a.txt"]);
        check("**", "/", &["/a", "/a/b"], &[]);
        check("*.{rs,toml}", "/", &["/a.rs", "/a.toml"], &["/a.md"]);
        check("[a-c]?.txt", "/", &["/ax.txt", "/c1.txt"], &["/dx.txt", "/a/.txt"]);
        check("src/**/test_*.py", "/", &["/src/test_a.py", "/src/x/y/test_b.py"], &["/test_a.py"]);
        check("a\nb*", "/", &["/a\nbc"], &["/ab"]);
        check("\\*", "/", &["/*"], &["/a"]);
    }

    #[test]
    fn relative_to_the_base_or_absolute() {
        check("*.py", "/d", &["/d/a.py"], &["/a.py", "/d/e/a.py", "/dd/a.py"]);
        check("./*.py", "/d", &["/d/a.py"], &["/a.py"]);
        check("/d/*.py", "/d", &["/d/a.py"], &["/a.py"]);
        check("x/*.py", "/d", &["/d/x/a.py"], &["/x/a.py"]);
    }

    #[test]
    fn what_cannot_be_a_pattern_is_an_error() {
        for bad in ["", "/", ".", "../x", "a/../b", "[z-a]", "[a", "{a", "a\0b"] {
            let error = PathPattern::new(bad, &VirtualPath::root()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidPattern, "{bad:?}");
            assert!(error.hint_text().is_some());
        }
    }
}
