//! `cargo xtask tidy`: rustfmt, clippy, and checks of our own.
//!
//! Each check of our own is a pure function over text that returns findings. All checks run, so that one run shows
//! everything to fix.

mod dashboard;
mod length;
mod machine_paths;
mod module_docs;
mod registries;
mod symbols;
mod words;

use std::fmt;

use crate::{
    Outcome,
    workspace::{self, Source},
};

/// Cargo's arguments for the rustfmt check.
const RUSTFMT: &[&str] = &["fmt", "--all", "--check"];
/// Cargo's arguments for clippy.
const CLIPPY: &[&str] = &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];

/// How many findings of one check are shown. A stray directory can have thousands.
const SHOWN: usize = 20;

/// Something to fix, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Runs every check.
pub(crate) fn run() -> Outcome {
    let text = text();
    let clippy = workspace::cargo(CLIPPY);
    if clippy.is_ok() {
        println!("clippy: ok");
    }
    text.and(clippy)
}

/// Runs the checks that do not compile: rustfmt and our own.
pub(crate) fn text() -> Outcome {
    let sources = workspace::sources()?;
    let mut failed: Vec<&str> = Vec::new();
    for (name, findings) in [
        ("module docs", each(&sources, module_docs::check)),
        ("length", each(&sources, length::check)),
        ("machine paths", each(&sources, machine_paths::check)),
        ("registries", each(&sources, registries::check)),
        ("words", each(&sources, words::check)),
        ("dashboard", dashboard::check()),
        ("ARCHITECTURE.md", symbols::check("ARCHITECTURE.md", &sources)),
    ] {
        if !findings.is_empty() {
            failed.push(name);
        }
        report(name, &findings);
    }
    if workspace::cargo(RUSTFMT).is_err() {
        failed.push("rustfmt");
    } else {
        println!("rustfmt: ok");
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("not tidy: {}", failed.join(", "))) }
}

fn each(sources: &[Source], check: fn(&str, &str) -> Vec<Finding>) -> Vec<Finding> {
    sources.iter().flat_map(|source| check(&source.path, &source.text)).collect()
}

fn report(name: &str, findings: &[Finding]) {
    if findings.is_empty() {
        println!("{name}: ok");
        return;
    }
    println!("{name}: {} to fix", findings.len());
    findings.iter().take(SHOWN).for_each(|finding| println!("  {finding}"));
    if findings.len() > SHOWN {
        println!("  ... and {} more", findings.len() - SHOWN);
    }
}

/// Whether this is production Rust of a crate or of xtask, and not of a test.
fn is_production_rust(path: &str) -> bool {
    let mut parts = path.split('/');
    let in_source = match parts.next() {
        Some("crates") => parts.nth(1) == Some("src"),
        Some("xtask") => parts.next() == Some("src"),
        _ => false,
    };
    in_source && path.ends_with(".rs")
}

/// The text above the unit tests.
fn without_tests(text: &str) -> &str {
    let marker = "#[cfg(test)]\nmod ";
    let at_line_start = |at: &usize| *at == 0 || text[..*at].ends_with('\n');
    let tests = text.match_indices(marker).map(|(at, _)| at).find(at_line_start);
    &text[..tests.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn production_rust_is_told_from_tests_and_the_rest() {
        for (path, expected) in [
            ("crates/workden-core/src/lib.rs", true),
            ("crates/workden-core/src/search/mod.rs", true),
            ("xtask/src/main.rs", true),
            ("crates/workden-core/tests/all.rs", false),
            ("crates/workden-core/src/notes.md", false),
            ("examples/a.rs", false),
        ] {
            assert_eq!(is_production_rust(path), expected, "{path}");
        }
    }
}
