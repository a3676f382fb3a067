//! Verifies from inside the container, before any other client connects, that the mounts are the intended ones.
//!
//! The daemon resolves names when the container starts. A process that can write to one of the directories, for
//! example a command of another container, can insert a link between our check and the mount.

use workden_core::{Error, ErrorKind, Result, Sandbox, VirtualPath, sandbox::ExecuteRequest};
use workden_wire::RemoteSandbox;

use super::{
    errors::shown,
    keeper_volume::PROGRAM,
    protected_paths::{Expected, FileNumber},
    same_file,
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
        let look = ExecuteRequest::program(words).directory(VirtualPath::root());
        let done = remote.execute(&look).await?;
        let said = done.output.text();
        let lines: Vec<&str> = said.lines().collect();
        if done.exit_code() != 0 || lines.len() != some.len() {
            let sentence = format!("cannot verify the mounts of the container: {}", shown(&said));
            return Err(Error::new(ErrorKind::Io, sentence));
        }
        for ((at, expected), line) in some.iter().zip(lines) {
            let holds = line == OUT_OF_REACH
                || match (expected, Seen::parse(line)) {
                    (_, None) => false,
                    (Expected::Nothing { over }, Some(seen)) => seen.is_empty && seen.number != *over,
                    // Other numbers are another file, or those of a virtual machine.
                    (Expected::This(file), Some(seen)) => {
                        seen.number == file.number || same_file::is_same(remote, at, file).await?
                    }
                };
            if !holds {
                return Err(exchanged(at));
            }
        }
    }
    Ok(())
}

/// What the keeper sees at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    number: FileNumber,
    is_empty: bool,
}

impl Seen {
    fn parse(line: &str) -> Option<Self> {
        let (number, content) = line.rsplit_once(':')?;
        let (device, number) = number.split_once(':')?;
        let is_empty = match content {
            "empty" => true,
            "full" => false,
            _ => return None,
        };
        Some(Self { number: FileNumber { device: device.parse().ok()?, number: number.parse().ok()? }, is_empty })
    }
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
    fn an_answer_is_a_number_and_a_word() {
        let number = FileNumber { device: 1, number: 2 };
        for (line, expected) in [
            ("1:2:full", Some(Seen { number, is_empty: false })),
            ("1:2:empty", Some(Seen { number, is_empty: true })),
            ("1:2", None),
            ("1:2:other", None),
            ("-", None),
            ("nonsense", None),
        ] {
            assert_eq!(Seen::parse(line), expected, "{line}");
        }
    }
}
