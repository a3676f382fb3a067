//! Verifies from inside the container, before any other client connects, that the mounts are the intended ones.
//!
//! The daemon resolves names when the container starts. A process that can write to one of the directories, for
//! example a command of another container, can insert a link between our check and the mount.

use workden_core::{
    Error, ErrorKind, Result, Sandbox, VirtualPath,
    sandbox::{ExecuteRequest, InodeId},
};
use workden_wire::RemoteSandbox;

use super::{errors::shown, keeper_volume::PROGRAM, protected_paths::Expected, same_file};

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
        let mut lines = said.lines();
        let is_this_kernel = lines.next().is_some_and(|boot| !boot.is_empty() && boot_id().as_deref() == Some(boot));
        let lines: Vec<&str> = lines.collect();
        if done.exit_code() != 0 || lines.len() != some.len() {
            let sentence = format!("cannot verify the mounts of the container: {}", shown(&said));
            return Err(Error::new(ErrorKind::Io, sentence));
        }
        for ((at, expected), line) in some.iter().zip(lines) {
            let holds = line == OUT_OF_REACH
                || match (expected, Seen::parse(line)) {
                    (_, None) => false,
                    (Expected::Nothing { over }, Some(seen)) => seen.is_empty && !(is_this_kernel && seen.id == *over),
                    // Other numbers are another file, or those of another file system over the same one. Equal numbers
                    // of another kernel are a coincidence.
                    (Expected::This(file), Some(seen)) => {
                        (is_this_kernel && seen.id == file.id) || same_file::is_same(remote, at, file).await?
                    }
                };
            if !holds {
                return Err(exchanged(at));
            }
        }
    }
    Ok(())
}

/// Identifies the running kernel of this machine.
fn boot_id() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

/// What the keeper sees at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    id: InodeId,
    is_empty: bool,
}

impl Seen {
    fn parse(line: &str) -> Option<Self> {
        let (id, content) = line.rsplit_once(':')?;
        let (device, inode) = id.split_once(':')?;
        let is_empty = match content {
            "empty" => true,
            "full" => false,
            _ => return None,
        };
        Some(Self { id: InodeId { device: device.parse().ok()?, inode: inode.parse().ok()? }, is_empty })
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
        let id = InodeId { device: 1, inode: 2 };
        for (line, expected) in [
            ("1:2:full", Some(Seen { id, is_empty: false })),
            ("1:2:empty", Some(Seen { id, is_empty: true })),
            ("1:2", None),
            ("1:2:other", None),
            ("-", None),
            ("nonsense", None),
        ] {
            assert_eq!(Seen::parse(line), expected, "{line}");
        }
    }
}
