//! Properties of workden-core: what must hold for any input, against slow second opinions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers included")]

#[path = "properties/edit.rs"]
mod edit;
#[path = "properties/glob.rs"]
mod glob;
#[path = "properties/grep.rs"]
mod grep;
#[path = "properties/hashline.rs"]
mod hashline;
#[path = "properties/path.rs"]
mod path;
#[path = "properties/scan.rs"]
mod scan;
#[path = "properties/slow/mod.rs"]
mod slow;
#[path = "properties/state.rs"]
mod state;

use proptest::test_runner::Config;
use workden_core::VirtualPath;

/// So many cases with `WORKDEN_TEST_LONG`, a fifth of them without; a failure prints its input, which belongs into a test of its own.
fn cases(cases: u32) -> Config {
    let is_long = std::env::var_os("WORKDEN_TEST_LONG").is_some();
    let cases = if is_long { cases } else { (cases / 5).max(64) };
    Config { cases, failure_persistence: None, ..Config::default() }
}

fn virtual_path(typed: &str) -> VirtualPath {
    VirtualPath::parse(typed).unwrap()
}

fn names(path: &VirtualPath) -> Vec<&str> {
    path.components().collect()
}
