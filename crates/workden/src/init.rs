//! `init`: lets a program that embeds the library also serve as the keeper of its sandboxes.

use workden_sandboxes::{KEEPER_WORD, KeeperProgram};

/// Runs the keeper and exits, if a sandbox started this program for that; otherwise returns at once.
///
/// Call it first in `main`: a keeper must start before any thread does. A program without it uses `workden-keeper` or
/// `workden` from its own directory or the search path.
///
/// ```no_run
/// workden::init();
/// // the rest of `main`
/// ```
pub fn init() {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == KEEPER_WORD) {
        run(words);
    }
    KeeperProgram::this_program_is_one();
}

#[cfg(target_os = "linux")]
fn run(words: impl Iterator<Item = std::ffi::OsString>) {
    let ended = workden_keeper::run(words);
    std::process::exit(i32::from(ended != std::process::ExitCode::SUCCESS))
}

#[cfg(not(target_os = "linux"))]
fn run(_: impl Iterator<Item = std::ffi::OsString>) {}
