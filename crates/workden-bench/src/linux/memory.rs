//! What the processes below this one hold in memory: those of the sandboxes that it has started.

use std::{fs, ops::Div};

use crate::Failure;

/// Bytes of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) anonymous: u64,
    pub(super) proportional: u64,
}

impl Div<u64> for Held {
    type Output = Self;

    fn div(self, by: u64) -> Self {
        Self { anonymous: self.anonymous / by, proportional: self.proportional / by }
    }
}

/// What all descendants of this process hold.
pub(super) fn of_descendants() -> Result<Held, Failure> {
    let mut held = Held::default();
    let mut waiting = vec![std::process::id()];
    while let Some(parent) = waiting.pop() {
        for child in children(parent)? {
            waiting.push(child);
            let rollup = fs::read_to_string(format!("/proc/{child}/smaps_rollup"))?;
            held.anonymous += kibibytes(&rollup, "Anonymous:")? * 1024;
            held.proportional += kibibytes(&rollup, "Pss:")? * 1024;
        }
    }
    Ok(held)
}

fn children(of: u32) -> Result<Vec<u32>, Failure> {
    let mut all = Vec::new();
    for task in fs::read_dir(format!("/proc/{of}/task"))? {
        let listed = fs::read_to_string(task?.path().join("children"))?;
        for word in listed.split_whitespace() {
            all.push(word.parse()?);
        }
    }
    Ok(all)
}

fn kibibytes(rollup: &str, name: &str) -> Result<u64, Failure> {
    let line = rollup.lines().find_map(|line| line.strip_prefix(name)).ok_or("smaps_rollup lacks a line")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
