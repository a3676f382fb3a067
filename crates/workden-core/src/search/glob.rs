//! Path patterns: `*` and `?` within a name, `**` across directories, `{a,b}` and `[a-z]`.
//!
//! Every pattern of workden has the same compiler, so that rules and globs agree on the meaning of a star: braces are
//! expanded, and the results are matched name by name and character by character. Only a `/` or `**` in the pattern
//! ever matches a `/`.

use regex_automata::meta::Regex;

pub use super::{
    glob_regex::{PatternOf, RuleCase},
    path_rules::PathRules,
};

use super::{
    glob_regex::{build_regex, invalid, path_expression},
    glob_syntax::{self, Alternative, Component, Piece, alternatives},
};
use crate::{Error, ErrorKind, Result, VirtualPath};

/// A rule's pattern for whole paths. For several patterns, [`PathRules`] is faster.
#[derive(Clone, Debug)]
pub struct PathRule(PathRules);

impl PathRule {
    /// Whether this path matches.
    #[must_use]
    pub fn is_match(&self, path: &VirtualPath) -> bool {
        self.0.first_match(path).is_some()
    }
}

/// Compiles a pattern for whole paths.
///
/// A pattern without a `/` is a name and matches in every directory: `*.pem` is `**/*.pem`. A pattern with a `/` starts
/// at the root, even without a leading `/`: `src/**` is `/src/**`.
///
/// # Errors
///
/// Returns `InvalidPattern` if the pattern does not parse, is empty, ends in `/`, or exceeds the
/// [`limits`](crate::limits).
pub fn compile(pattern: &str, case: RuleCase) -> Result<PathRule> {
    let rule = PatternOf { pattern, except: &[], case };
    PathRules::compile(&[rule]).map(PathRule).map_err(|(_, error)| error)
}

/// Returns the reason why a pattern does not parse; `None` if it does.
#[must_use]
pub fn syntax_error(pattern: &str) -> Option<String> {
    alternatives(pattern).err()
}

/// Checks the length and the nesting of a pattern, without parsing it.
///
/// # Errors
///
/// Returns which of the two is too large.
pub fn check_size(pattern: &str) -> std::result::Result<(), String> {
    glob_syntax::check_size(pattern)
}

/// Returns a pattern that matches only this path.
#[must_use]
pub fn escape(path: &VirtualPath) -> String {
    let mut pattern = String::with_capacity(path.as_str().len());
    for c in path.as_str().chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | ',' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// The pattern of a glob request, compiled for paths as the agent sees them.
#[derive(Clone, Debug)]
pub struct PathPattern {
    anchor: VirtualPath,
    start: VirtualPath,
    deepest: Option<usize>,
    regex: Regex,
}

impl PathPattern {
    /// Compiles a pattern: absolute if it starts with `/`, otherwise relative to `base`.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPattern` if the pattern is empty, contains `..`, does not parse, or exceeds the
    /// [`limits`](crate::limits).
    pub fn new(pattern: &str, base: &VirtualPath) -> Result<Self> {
        let mut all = alternatives(pattern).map_err(|why| invalid(pattern, &why))?;
        let absolute = pattern.starts_with('/');
        if all.iter().any(|alternative| alternative.absolute != absolute) {
            return Err(invalid(pattern, "some of its alternatives start with `/`, and some do not"));
        }
        all.retain(|alternative| !alternative.components.is_empty());
        if all.is_empty() {
            return Err(Error::new(ErrorKind::InvalidPattern, "an empty glob matches nothing")
                .hint("`**/*` matches every file, `*.md` those of one directory"));
        }
        let anchor = if absolute { VirtualPath::root() } else { base.clone() };
        let start = common_start(&all).iter().fold(anchor.clone(), |path, name| path.child_unchecked(name));
        let depth = |alternative: &Alternative| match alternative.components.contains(&Component::AnyDepth) {
            true => None,
            false => Some(alternative.components.len()),
        };
        let deepest = all.iter().map(depth).try_fold(0, |most, depth| Some(depth?.max(most)));
        let deepest = deepest.map(|deepest| anchor.depth() + deepest);
        Ok(Self { anchor, start, deepest, regex: to_regex(pattern, &all, RuleCase::Sensitive)? })
    }

    /// Returns the directory that contains all possible matches.
    #[must_use]
    pub fn start(&self) -> &VirtualPath {
        &self.start
    }

    /// Whether a path below this directory could match.
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
        !relative.is_empty() && self.regex.is_match(relative)
    }
}

/// Returns the plain names with which every alternative starts, without the last name.
fn common_start(all: &[Alternative]) -> Vec<String> {
    let plain = |alternative: &Alternative| -> Vec<String> {
        let above = alternative.components.split_last().map_or(&[][..], |(_, above)| above);
        above.iter().map_while(plain_name).collect()
    };
    let mut starts = all.iter().map(plain);
    let first = starts.next().unwrap_or_default();
    starts.fold(first, |mut common, other| {
        common.truncate(common.iter().zip(&other).take_while(|(a, b)| a == b).count());
        common
    })
}

fn plain_name(component: &Component) -> Option<String> {
    let Component::Name(pieces) = component else { return None };
    pieces.iter().map(|piece| if let Piece::Char(c) = piece { Some(*c) } else { None }).collect()
}

fn to_regex(pattern: &str, all: &[Alternative], case: RuleCase) -> Result<Regex> {
    build_regex(&[path_expression(all, case)]).ok_or_else(|| invalid(pattern, "it is too large to compile"))
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
    fn a_question_mark_or_a_class_is_one_character_not_one_byte() {
        check("?.txt", "/", &["/é.txt", "/日.txt", "/a.txt"], &["/éé.txt", "/.txt"]);
        check("[é-ü]x", "/", &["/éx", "/üx"], &["/ax", "/\u{3a9}x"]);
        check("[!a]x", "/", &["/éx", "/bx"], &["/ax"]);
    }

    #[test]
    fn a_class_never_matches_a_slash() {
        check("a[!b]c", "/", &["/axc"], &["/a/c"]);
        check("a[/x]c", "/", &["/axc"], &["/a/c"]);
        check("a[+-9]c", "/", &["/a.c", "/a5c"], &["/a/c"]);
        check("[]-]", "/", &["/]", "/-"], &["/a"]);
        check("[a\\]", "/", &["/a", "/\\"], &["/b"]);
    }

    #[test]
    fn braces_are_multiplied_out_before_names_are_matched() {
        check("{a,**}/b", "/", &["/b", "/a/b", "/x/y/b"], &["/a"]);
        check("a/{**,x}", "/", &["/a/b", "/a/b/c"], &["/a"]);
        check("x{/**,y}", "/", &["/x/a/b", "/xy"], &["/x", "/xa"]);
        check("{a/b,c}/d", "/", &["/a/b/d", "/c/d"], &["/a/d"]);
        check("a{,b{c,d}}", "/", &["/a", "/abc", "/abd"], &["/ab"]);
        check("src/{x/y,x/z}/*", "/", &["/src/x/y/f", "/src/x/z/f"], &["/src/x/f"]);
        check("{[,],[}]}", "/", &["/,", "/}"], &["/["]);
    }

    #[test]
    fn the_root_is_not_a_name() {
        check("*", "/", &["/a"], &["/"]);
        check("**/*", "/", &["/a", "/a/b"], &["/"]);
        check("d/**", "/", &["/d/a"], &["/d", "/"]);
    }

    #[test]
    fn rules_speak_of_whole_paths_the_root_included() {
        let check = |pattern: &str, case, typed: &str, expected| {
            assert_eq!(compile(pattern, case).unwrap().is_match(&path(typed)), expected, "{pattern} on {typed}");
        };
        check("/**", RuleCase::Sensitive, "/", true);
        check("**/.ENV*", RuleCase::Insensitive, "/a/.env.local", true);
        check("/É", RuleCase::Insensitive, "/é", true);
        check("/a/**", RuleCase::Sensitive, "/a", false);
    }

    #[test]
    fn a_rule_without_a_slash_is_a_name_anywhere_and_one_with_a_slash_starts_at_the_root() {
        let check = |pattern: &str, matching: &[&str], others: &[&str]| {
            let rule = compile(pattern, RuleCase::Sensitive).unwrap();
            for (expected, paths) in [(true, matching), (false, others)] {
                for typed in paths {
                    assert_eq!(rule.is_match(&path(typed)), expected, "{pattern} on {typed}");
                }
            }
        };
        check("a", &["/a", "/x/a", "/a\nb/a"], &["/", "/a/x", "/xa"]);
        check("*.pem", &["/a.pem", "/x/y/.pem"], &["/a.pem/x"]);
        check("*", &["/a", "/a/b"], &["/"]);
        check("**", &["/", "/a", "/a/b"], &[]);
        check("src/**", &["/src/a", "/src/a/b"], &["/src", "/x/src/a"]);
        check("./a", &["/a"], &["/x/a"]);
        check("{a,/b}", &["/a", "/x/a", "/b"], &["/x/b"]);
        check("{a,b/c}", &["/x/a", "/b/c"], &["/x/b/c"]);
        check("/", &["/"], &["/a"]);
    }

    #[test]
    fn a_rule_that_could_match_nothing_useful_is_an_error() {
        for bad in ["", ".", "{,}", "secrets/", "/a/", "{a/,b}", "..", "[z-a]", "a/../b"] {
            let error = compile(bad, RuleCase::Sensitive).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidPattern, "{bad:?}");
        }
    }

    #[test]
    fn an_escaped_path_matches_itself_alone() {
        for typed in ["/a*b", "/{a,b}", "/[a-z]?", "/a\\b", "/x/,}", "/a\nb", "/!^-"] {
            let path = path(typed);
            let rule = compile(&escape(&path), RuleCase::Sensitive).unwrap();
            assert!(rule.is_match(&path), "{typed}");
            assert!(!rule.is_match(&path.child_unchecked("x")) && !rule.is_match(&VirtualPath::root()), "{typed}");
        }
        assert!(!compile(&escape(&path("/a*b")), RuleCase::Sensitive).unwrap().is_match(&path("/axb")));
    }

    #[test]
    fn hostile_patterns_cost_little_and_never_panic() {
        let hostile = [
            "{".repeat(100_000) + "a" + &"}".repeat(100_000),
            "{".repeat(300) + "a" + &"}".repeat(300),
            "{a,b}".repeat(3_000),
            "{a,b}".repeat(12),
            "{a,b}".to_owned() + &"{c}".repeat(5_000),
            "{{a,b}{c,d},{e,f}{g,h}}".repeat(600),
            "?".repeat(16_000),
            "[!a]".repeat(4_000),
            "**/".repeat(5_000) + "a",
            "*a".repeat(8_000),
            "a".repeat(1_000_000),
            "[".repeat(16_000),
            "\\".repeat(15_999),
            "**/".to_owned() + &"[ -\u{10ffff}]".repeat(1_500),
            "**/".to_owned() + &"[a-z]".repeat(2_500),
            format!("{{{}}}", "?????????????????,".repeat(900)),
        ];
        let long = path(&"a".repeat(4_000));
        for pattern in hostile {
            let started = std::time::Instant::now();
            for case in [RuleCase::Sensitive, RuleCase::Insensitive] {
                let _ = compile(&pattern, case).map(|rule| rule.is_match(&long));
            }
            match PathPattern::new(&pattern, &VirtualPath::root()) {
                Ok(compiled) => _ = compiled.is_match(&long),
                Err(error) => assert!(error.to_string().len() < 2_000, "{error}"),
            }
            let shown: String = pattern.chars().take(20).collect();
            assert!(started.elapsed().as_secs() < 60, "{shown}... took {:?}", started.elapsed());
        }
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
        for bad in
            ["", "/", ".", "../x", "a/../b", "[z-a]", "[a", "{a", "a\0b", "[\0]", "a}", "a\\", "{a,../b}", "{/a,b}"]
        {
            let error = PathPattern::new(bad, &VirtualPath::root()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidPattern, "{bad:?}");
            assert!(error.hint_text().is_some());
        }
    }
}
