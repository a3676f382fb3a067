//! Patterns: the compiled ones agree with trying everything, and shortcuts leave no match out.

use std::sync::Arc;

use futures_executor::block_on;
use proptest::prelude::*;
use workden_core::{
    BackendExt, ErrorKind, Expect, RuleCase, SteppingClock, VirtualPath,
    search::{
        GlobKinds, GlobRequest, PathPattern,
        glob::{self, PathRules, PatternOf},
    },
};
use workden_files::StateBackend;

use crate::{names, slow, virtual_path};

/// Patterns over the alphabet of [`path`], well formed more often than not.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => "[abc]",
        2 => Just("é".to_owned()),
        2 => Just("*".to_owned()),
        2 => Just("**".to_owned()),
        2 => Just("?".to_owned()),
        5 => Just("/".to_owned()),
        1 => Just("[ab]".to_owned()),
        1 => Just("[!b]".to_owned()),
        1 => Just("[^a-c]".to_owned()),
        1 => Just("[]a/-]".to_owned()),
        1 => Just("\\*".to_owned()),
        1 => "[.,\\]}{\\[\\\\!-]",
    ];
    let run = |inner: BoxedStrategy<String>| prop::collection::vec(inner, 0..5).prop_map(|parts| parts.concat());
    let tree = run(leaf.boxed()).prop_recursive(2, 12, 3, move |inner| {
        let braces = prop::collection::vec(inner.clone(), 1..4).prop_map(|all| format!("{{{}}}", all.join(",")));
        run(prop_oneof![braces, inner].boxed())
    });
    // Many stars are too slow for the second opinion, many braces beyond the ceiling of the engine.
    tree.prop_filter("too much", |text| {
        text.matches('*').count() <= 6 && text.matches(['{', ',']).count() <= 12 && text.len() < 60
    })
}

/// Patterns of rules, most of which are fit to be one.
fn rule() -> impl Strategy<Value = String> {
    let is_fit = |pattern: &String| glob::compile(pattern, RuleCase::Insensitive).is_ok();
    prop_oneof![60 => pattern().prop_filter("no rule", is_fit), 1 => pattern()]
}

fn path() -> impl Strategy<Value = VirtualPath> {
    prop::collection::vec("[abcé.*,]{1,3}", 0..4)
        .prop_filter_map("climbs out", |names| VirtualPath::parse(&names.join("/")).ok())
}

/// What a walk does: it starts at `start` and enters what may hold a match.
fn is_reached(pattern: &PathPattern, path: &VirtualPath) -> bool {
    let above = std::iter::successors(path.parent(), VirtualPath::parent);
    path.is_within(pattern.start())
        && above.take_while(|dir| dir.is_within(pattern.start())).all(|dir| pattern.may_match_below(&dir))
}

proptest! {
    #![proptest_config(crate::cases(1_500))]

    #[test]
    fn a_pattern_matches_what_trying_everything_matches(pattern in pattern(), base in path(), paths in prop::collection::vec(path(), 1..8)) {
        let compiled = PathPattern::new(&pattern, &base);
        for path in paths.iter().flat_map(|path| [path.clone(), path.below(&base)]) {
            let expected = slow::glob::is_match(&pattern, &names(&base), &names(&path));
            match &compiled {
                Ok(compiled) => {
                    prop_assert_eq!(Some(compiled.is_match(&path)), expected, "{} in {} on {}", pattern, base, path);
                    prop_assert!(expected != Some(true) || is_reached(compiled, &path), "{} never gets to {}", pattern, path);
                }
                Err(error) => {
                    prop_assert_eq!(error.kind(), ErrorKind::InvalidPattern);
                    prop_assert_eq!(expected, None, "{} was refused: {}", pattern, error);
                }
            }
        }
    }

    #[test]
    fn a_rule_matches_what_a_glob_from_the_root_matches(pattern in pattern(), path in path()) {
        let absolute = format!("/{pattern}");
        let (Ok(rule), Ok(glob)) = (glob::compile(&absolute, RuleCase::Sensitive), PathPattern::new(&absolute, &VirtualPath::root())) else {
            return Ok(());
        };
        prop_assert!(path.is_root() || rule.is_match(&path) == glob.is_match(&path), "{} on {}", absolute, path);
        let insensitive = glob::compile(&absolute, RuleCase::Insensitive).unwrap();
        prop_assert!(!rule.is_match(&path) || insensitive.is_match(&path) || absolute.contains("[!") || absolute.contains("[^"));
    }

    #[test]
    fn a_rule_without_a_slash_is_a_name_anywhere_and_another_starts_at_the_root(pattern in pattern(), path in path()) {
        // Braces may mix both kinds.
        if pattern.contains(['{', '\\', '[']) || pattern.starts_with('/') {
            return Ok(());
        }
        let whole = if pattern.contains('/') { format!("/{pattern}") } else { format!("**/{pattern}") };
        let (Ok(rule), Ok(whole)) = (glob::compile(&pattern, RuleCase::Sensitive), glob::compile(&whole, RuleCase::Sensitive)) else {
            return Ok(());
        };
        prop_assert!(path.is_root() || rule.is_match(&path) == whole.is_match(&path), "{} on {}", pattern, path);
    }

    #[test]
    fn many_rules_together_match_what_they_match_one_by_one(
        rules in prop::collection::vec((rule(), prop::collection::vec(rule(), 0..3), any::<bool>()), 0..8),
        paths in prop::collection::vec(path(), 1..6),
    ) {
        let case = |is_insensitive| if is_insensitive { RuleCase::Insensitive } else { RuleCase::Sensitive };
        let together: Vec<PatternOf<'_>> =
            rules.iter().map(|(pattern, except, folds)| PatternOf { pattern, except, case: case(*folds) }).collect();
        let one = |pattern: &str, folds: bool| glob::compile(pattern, case(folds));
        let compiled = PathRules::compile(&together);
        let bad = rules.iter().position(|(pattern, except, folds)| {
            one(pattern, *folds).is_err() || except.iter().any(|except| one(except, *folds).is_err())
        });
        let compiled = match (compiled, bad) {
            (Ok(compiled), None) => compiled,
            (Err((nth, error)), Some(_)) => {
                prop_assert_eq!(error.kind(), ErrorKind::InvalidPattern);
                prop_assert!(nth < rules.len());
                return Ok(());
            }
            (compiled, bad) => return Err(TestCaseError::fail(format!("{compiled:?} though {bad:?} is bad"))),
        };
        for path in paths {
            let matches = |(pattern, except, folds): &(String, Vec<String>, bool)| {
                let is_match = |pattern: &str| one(pattern, *folds).unwrap().is_match(&path);
                is_match(pattern) && !except.iter().any(|except| is_match(except))
            };
            prop_assert_eq!(compiled.first_match(&path), rules.iter().position(matches), "{}", path);
        }
    }

    #[test]
    fn a_glob_of_a_tree_is_all_its_paths_filtered(pattern in pattern(), base in path(), files in prop::collection::vec(path(), 1..12)) {
        let backend = StateBackend::new(Arc::new(SteppingClock::default()));
        for file in &files {
            // Some are refused, where another is a directory above them.
            let _ = block_on(backend.write_path(file, "x".into(), Expect::Anything));
        }
        let _ = block_on(backend.make_dir_path(&base));
        let mut all: Vec<VirtualPath> = Vec::new();
        for file in backend.to_document().files.keys().chain(&backend.to_document().directories) {
            let above = std::iter::successors(Some(virtual_path(file)), VirtualPath::parent);
            all.extend(above.filter(|path| !path.is_root()));
        }
        all.sort();
        all.dedup();
        let request = GlobRequest::new(pattern.as_str()).kinds(GlobKinds::Everything);
        let Ok(found) = block_on(backend.glob_path(&base, &request)) else { return Ok(()) };
        let mut found: Vec<VirtualPath> = found.entries.into_iter().map(|entry| entry.path).collect();
        found.sort();
        let expected: Vec<VirtualPath> = all
            .into_iter()
            .filter(|path| path.is_within(&base) && *path != base)
            .filter(|path| slow::glob::is_match(&pattern, &names(&base), &names(path)) == Some(true))
            .collect();
        prop_assert_eq!(found, expected, "{} in {}", pattern, base);
    }
}
