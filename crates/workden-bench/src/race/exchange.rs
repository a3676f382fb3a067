//! The attacker of the race: a process that swaps directories and links as fast as it can.

use std::{
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::ground::PAIRS;
use crate::Failure;

/// The swapping process, which ends with its standard input.
pub(super) struct Exchanger(Child);

impl Exchanger {
    pub(super) fn start(root: &Path) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("race-exchange").arg(root).stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Self(command.spawn()?))
    }

    /// Ends the process and returns its number of swaps.
    pub(super) fn stop(mut self) -> Result<u64, Failure> {
        drop(self.0.stdin.take());
        let mut told = String::new();
        if let Some(mut out) = self.0.stdout.take() {
            out.read_to_string(&mut told)?;
        }
        self.0.wait()?;
        Ok(told.trim().parse()?)
    }
}

/// Swaps directories and links until standard input ends, each an even number of times.
pub(crate) fn exchange(root: &str) -> Result<(), Failure> {
    let over = AtomicBool::new(false);
    let mut exchanges = 0_u64;
    thread::scope(|scope| -> Result<(), Failure> {
        scope.spawn(|| {
            let _ = std::io::stdin().read(&mut [0]);
            over.store(true, Ordering::Relaxed);
        });
        let root = Path::new(root);
        while !over.load(Ordering::Relaxed) {
            for (one, other) in PAIRS {
                for _ in 0..2 {
                    renameat_with(CWD, root.join(one), CWD, root.join(other), RenameFlags::EXCHANGE)?;
                    exchanges += 1;
                    // Long enough for a call to start in one state and end in the other.
                    thread::sleep(Duration::from_micros(exchanges % 40));
                }
            }
        }
        Ok(())
    })?;
    println!("{exchanges}");
    Ok(())
}
