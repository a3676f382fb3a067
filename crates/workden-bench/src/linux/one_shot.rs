//! `workden run -- true` beside a call of bubblewrap: until it returns, and until nothing is left of it.
//!
//! Bubblewrap returns while its sandbox is still being removed. The next program would pay for that, so it starts
//! after the removal, and each contender is also measured until then.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{WaitOptions, getpid, set_child_subreaper, wait},
};

use super::{bubblewrap, directory, ended};
use crate::{
    Failure,
    lines::{Line, Target},
    samples::Samples,
};

/// When a program ended.
struct Times {
    returned: Duration,
    gone: Duration,
}

/// Measures both lines of the table.
pub(super) fn measure(program: &Path, rounds: usize) -> Result<[Line; 2], Failure> {
    let work = directory()?;
    // Orphans become children of this process.
    set_child_subreaper(Some(getpid()))?;
    let ours = || timed(Command::new(program).args(["run", "--root"]).arg(&work).args(["--", "true"]));
    let peer = || timed(bubblewrap(&work).arg("true"));
    let mut returned = (Samples::default(), Samples::default());
    let mut gone = (Samples::default(), Samples::default());
    for round in 0..rounds {
        let (of_ours, of_peer) = match round % 2 {
            0 => (ours()?, peer()?),
            _ => {
                let of_peer = peer()?;
                (ours()?, of_peer)
            }
        };
        returned.0.add(of_ours.returned);
        returned.1.add(of_peer.returned);
        gone.0.add(of_ours.gone);
        gone.1.add(of_peer.gone);
    }
    set_child_subreaper(None)?;
    std::fs::remove_dir_all(&work)?;
    Ok([
        Line::beside("`workden run -- true`", "bwrap", &returned.0, &returned.1, Target::Ratio(1.25)),
        Line::beside("the same, until nothing is left", "bwrap", &gone.0, &gone.1, Target::Ratio(1.25)),
    ])
}

fn timed(command: &mut Command) -> Result<Times, Failure> {
    let began = Instant::now();
    ended(command)?;
    let returned = began.elapsed();
    while !matches!(wait(WaitOptions::empty()), Err(Errno::CHILD)) {}
    Ok(Times { returned, gone: began.elapsed() })
}
