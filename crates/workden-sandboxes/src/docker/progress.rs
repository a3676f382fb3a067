//! Converts what the daemon prints while an image is pulled or built into `BuildProgress`.
//!
//! Invariant: lines have a bounded length, and contain no terminal escapes.

use std::collections::VecDeque;

use bollard::models::{BuildInfo, CreateImageInfo};

use super::errors;

/// Lines of output that are kept for an error.
const REMEMBERED: usize = 20;
/// Longest incomplete line, in bytes.
const LONGEST_OPEN: usize = 8 * 1024;

/// A step in pulling or building an image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildProgress {
    /// An image is pulled from a registry.
    Pulling {
        /// The image.
        image: String,
        /// The daemon's status: "Downloading".
        status: String,
        /// The layer, if this is about one.
        layer: Option<String>,
        /// Bytes done and in total, if known.
        bytes: Option<(u64, u64)>,
    },
    /// A build starts a step.
    Step {
        /// The number of the step, from 1.
        nth: u32,
        /// The number of all steps.
        of: u32,
        /// The instruction in the Dockerfile.
        what: String,
    },
    /// A step printed a line.
    Output(String),
    /// The image is ready, after earlier progress.
    Ready,
}

/// A progress callback. It runs on the task that waits, and must return quickly.
pub type OnProgress<'a> = &'a (dyn Fn(BuildProgress) + Send + Sync);

/// The parsed output of a build.
#[derive(Debug, Default)]
pub(super) struct BuildOutput {
    /// The last step that started: its number, the number of all steps, and its instruction.
    pub(super) step: Option<(u32, u32, String)>,
    last: VecDeque<String>,
    open: String,
}

impl BuildOutput {
    /// Converts a message of the daemon.
    pub(super) fn take(&mut self, message: BuildInfo) -> Vec<BuildProgress> {
        let mut text = message.stream.unwrap_or_default();
        if let Some(status) = message.status {
            text.push_str(&status);
            text.push('\n');
        }
        self.open.push_str(&text);
        let mut told = Vec::new();
        while let Some(end) = self.open.find(['\n', '\r']) {
            let line: String = self.open.drain(..=end).collect();
            told.extend(self.line(&line));
        }
        if self.open.len() > LONGEST_OPEN {
            let line = std::mem::take(&mut self.open);
            told.extend(self.line(&line));
        }
        told
    }

    fn line(&mut self, line: &str) -> Option<BuildProgress> {
        let line = errors::shown(&without_escapes(line));
        if line.is_empty() {
            return None;
        }
        if let Some((nth, of, what)) = step(&line) {
            self.last.clear();
            self.step = Some((nth, of, what.to_owned()));
            return Some(BuildProgress::Step { nth, of, what: what.to_owned() });
        }
        // The daemon's own messages about layers.
        if ["---> ", "Removing intermediate container "].iter().any(|chatter| line.starts_with(chatter)) {
            return None;
        }
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back(line.clone());
        Some(BuildProgress::Output(line))
    }

    /// Returns the last lines of the last step for an error: empty, or each on a separate line.
    pub(super) fn last_lines(&mut self) -> String {
        let rest = std::mem::take(&mut self.open);
        self.line(&rest);
        self.last.iter().map(|line| format!("\n  | {line}")).collect()
    }
}

/// Converts a message about a pull.
pub(super) fn pulled(image: &str, message: CreateImageInfo) -> Option<BuildProgress> {
    let status = errors::shown(&without_escapes(&message.status?));
    let detail = message.progress_detail.and_then(|detail| Some((detail.current?, detail.total?)));
    let bytes = detail.and_then(|(current, total)| Some((current.try_into().ok()?, total.try_into().ok()?)));
    let layer = message.id.map(|id| errors::shown(&id));
    Some(BuildProgress::Pulling { image: image.to_owned(), status, layer, bytes })
}

/// Parses `Step 2/5 : RUN x` of Docker, `STEP 2/5: RUN x` of Podman.
fn step(line: &str) -> Option<(u32, u32, &str)> {
    let rest = line.strip_prefix("Step ").or_else(|| line.strip_prefix("STEP "))?;
    let (numbers, what) = rest.split_once(':')?;
    let (nth, of) = numbers.trim().split_once('/')?;
    Some((nth.parse().ok()?, of.parse().ok()?, what.trim()))
}

/// Removes colours: the daemon prints standard error in red.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|each: char| ('@'..='~').contains(&each)).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> BuildInfo {
        BuildInfo { stream: Some(text.to_owned()), ..BuildInfo::default() }
    }

    #[test]
    fn steps_and_lines_are_told_as_they_are_complete() {
        let mut output = BuildOutput::default();
        let told = output.take(printed("Step 2/5 : RUN [\"x\"]\n ---> 0123\n\u{1b}[91mhal"));
        assert_eq!(told, [BuildProgress::Step { nth: 2, of: 5, what: "RUN [\"x\"]".into() }]);
        let told = output.take(printed("f\u{1b}[0m\rne\u{7}xt\n"));
        assert_eq!(told, [BuildProgress::Output("half".into()), BuildProgress::Output("ne xt".into())]);
        output.take(printed("and the rest"));
        assert_eq!(output.last_lines(), "\n  | half\n  | ne xt\n  | and the rest");
        assert_eq!(output.step, Some((2, 5, "RUN [\"x\"]".into())));
        let told = output.take(printed("STEP 3/5: WORKDIR /x\n"));
        assert_eq!(told, [BuildProgress::Step { nth: 3, of: 5, what: "WORKDIR /x".into() }]);
        assert_eq!(output.last_lines(), "");
    }

    #[test]
    fn however_much_is_printed_little_is_kept() {
        let mut output = BuildOutput::default();
        for _ in 0..100 {
            output.take(printed(&"x".repeat(5000)));
        }
        for nth in 0..100 {
            output.take(printed(&format!("{nth}\n")));
        }
        assert!(output.open.len() <= LONGEST_OPEN);
        let lines = output.last_lines();
        assert!(lines.lines().count() == REMEMBERED + 1 && lines.ends_with("| 99"), "{lines}");
    }
}
