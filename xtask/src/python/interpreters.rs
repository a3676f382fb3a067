//! Finds the supported Pythons on this machine.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::Outcome;

/// The supported minor versions of Python 3.
const MINORS: std::ops::RangeInclusive<u32> = 10..=13;

/// A Python that can create virtual environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Python {
    /// Its minor version.
    pub(super) minor: u32,
    /// The program that starts it.
    pub(super) program: PathBuf,
}

impl Python {
    /// Whether it reports every thread to a tracer, including threads of Rust that call back into Python.
    pub(super) fn sees_all_threads(&self) -> bool {
        self.minor >= 12
    }

    /// `3.11`.
    pub(super) fn version(&self) -> String {
        format!("3.{}", self.minor)
    }
}

/// Returns the installed ones, the oldest first, one of each version.
pub(super) fn all() -> Outcome<Vec<Python>> {
    let mut names: Vec<PathBuf> = MINORS.map(|minor| format!("python3.{minor}").into()).collect();
    names.push("python3".into());
    names.extend(of_pyenv());
    let found = one_of_each(names.into_iter().filter_map(|program| {
        let minor = minor_of(&program)?;
        Some(Python { minor, program })
    }));
    if found.is_empty() { Err(NONE.to_owned()) } else { Ok(found) }
}

/// Returns the one for the tests: the newest.
pub(super) fn newest() -> Outcome<Python> {
    all()?.pop().ok_or_else(|| NONE.to_owned())
}

const NONE: &str = "Python 3.10 to 3.13 with venv not found\n\
    hint: on Debian, `apt-get install python3-venv python3-dev`";

/// Keeps the first one found of each version.
fn one_of_each(found: impl Iterator<Item = Python>) -> Vec<Python> {
    let mut by_minor = BTreeMap::new();
    for python in found {
        by_minor.entry(python.minor).or_insert(python);
    }
    by_minor.into_values().collect()
}

/// Returns the versions of pyenv, whose own `python3.12` starts only the selected version.
fn of_pyenv() -> Vec<PathBuf> {
    let Ok(answer) = Command::new("pyenv").arg("root").output() else { return Vec::new() };
    let root = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    let Ok(versions) = fs::read_dir(Path::new(&root).join("versions")) else { return Vec::new() };
    let mut programs: Vec<PathBuf> = versions.flatten().map(|entry| entry.path().join("bin/python3")).collect();
    programs.sort();
    programs
}

/// Starts it, and returns its version if it is supported and can create virtual environments.
fn minor_of(program: &Path) -> Option<u32> {
    const QUESTION: &str = "import sys, venv, ensurepip; print(*sys.version_info[:2])";
    let answer = Command::new(program).args(["-c", QUESTION]).output().ok()?;
    wanted_minor(&String::from_utf8_lossy(&answer.stdout))
}

fn wanted_minor(answer: &str) -> Option<u32> {
    let minor = answer.trim().strip_prefix("3 ")?.parse().ok()?;
    MINORS.contains(&minor).then_some(minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_that_the_package_is_for_are_wanted() {
        for (answer, expected) in
            [("3 10\n", Some(10)), ("3 13\n", Some(13)), ("3 9\n", None), ("3 14\n", None), ("2 7\n", None), ("", None)]
        {
            assert_eq!(wanted_minor(answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn of_two_of_one_version_the_first_is_taken_and_the_oldest_version_comes_first() {
        let python = |minor, program: &str| Python { minor, program: program.into() };
        let found = [python(12, "a"), python(10, "b"), python(12, "c")];
        assert_eq!(one_of_each(found.into_iter()), [python(10, "b"), python(12, "a")]);
    }
}
