//! The suite fails when it should: each way of being wrong is caught by the checks named beside it,
//! and there is no check that was never seen to fail.

use std::collections::{BTreeMap, BTreeSet};

use futures_executor::block_on;
use workden_conformance::{Check, checks};

use crate::{
    backends::state,
    broken::{Broken, Spoil},
    caught_in_files, caught_in_searches,
};

fn caught() -> impl Iterator<Item = &'static (Spoil, &'static [&'static str])> {
    caught_in_files::CAUGHT.iter().chain(caught_in_searches::CAUGHT)
}

#[test]
fn each_way_of_being_wrong_is_caught() {
    let by_name: BTreeMap<String, &Check> = checks().map(|check| (check.to_string(), check)).collect();
    let mut missed = Vec::new();
    for (spoil, names) in caught() {
        assert!(!names.is_empty(), "{spoil:?} is caught by nothing");
        for name in *names {
            let check = by_name[*name];
            if block_on(check.run(&Broken::new(state(), *spoil))).is_ok() {
                missed.push(format!("{spoil:?} by {check}"));
            }
        }
    }
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
}

#[test]
fn every_check_catches_something() {
    let catching: BTreeSet<&str> = caught().flat_map(|(_, names)| names.iter().copied()).collect();
    let idle: Vec<String> =
        checks().map(ToString::to_string).filter(|name| !catching.contains(name.as_str())).collect();
    assert!(idle.is_empty(), "never seen to fail: {idle:#?}");
}

#[test]
fn a_backend_that_panics_fails_the_check_and_the_rest_still_run() {
    let report = block_on(workden_conformance::report(async || Broken::new(state(), Spoil::StatPanics)));
    let panicked =
        report.failed.iter().filter(|(_, failure)| failure.sentence().contains("it panicked: stat is broken"));
    assert!(panicked.count() > 10, "{report}");
    assert!(report.passed.len() > 10, "{report}");
    assert!(
        report.to_string().contains("\n\nentries::a_new_workspace_is_an_empty_directory\n    it panicked"),
        "{report}"
    );
}
