//! The list of checks is whole: a check that is written but not listed would never run.

use std::{collections::BTreeSet, fs, path::Path};

use workden_conformance::{python_checks, sandbox_checks};

/// The public functions of the modules in a directory, as `theme::name`.
fn written_in(directory: &str, not: &[&str]) -> BTreeSet<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let mut written = BTreeSet::new();
    for file in fs::read_dir(sources).unwrap().map(|file| file.unwrap().path()).filter(|file| file.is_file()) {
        let theme = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let source = fs::read_to_string(&file).unwrap();
        let names = source.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split(['(', '<']).next());
        written.extend(names.filter(|_| !not.contains(&theme.as_str())).map(|name| format!("{theme}::{name}")));
    }
    written
}

#[test]
fn every_public_function_of_a_theme_is_a_listed_check() {
    let listed: BTreeSet<String> = workden_conformance::checks().map(ToString::to_string).collect();
    assert_eq!(listed.len(), workden_conformance::checks().count(), "a check is listed twice");
    assert_eq!(listed, written_in("src", &["suite"]));
}

#[test]
fn every_public_function_of_a_theme_of_sandboxes_is_a_listed_check() {
    let all = || sandbox_checks().chain(python_checks());
    let listed: BTreeSet<String> = all().map(ToString::to_string).collect();
    assert_eq!(listed.len(), all().count(), "a check is listed twice");
    assert_eq!(listed, written_in("src/sandbox", &["running"]));
}
