//! Requires every name in ARCHITECTURE.md to exist.
//!
//! A text between single backticks is checked if it reads as a name: a Rust path, a call, a CamelCase or snake_case
//! identifier, a crate, a file. Plain lower-case words, texts with a space and fenced blocks are ignored.

use std::collections::HashSet;

use super::{Finding, without_tests};
use crate::workspace::Source;

pub(super) fn check(document: &str, sources: &[Source]) -> Vec<Finding> {
    match sources.iter().find(|source| source.path == document) {
        Some(source) => unknown(document, &source.text, &Known::of(sources)),
        None => vec![Finding::new(document, 1, "file not found")],
    }
}

/// The names that exist.
#[derive(Default)]
struct Known {
    /// Words of Rust code, without comments and tests: a name that only they contain is not a symbol.
    words: HashSet<String>,
    /// Words of comments as well, for the constants of the kernel, which code spells differently.
    constants: HashSet<String>,
    crates: HashSet<String>,
    paths: Vec<String>,
}

impl Known {
    fn of(sources: &[Source]) -> Self {
        let mut known = Self::default();
        for Source { path, text } in sources {
            known.paths.push(path.clone());
            if let Some(directory) = path.strip_suffix("/Cargo.toml") {
                known.crates.insert(directory.rsplit('/').next().unwrap_or(directory).to_owned());
            }
            if path.ends_with(".rs") && !path.split('/').any(|part| part == "tests") {
                for line in without_tests(text).lines() {
                    let is_code = !line.trim_start().starts_with("//");
                    for word in words(line) {
                        if is_code {
                            known.words.insert(word.to_owned());
                        }
                        if is_constant(word) {
                            known.constants.insert(word.to_owned());
                        }
                    }
                }
            }
        }
        known
    }

    fn has_word(&self, word: &str) -> bool {
        self.words.contains(word) || self.constants.contains(word) || self.crates.contains(&word.replace('_', "-"))
    }

    /// A file or directory, named from the root or by the last parts of its path.
    fn has_path(&self, wanted: &str) -> bool {
        let wanted = wanted.trim_end_matches('/');
        self.paths.iter().any(|path| {
            let whole = format!("/{path}/");
            whole.ends_with(&format!("/{wanted}/")) || whole.starts_with(&format!("/{wanted}/"))
        })
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

fn unknown(document: &str, text: &str, known: &Known) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // Text before the first backtick and after each second one is prose.
            for span in line.split('`').skip(1).step_by(2) {
                if let Some(missing) = missing_of(span, known) {
                    findings.push(Finding::new(document, index + 1, format!("`{span}`: {missing}")));
                }
            }
        }
    }
    findings
}

/// Returns what a span names that does not exist.
fn missing_of(span: &str, known: &Known) -> Option<String> {
    if is_crate(span) {
        return (!known.crates.contains(span)).then(|| format!("crate {span} not found"));
    }
    if is_path(span) {
        return (!known.has_path(span)).then(|| format!("file or directory {span} not found"));
    }
    let parts = name_parts(span)?;
    let missing = parts.into_iter().find(|part| !known.has_word(part))?;
    Some(format!("no Rust source has `{missing}`"))
}

fn is_crate(span: &str) -> bool {
    span.strip_prefix("workden-").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
}

fn is_path(span: &str) -> bool {
    let plain = !span.starts_with(['/', '.']) && span.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
    let ours = ["crates/", "xtask/", "fuzz/", "docs/", "examples/"].iter().any(|top| span.starts_with(top));
    plain && (ours || span.ends_with(".rs"))
}

/// Returns the identifiers of a span that reads as a name in Rust, or nothing if it does not.
fn name_parts(span: &str) -> Option<Vec<&str>> {
    let span = span.trim_start_matches('&').trim_start_matches("dyn ");
    let is_call = span.contains('(') && span.ends_with(')');
    let stem = span.split(['(', '<']).next().unwrap_or(span).trim_end_matches('!');
    let parts: Vec<&str> = stem.split("::").flat_map(|part| part.split('.')).collect();
    let all_identifiers = parts.iter().all(|part| is_identifier(part));
    let reads_as_name = is_call || stem.contains("::") || parts.iter().any(|part| is_telling(part));
    (all_identifiers && reads_as_name).then_some(parts)
}

fn is_identifier(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `snake_case`, `CamelCase` and `CONSTANT_CASE`; not `word`, nor an abbreviation like `JSON`.
fn is_telling(part: &str) -> bool {
    let camel = part.starts_with(|c: char| c.is_ascii_uppercase()) && part.chars().any(|c| c.is_ascii_lowercase());
    camel || part.trim_matches('_').contains('_')
}

fn is_constant(word: &str) -> bool {
    word.contains('_') && !word.chars().any(|c| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        Known::of(&[
            source("crates/workden-core/Cargo.toml", "[package]"),
            source(
                "crates/workden-core/src/backend.rs",
                "// Ghost is gone, O_NOFOLLOW stays.\npub trait Backend { fn read_text(&self); fn grep(); }\n\
                 #[cfg(test)]\nmod tests { struct OnlyTested; }\n",
            ),
            source("crates/workden-core/tests/all.rs", "struct OnlyTestedThere;\n"),
        ])
    }

    #[test]
    fn what_exists_and_what_is_prose_may_be_named() {
        let known = known();
        for span in [
            "Backend",
            "&dyn Backend",
            "Backend::read_text",
            "Backend.grep",
            "workden_core::Backend",
            "read_text()",
            "grep(pattern)",
            "Backend<T>",
            "workden-core",
            "backend.rs",
            "workden-core/src/backend.rs",
            "crates/workden-core/src/",
            "O_NOFOLLOW",
            // Prose, commands, names of others.
            "rg",
            "rg --glob",
            "JSON",
            "/workspace",
            ".gitignore",
            "**/*.py",
            "openat2",
        ] {
            assert_eq!(missing_of(span, &known), None, "{span}");
        }
    }

    #[test]
    fn what_does_not_exist_is_found() {
        let known = known();
        for span in [
            "Ghost",
            "OnlyTested",
            "OnlyTestedThere",
            "Backend::gone",
            "Ghost::read_text",
            "lost_function",
            "lost()",
            "LOST_CONSTANT",
            "workden-ghost",
            "ghost.rs",
            "end.rs",
            "crates/workden-ghost/src",
        ] {
            assert!(missing_of(span, &known).is_some(), "{span}");
        }
    }

    #[test]
    fn a_finding_names_line_and_symbol_and_fenced_blocks_are_left_alone() {
        let text = "The `Backend` trait.\n```\n`Ghost`\n```\nA `Ghost` and `Backend::gone` here.\n";
        let findings: Vec<String> = unknown("A.md", text, &known()).iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            ["A.md:5: `Ghost`: no Rust source has `Ghost`", "A.md:5: `Backend::gone`: no Rust source has `gone`"]
        );
    }

    #[test]
    fn a_missing_document_is_a_finding() {
        assert_eq!(check("ARCHITECTURE.md", &[]).len(), 1);
    }
}
