//! Path patterns.

use workden_core::{ErrorKind, RuleCase, VirtualPath, search::PathPattern, search::glob as engine};

use crate::{assert_short, draw::Draw, in_time, slow};

pub(crate) const SEEDS: &[&[u8]] = &[
    b"**/*.py\x1F/\x1F/a.py\x1F/d/e/a.py",
    b"src/**/test_?[a-c].{rs,toml}\x1F/\x1F/src/x/test_1a.rs",
    b"/d/*\x1F/d\x1F/d/a",
    b"{a,**}/b\x1F/\x1F/x/y/b",
    b"x{/**,y}\x1F/\x1F/x/a/b",
    b"a[!b]c\x1F/\x1F/a/c\x1Fa\xC3\xA9c",
    b"?\x1F/\x1F/\xC3\xA9",
    b"[]-a]\\*[^!]\x1F/\x1F/]*a",
    b"{{a,b}{c,d},{,e}}{f,g}\x1F/\x1F/bcf",
    b"./a//b/\x1F/x\x1F/x/a/b",
    b"[z-a]\x1F/\x1F/z",
    b"***/a**b\x1F/\x1F/x/ab",
];

/// Compares a compiled pattern with exhaustive matching, and checks that its shortcuts miss no match.
pub fn glob(data: &[u8]) {
    in_time(|| {
        let mut draw = Draw::new(data);
        let pattern = draw.text();
        let base = VirtualPath::parse(&draw.text()).unwrap_or_else(|_| VirtualPath::root());
        for case in [RuleCase::Sensitive, RuleCase::Insensitive] {
            match engine::compile(&pattern, case) {
                Ok(rule) => _ = rule.is_match(&base),
                Err(error) => assert_short(&error),
            }
        }
        let compiled = PathPattern::new(&pattern, &base);
        let mut paths = vec![base.clone(), VirtualPath::root()];
        for _ in 0..4 {
            let piece = draw.text();
            let Ok(path) = VirtualPath::parse(&piece) else { continue };
            paths.push(path.below(&base));
            paths.push(path);
        }
        match compiled {
            Ok(compiled) => paths.iter().for_each(|path| check(&pattern, &base, &compiled, path)),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidPattern);
                assert_short(&error);
                // Limits may refuse a valid pattern, but not one with few braces and commas.
                if pattern.len() < 64 && pattern.matches(['{', ',']).count() <= 12 {
                    assert_eq!(slow_match(&pattern, &base, &base), None, "{pattern:?} was refused: {error}");
                }
            }
        }
    });
}

fn slow_match(pattern: &str, base: &VirtualPath, path: &VirtualPath) -> Option<bool> {
    let base: Vec<&str> = base.components().collect();
    let path: Vec<&str> = path.components().collect();
    slow::glob::is_match(pattern, &base, &path)
}

fn check(pattern: &str, base: &VirtualPath, compiled: &PathPattern, path: &VirtualPath) {
    let matches = compiled.is_match(path);
    // Exhaustive matching takes exponential time with many stars.
    let stars = pattern.matches('*').count();
    if stars <= 4 && pattern.len() < 100 && path.as_str().len() < 40 {
        assert_eq!(slow_match(pattern, base, path), Some(matches), "{pattern:?} in {base:?} on {path:?}");
    }
    if matches {
        let above = std::iter::successors(path.parent(), VirtualPath::parent);
        let walked = above.take_while(|directory| directory.is_within(compiled.start()));
        assert!(
            path.is_within(compiled.start()) && path != compiled.start(),
            "{pattern:?} starts too deep for {path:?}"
        );
        for directory in walked {
            assert!(compiled.may_match_below(&directory), "{pattern:?} never reaches {path:?}");
        }
    }
}
