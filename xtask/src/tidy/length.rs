//! Limits the length of files: a longer file should be split.

use super::{Finding, is_production_rust, without_tests};

const MOST_LINES: usize = 600;

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let lines = without_tests(text).lines().count();
    if !is_production_rust(path) || lines <= MOST_LINES {
        return Vec::new();
    }
    vec![Finding::new(path, MOST_LINES + 1, format!("{lines} lines without tests, and {MOST_LINES} is the most"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_as_long_as_its_production_code() {
        let code = |lines: usize| "x\n".repeat(lines);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", code(1000));
        for (text, expected) in [
            (code(600), 0),
            (code(601), 1),
            (code(600) + &tests, 0),
            (code(601) + &tests, 1),
            // A test-only item does not start the tests.
            ("#[cfg(test)]\nfn f() {}\n".to_owned() + &code(600), 1),
        ] {
            assert_eq!(check("crates/a/src/lib.rs", &text).len(), expected);
        }
    }

    #[test]
    fn test_files_may_be_long() {
        assert!(check("crates/a/tests/all.rs", &"x\n".repeat(2000)).is_empty());
    }
}
