//! Path patterns: `*` and `?` within a name, `**` across directories, `{a,b}` and `[a-z]`.
//!
//! One compiler for every pattern of workden, so that a rule and a glob agree on what a star is:
//! braces are multiplied out, what is left is matched name by name, character by character, and
//! nothing but a `/` in the pattern, or `**`, ever matches a `/`.

use std::fmt::Write;

use regex_automata::{meta::Regex, util::syntax};
use serde::{Deserialize, Serialize};

pub use super::path_rules::{PathRules, PatternOf};

use super::glob_syntax::{self, Alternative, Component, Piece, alternatives};
use crate::{Error, ErrorKind, Result, VirtualPath, limits};

/// Whether a rule's pattern looks at letter case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleCase {
    /// `*.KEY` and `*.key` are different.
    #[default]
    Sensitive,
    /// They are the same.
    Insensitive,
}

/// A pattern over whole paths, as rules have it. Where there are several, [`PathRules`] is faster.
#[derive(Clone, Debug)]
pub struct PathRule(PathRules);

impl PathRule {
    /// Whether this path matches.
    #[must_use]
    pub fn is_match(&self, path: &VirtualPath) -> bool {
        self.0.first_match(path).is_some()
    }
}

/// Compiles a pattern over whole paths.
///
/// One without any `/` is a name and matches in every directory: `*.pem` is `**/*.pem`. One with a
/// `/` starts at the root, also where that is not written: `src/**` is `/src/**`.
///
/// # Errors
///
/// `InvalidPattern` when it does not parse, is empty, ends in `/`, or is larger than [`limits`]
/// allow.
pub fn compile(pattern: &str, case: RuleCase) -> Result<PathRule> {
    let rule = PatternOf { pattern, except: &[], case };
    PathRules::compile(&[rule]).map(PathRule).map_err(|(_, error)| error)
}

/// Says in a few words why a pattern does not parse; `None` when it does.
#[must_use]
pub fn syntax_error(pattern: &str) -> Option<String> {
    alternatives(pattern).err()
}

/// Checks the length and the nesting of a pattern, without parsing it.
///
/// # Errors
///
/// Which of the two is too large, in a few words.
pub fn check_size(pattern: &str) -> std::result::Result<(), String> {
    glob_syntax::check_size(pattern)
}

/// This path as a pattern that matches it alone.
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

/// The alternatives of a rule's pattern, each from the root.
pub(super) fn rule_alternatives(pattern: &str, case: RuleCase) -> Result<Vec<Alternative>> {
    let mut all = alternatives(pattern).map_err(|why| invalid(pattern, &why))?;
    all.retain(|alternative| alternative.absolute || !alternative.components.is_empty());
    if all.is_empty() {
        return Err(invalid(pattern, "it is empty"));
    }
    // It would match a directory and nothing in it, which nobody means.
    if all.iter().any(|alternative| alternative.ends_in_slash) {
        return Err(invalid(pattern, "it ends in `/`; for everything in a directory, end it in `/**`"));
    }
    // Folding the case of a class looks at each of its characters.
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

/// How many characters the classes of a rule that disregards case may have.
const FOLDED_CHARS: usize = 100_000;

fn class_sizes(alternative: &Alternative) -> usize {
    let pieces = alternative.components.iter().flat_map(|component| match component {
        Component::AnyDepth => &[][..],
        Component::Name(pieces) => pieces,
    });
    let size = |range: &(char, char)| u32::from(range.1) as usize - u32::from(range.0) as usize + 1;
    let sizes = pieces.map(|piece| match piece {
        Piece::Class { ranges, .. } => ranges.iter().map(size).sum(),
        Piece::Char(_) | Piece::AnyChar | Piece::AnyChars => 0,
    });
    sizes.sum()
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

/// The pattern of a glob request, ready to match paths as the agent sees them.
#[derive(Clone, Debug)]
pub struct PathPattern {
    anchor: VirtualPath,
    start: VirtualPath,
    deepest: Option<usize>,
    regex: Regex,
}

impl PathPattern {
    /// Compiles a pattern that is relative to `base`, or absolute when it starts with `/`.
    ///
    /// # Errors
    ///
    /// `InvalidPattern` when it is empty, climbs with `..`, does not parse, or is larger than
    /// [`limits`] allow.
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
        !relative.is_empty() && self.regex.is_match(relative)
    }
}

/// The plain names that every alternative starts with, its last name left out.
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
    build_regex(&[regex_text(all, case)]).ok_or_else(|| invalid(pattern, "it is too large to compile"))
}

/// One regular expression out of several, which are told apart by their place; `None` when it
/// would be too large.
pub(super) fn build_regex(texts: &[String]) -> Option<Regex> {
    let config = Regex::config()
        .utf8_empty(false)
        .nfa_size_limit(Some(limits::COMPILED_PATTERN_BYTES))
        .hybrid_cache_capacity(limits::COMPILED_PATTERN_BYTES);
    let syntax = syntax::Config::new().utf8(false);
    Regex::builder().syntax(syntax).configure(config).build_many(texts).ok()
}

pub(super) fn regex_text(all: &[Alternative], case: RuleCase) -> String {
    let mut text = String::from(match case {
        RuleCase::Sensitive => r"\A(?:",
        RuleCase::Insensitive => r"\A(?i:",
    });
    for (nth, alternative) in all.iter().enumerate() {
        if nth > 0 {
            text.push('|');
        }
        write_alternative(&mut text, &alternative.components);
    }
    text.push_str(r")\z");
    text
}

fn write_alternative(out: &mut String, components: &[Component]) {
    let mut needs_slash = false;
    for (nth, component) in components.iter().enumerate() {
        if needs_slash {
            out.push('/');
        }
        let is_last = nth + 1 == components.len();
        match component {
            // All there is: the root as well.
            Component::AnyDepth if components.len() == 1 => out.push_str("(?s-u:.)*"),
            Component::AnyDepth if is_last => out.push_str("(?s-u:.)+"),
            Component::AnyDepth => out.push_str("(?:(?s-u:.)*/)?"),
            Component::Name(pieces) => write_name(out, pieces),
        }
        needs_slash = *component != Component::AnyDepth;
    }
}

fn write_name(out: &mut String, pieces: &[Piece]) {
    if pieces.iter().all(|piece| *piece == Piece::AnyChars) {
        // A name is never empty, and the root has none.
        return out.push_str("(?-u:[^/])+");
    }
    let mut after_stars = false;
    for piece in pieces {
        match piece {
            Piece::AnyChars if after_stars => {}
            // Bytes here: they come to the same as characters, and compile smaller.
            Piece::AnyChars => out.push_str("(?-u:[^/])*"),
            Piece::AnyChar => out.push_str("[^/]"),
            Piece::Char(c) => write_char(out, *c),
            Piece::Class { negated, ranges } => {
                out.push_str(if *negated { "[^/" } else { "[[" });
                for (first, last) in ranges {
                    write_char(out, *first);
                    out.push('-');
                    write_char(out, *last);
                }
                out.push_str(if *negated { "]" } else { "]--/]" });
            }
        }
        after_stars = *piece == Piece::AnyChars;
    }
}

/// A character by number, so that none means anything else to the engine.
pub(super) fn write_char(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        let _ = write!(out, "\\x{{{:X}}}", u32::from(c));
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
            assert!(started.elapsed().as_secs() < 5, "{shown}... took {:?}", started.elapsed());
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
