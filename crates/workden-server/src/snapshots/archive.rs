//! The files of a sandbox as a tar archive, made and unpacked by the `tar` in the sandbox: it keeps links, modes and
//! attributes, and a hostile archive meets the walls of the sandbox that it came from.
//!
//! Invariant: an archive flows. Neither side holds more than a piece of it.

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream::BoxStream};
use workden::{Error, ErrorKind, Result, Sandbox, VirtualPath};
use workden_core::sandbox::{Command, Ended, Process, ProcessEvent, ProcessEvents, SpawnRequest, Stream as Source};

/// GNU tar keeps extended attributes on request; busybox has no option for it. More options of GNU tar follow.
const PACK: &str = r#"cd "$0" || exit 2
case $(tar --version 2>/dev/null) in
    *GNU*) exec tar --xattrs --xattrs-include='user.*' "$@" -cf - . ;;
    *) exec tar -cf - . ;;
esac"#;
/// The directory itself belongs to the sandbox, and stays as it is.
const UNPACK: &str = r#"cd "$0" || exit 2
case $(tar --version 2>/dev/null) in
    *GNU*) exec tar --xattrs --xattrs-include='user.*' --no-overwrite-dir -xpf - ;;
    *) exec tar -xpf - ;;
esac"#;
/// What `tar` says of files that commands change meanwhile. The archive has them as they were when it came to them.
const OF_CHANGES: [&str; 3] = ["file changed as we read it", "File removed before we read it", "padding with zeros"];
/// The most bytes of complaints that are kept.
const COMPLAINTS: usize = 4096;

/// What becomes of files that commands of the sandbox may not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// The copy fails: it would not be whole.
    Fails,
    /// The copy is without them: a policy hides them from commands.
    LeftOut,
}

/// Returns the files below a directory of a sandbox as an archive. An error comes last, in place of its end.
pub(super) async fn pack(
    sandbox: &dyn Sandbox,
    directory: &VirtualPath,
    unreadable: Unreadable,
) -> Result<BoxStream<'static, Result<Bytes>>> {
    let options: &[&str] = if unreadable == Unreadable::LeftOut { &["--ignore-failed-read"] } else { &[] };
    let Process { events, control, .. } = sandbox.spawn(&request(PACK, directory, options)).await?;
    // The control stays as long as the events do.
    let state = (events, control, Complaints::default());
    let pieces = futures_util::stream::try_unfold(state, |(mut events, control, mut complaints)| async move {
        loop {
            match next(&mut events).await? {
                ProcessEvent::Printed(Source::Output, bytes) => {
                    return Ok(Some((bytes, (events, control, complaints))));
                }
                ProcessEvent::Printed(Source::Error, bytes) => complaints.add(&bytes),
                ProcessEvent::LimitHit(_) => {}
                ProcessEvent::Ended(ended) if complaints.are_of_changes(ended) => return Ok(None),
                ProcessEvent::Ended(ended) => return Err(complaints.failure("cannot copy the files", ended)),
            }
        }
    });
    Ok(pieces.boxed())
}

/// Unpacks an archive into a directory of a sandbox.
pub(super) async fn unpack(
    sandbox: &dyn Sandbox,
    directory: &VirtualPath,
    mut pieces: impl Stream<Item = Result<Bytes>> + Unpin,
) -> Result<()> {
    let Process { mut events, control, .. } = sandbox.spawn(&request(UNPACK, directory, &[])).await?;
    let writing = async {
        while let Some(piece) = pieces.try_next().await? {
            // A `tar` that has ended has read the end of the archive, or says below why it failed.
            if control.write(piece).await.is_err() {
                return Ok(());
            }
        }
        drop(control.close_input().await);
        Ok(())
    };
    let reading = async {
        let mut complaints = Complaints::default();
        loop {
            match next(&mut events).await? {
                ProcessEvent::Printed(_, bytes) => complaints.add(&bytes),
                ProcessEvent::LimitHit(_) => {}
                ProcessEvent::Ended(ended) if ended.exit_code() == 0 => return Ok(()),
                ProcessEvent::Ended(ended) => return Err(complaints.failure("cannot unpack the files", ended)),
            }
        }
    };
    // An archive that breaks off must not look like its end: the error drops the process before it sees one.
    tokio::try_join!(writing, reading).map(drop)
}

fn request(script: &str, directory: &VirtualPath, options: &[&str]) -> SpawnRequest {
    let words = ["sh", "-c", script, directory.as_str()];
    let words = words.iter().chain(options).map(|word| (*word).to_owned()).collect();
    // Its complaints are read below, and the variables of the session must not change what it does.
    SpawnRequest::piped(Command::Program(words)).environment([("LC_ALL", "C"), ("TAR_OPTIONS", "")])
}

async fn next(events: &mut ProcessEvents) -> Result<ProcessEvent> {
    events.next().await.unwrap_or_else(|| Err(Error::new(ErrorKind::Gone, "the sandbox has ended")))
}

/// What `tar` printed to standard error.
#[derive(Default)]
struct Complaints(Vec<u8>);

impl Complaints {
    fn add(&mut self, bytes: &[u8]) {
        let room = COMPLAINTS.saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Whether the archive is whole, but for files that changed while it was made.
    fn are_of_changes(&self, ended: Ended) -> bool {
        let text = String::from_utf8_lossy(&self.0);
        let mut lines = text.lines();
        match ended.exit_code() {
            0 => true,
            1 => self.0.len() < COMPLAINTS && lines.all(|line| OF_CHANGES.iter().any(|known| line.ends_with(known))),
            _ => false,
        }
    }

    fn failure(&self, what: &str, ended: Ended) -> Error {
        let code = ended.exit_code();
        if code == 127 {
            return Error::new(ErrorKind::Unsupported, format!("{what}: the sandbox has no program `tar`"))
                .hint("use a runtime that has one");
        }
        let text = String::from_utf8_lossy(&self.0);
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        Error::new(ErrorKind::Io, format!("{what}: `tar` ended with {code}: {}", first.escape_debug()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_of_files_that_change_is_whole() {
        let are_of_changes = |text: &str, code| {
            let mut complaints = Complaints::default();
            complaints.add(text.as_bytes());
            complaints.are_of_changes(Ended::Exited(code))
        };
        assert!(are_of_changes("", 0) && are_of_changes("tar: removed leading `/'", 0));
        assert!(are_of_changes("tar: ./a: file changed as we read it\n", 1));
        assert!(are_of_changes("tar: ./a: File removed before we read it\n", 1));
        assert!(!are_of_changes("tar: ./a: Cannot open: Permission denied\n", 2));
        assert!(!are_of_changes("tar: ./a: file changed as we read it\ntar: ./b: Cannot open\n", 1));
        // What did not fit may be anything.
        assert!(!are_of_changes(&"tar: ./a: file changed as we read it\n".repeat(200), 1));
    }
}
