//! Requires every module to state its purpose: `//!` at its top.

use super::{Finding, is_production_rust};

/// How far down the first `//!` may be; an attribute or two may come before it.
const WITHIN_LINES: usize = 5;

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    if !is_production_rust(path) || text.lines().take(WITHIN_LINES).any(says_something) {
        return Vec::new();
    }
    vec![Finding::new(path, 1, "the module does not state its purpose: start it with `//!`")]
}

fn says_something(line: &str) -> bool {
    line.strip_prefix("//!").is_some_and(|rest| !rest.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_must_say_what_it_is_for() {
        for (text, expected) in [
            ("//! Paths.\n\nuse std::fmt;\n", 0),
            ("#![no_std]\n\n//! Paths.\n", 0),
            ("use std::fmt;\n", 1),
            ("//!\n//!\nuse std::fmt;\n", 1),
            ("// Paths.\n", 1),
            ("\n\n\n\n\n//! Too late.\n", 1),
            ("", 1),
        ] {
            assert_eq!(check("xtask/src/main.rs", text).len(), expected, "{text:?}");
        }
    }

    #[test]
    fn tests_need_no_introduction() {
        assert!(check("crates/a/tests/all.rs", "use std::fmt;\n").is_empty());
    }
}
