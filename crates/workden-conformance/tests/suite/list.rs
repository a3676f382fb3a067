//! The list of checks is whole: a check that is written but not listed would never run.

use std::{collections::BTreeSet, fs, path::Path};

#[test]
fn every_public_function_of_a_theme_is_a_listed_check() {
    let listed: BTreeSet<String> = workden_conformance::checks().map(ToString::to_string).collect();
    assert_eq!(listed.len(), workden_conformance::checks().count(), "a check is listed twice");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut written = BTreeSet::new();
    for file in fs::read_dir(sources).unwrap() {
        let file = file.unwrap().path();
        let theme = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let source = fs::read_to_string(&file).unwrap();
        let names = source.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next());
        written.extend(names.filter(|_| theme != "suite" && theme != "below").map(|name| format!("{theme}::{name}")));
    }
    assert_eq!(listed, written);
}
