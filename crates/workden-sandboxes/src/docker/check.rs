//! Verifies from inside the container, before any other client connects, that the mounts are the intended ones.
//!
//! The daemon resolves names when the container starts. A process that can write to one of the directories, for
//! example a command of another container, can insert a link between our check and the mount.

use workden_core::{
    Error, ErrorKind, Result, Sandbox, VirtualPath,
    sandbox::{Command, ExecuteRequest},
};
use workden_wire::RemoteSandbox;

use super::{
    errors::shown,
    keeper_volume::PROGRAM,
    protected_paths::{Expected, FileNumber},
};

/// Paths that one command checks.
const AT_A_TIME: usize = 200;

/// Printed for a path that the keeper may not access. Commands run as the same user and may not access it either.
const OUT_OF_REACH: &str = "?";

/// Verifies the mounts.
///
/// # Errors
///
/// `Moved` when a path holds something else.
pub(super) async fn hold(remote: &RemoteSandbox, all: &[(VirtualPath, Expected)]) -> Result<()> {
    for some in all.chunks(AT_A_TIME) {
        let words = [PROGRAM, "file-ids"].into_iter().chain(some.iter().map(|(at, _)| at.as_str()));
        let look = ExecuteRequest {
            command: Command::Program(words.map(str::to_owned).collect()),
            directory: Some(VirtualPath::root()),
            ..ExecuteRequest::shell("")
        };
        let done = remote.execute(&look).await?;
        let said = done.output.text();
        let lines: Vec<&str> = said.lines().collect();
        if done.exit_code() != 0 || lines.len() != some.len() {
            let sentence = format!("cannot verify the mounts of the container: {}", shown(&said));
            return Err(Error::new(ErrorKind::Io, sentence));
        }
        for ((at, expected), line) in some.iter().zip(lines) {
            if line != OUT_OF_REACH && !is_as_expected(*expected, number(line)) {
                return Err(exchanged(at));
            }
        }
    }
    Ok(())
}

fn is_as_expected(expected: Expected, there: Option<FileNumber>) -> bool {
    match (expected, there) {
        (Expected::This(this), Some(there)) => this == there,
        (Expected::AnythingBut(this), Some(there)) => this != there,
        (_, None) => false,
    }
}

fn number(line: &str) -> Option<FileNumber> {
    let (device, number) = line.split_once(':')?;
    Some(FileNumber { device: device.parse().ok()?, number: number.parse().ok()? })
}

fn exchanged(at: &VirtualPath) -> Error {
    let sentence =
        format!("the mount at `{at}` is not the intended one: its source was replaced while the container started");
    Error::new(ErrorKind::Moved, sentence)
        .hint("another process changes these files, perhaps a sandbox with the same directory: stop it, then try again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_compared_and_nothing_there_is_never_right() {
        let this = FileNumber { device: 1, number: 2 };
        let other = FileNumber { device: 1, number: 3 };
        for (expected, line, wanted) in [
            (Expected::This(this), "1:2", true),
            (Expected::This(this), "1:3", false),
            (Expected::This(this), "2:2", false),
            (Expected::This(this), "-", false),
            (Expected::AnythingBut(this), "1:3", true),
            (Expected::AnythingBut(other), "1:3", false),
            (Expected::AnythingBut(this), "-", false),
            (Expected::AnythingBut(this), "nonsense", false),
        ] {
            assert_eq!(is_as_expected(expected, number(line)), wanted, "{expected:?} {line}");
        }
    }
}
