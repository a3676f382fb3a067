//! The tasks of contenders. Plain data, because they are sent to other processes, one of them
//! written in Python.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One piece of work, the same for every contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub(crate) enum Task {
    /// Find matching lines below a directory. Answers how many.
    Grep { dir: PathBuf, pattern: String, syntax: Syntax },
    /// Find files below a directory, newest first. Answers how many.
    Glob { dir: PathBuf, pattern: String },
    /// List a directory. Answers how many entries.
    List { dir: PathBuf },
    /// Read lines at the end of a file, numbered. Answers the number of the last one.
    ReadEnd { dir: PathBuf, file: String, offset: u64, limit: u64 },
    /// Replace the only `NEEDLE`, and the next time put it back. Answers how many replaced.
    Edit { dir: PathBuf, file: String, old: String, new: String, fsync: Fsync },
    /// Write a copy of a file, wait for the disk and rename it: the lower bound of an edit.
    /// Answers 1.
    SaveAlone { dir: PathBuf, file: String },
    /// Fill a workspace in memory, untimed, then find lines in it. Answers how many.
    StateGrep { files: u32, lines: u32, pattern: String },
    /// Decide about paths or commands under the default preset, again and again. Answers how many
    /// were denied.
    Decide { operation: String, targets: Vec<String>, times: u32 },
    /// Run a program, its output going to a file. Answers how many lines it wrote.
    Command { program: String, arguments: Vec<String>, dir: PathBuf, output: PathBuf },
}

/// The kind of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Syntax {
    Literal,
    Regex,
}

/// Whether a write waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fsync {
    On,
    Off,
}

/// The answer of a contender to each round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Round {
    pub(crate) seconds: f64,
    pub(crate) count: u64,
}

/// The answer of a contender after the last round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Farewell {
    pub(crate) peak_kib: u64,
}

/// The text of file `number` of the workspace in memory: the same as in `reference.py`.
pub(crate) fn state_file(number: u32, lines: u32) -> (String, String) {
    let mut text = String::new();
    for line in 0..lines {
        let word = if (number + line).is_multiple_of(997) { "marigold" } else { "meadow" };
        text.push_str(&format!("line {line} of file {number} speaks of {word} and of nothing else\n"));
    }
    (format!("/area{}/note{number}.txt", number % 100), text)
}
