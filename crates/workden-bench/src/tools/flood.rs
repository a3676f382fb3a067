//! A gigabyte of output through `execute`: bounded in memory while it streams, and bounded in the answer.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{client::Client, side::Side};
use crate::{Failure, memory::Peak};

const BYTES: u64 = 1_000_000_000;
/// The sampling interval.
const LOOK: Duration = Duration::from_millis(5);

/// The result of the flood.
#[derive(Debug)]
pub(super) struct Flood {
    pub(super) peak: Peak,
    pub(super) took: Duration,
    /// Bytes that the answer shows, and bytes that it reports as left out.
    pub(super) shown: u64,
    pub(super) left_out: u64,
}

/// Runs the flood and checks the answer.
pub(super) fn run(ours: &Side, program: &Path) -> Result<Flood, Failure> {
    // The path as the kernel reports it.
    let program: PathBuf = fs::canonicalize(program)?;
    let mut client = ours.clone().with("--yes").begin()?;
    let process = client.process();
    let ended = AtomicBool::new(false);
    let (asked, peak) = thread::scope(|scope| {
        let watching = scope.spawn(|| -> Result<Peak, String> {
            let mut peak = Peak::default();
            while !ended.load(Ordering::Relaxed) {
                peak.look(process, &program).map_err(|failure| failure.to_string())?;
                thread::sleep(LOOK);
            }
            Ok(peak)
        });
        let asked = ask(&mut client);
        ended.store(true, Ordering::Relaxed);
        (asked, watching.join())
    });
    let ((text, took), peak) = (asked?, peak.map_err(|_| "the watcher failed")??);
    client.end()?;
    let (shown, left_out) = checked(&text)?;
    Ok(Flood { peak, took, shown, left_out })
}

fn ask(client: &mut Client) -> Result<(String, Duration), Failure> {
    let began = Instant::now();
    let flood = format!("yes | head -c {BYTES}");
    let answer = client.call("execute", &json!({ "command": flood }))?;
    let text = answer.result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    Ok((text, began.elapsed()))
}

/// Parses head, tail and the count of bytes left out, which must add up to the whole output.
fn checked(text: &str) -> Result<(u64, u64), Failure> {
    let wrong = || format!("the answer of a flood has no head, tail and count: {:?}", text.get(..200).unwrap_or(text));
    let (head, rest) = text.split_once("\n[... ").ok_or_else(wrong)?;
    let (note, tail) = rest.split_once("]\n").ok_or_else(wrong)?;
    let left_out: u64 = note.split(' ').next().and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
    let is_flood = |part: &str| !part.is_empty() && part.split_terminator('\n').all(|line| line == "y");
    let shown = (head.len() + tail.len()) as u64;
    match is_flood(head) && is_flood(tail) && shown + left_out == BYTES {
        true => Ok((shown, left_out)),
        false => Err(wrong().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_must_account_for_every_byte() {
        let of = |left_out: u64| format!("y\ny\n\n[... {left_out} bytes (5 lines) left out ...]\ny\ny\n");
        assert_eq!(checked(&of(BYTES - 8)).unwrap(), (8, BYTES - 8));
        assert!(checked(&of(BYTES)).is_err());
        assert!(checked("y\ny\n").is_err());
        assert!(checked(&of(BYTES - 8).replace("y\n\n[", "\n\n[")).is_err());
    }
}
