//! Requires that the committed dashboard is the one that its sources build. The build itself is repeated by the tests of
//! the dashboard, which have npm.

use super::Finding;
use crate::web;

pub(super) fn check() -> Vec<Finding> {
    match web::differences() {
        Ok(differing) => differing
            .iter()
            .map(|path| {
                Finding::new(path, 1, "the committed dashboard was built from another version: cargo xtask web")
            })
            .collect(),
        Err(why) => vec![Finding::new("web", 1, why)],
    }
}
