//! Whether what a container has mounted is what was meant, looked at from inside before anybody else is let in.
//!
//! A daemon is told names, and follows them when the container starts. Whoever can write to one of the directories
//! (a command of another container, say) can put a link to anywhere into the way between the look and the mount.

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

/// Places that are looked at with one command.
const AT_A_TIME: usize = 200;

/// What is said of a place that the keeper may not look at. Commands are the same user, and may not either.
const OUT_OF_REACH: &str = "?";

/// Looks at what must be there.
///
/// # Errors
///
/// `Moved` when something else is.
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
            let sentence = format!("the keeper does not say what is mounted in its container: {}", shown(&said));
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
        format!("what is mounted at `{at}` is not what was meant: it was exchanged while the container started");
    Error::new(ErrorKind::Moved, sentence).hint(
        "something else changes these files, another sandbox with the same directory perhaps: end it, and try again",
    )
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
