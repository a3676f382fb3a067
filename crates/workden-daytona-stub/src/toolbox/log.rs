//! `CommandLog`: the output of a session command as it comes, and its end.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use workden_core::sandbox::Stream;

/// How long the output of an ended command may take to arrive. Only a background process that keeps the output open
/// makes a command wait for this.
const DRAIN: Duration = Duration::from_secs(2);

/// The exit code of a killed command.
const KILLED: i32 = 128 + 9;

/// What stands before bytes of standard output and of standard error in a log.
const MARKS: [(Stream, &[u8]); 2] = [(Stream::Output, &[1, 1, 1]), (Stream::Error, &[2, 2, 2])];

/// The log of one command.
#[derive(Debug)]
pub(super) struct CommandLog(watch::Sender<LogState>);

#[derive(Clone, Debug, Default)]
pub(super) struct LogState {
    pieces: Vec<(Stream, Bytes)>,
    /// All output has arrived.
    drained: bool,
    pub(super) exit_code: Option<i32>,
}

impl CommandLog {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(LogState::default()))
    }

    pub(super) fn add(&self, stream: Stream, bytes: Bytes) {
        self.0.send_modify(|state| state.pieces.push((stream, bytes)));
    }

    pub(super) fn drained(&self) {
        self.0.send_modify(|state| state.drained = true);
    }

    /// Sets the exit code once the output has arrived, so that a client that sees the code has all of it.
    pub(super) async fn end(&self, code: i32) {
        let mut changes = self.0.subscribe();
        let _ = tokio::time::timeout(DRAIN, changes.wait_for(|state| state.drained)).await;
        self.0.send_modify(|state| {
            state.exit_code.get_or_insert(code);
        });
    }

    /// Ends a command that was killed with its session.
    pub(super) fn killed(&self) {
        self.0.send_modify(|state| {
            state.drained = true;
            state.exit_code.get_or_insert(KILLED);
        });
    }

    pub(super) fn state(&self) -> LogState {
        self.0.borrow().clone()
    }

    /// Waits for the end of the command.
    pub(super) async fn ended(&self) -> LogState {
        let mut changes = self.0.subscribe();
        match changes.wait_for(|state| state.exit_code.is_some()).await {
            Ok(state) => state.clone(),
            Err(_) => self.state(),
        }
    }

    /// Waits until there are more pieces than `seen`, or the command has ended. Returns the new pieces with their
    /// marks, and `None` after the last.
    pub(super) async fn marked_after(&self, seen: &mut usize) -> Option<Vec<u8>> {
        let mut changes = self.0.subscribe();
        let state = changes.wait_for(|state| state.pieces.len() > *seen || state.exit_code.is_some()).await.ok()?;
        let new = state.pieces.get(*seen..).filter(|new| !new.is_empty())?;
        *seen = state.pieces.len();
        Some(new.iter().flat_map(|(stream, bytes)| marked(*stream, bytes)).collect())
    }
}

impl LogState {
    pub(super) fn text(&self, of: Option<Stream>) -> String {
        let pieces = self.pieces.iter().filter(|(stream, _)| of.is_none_or(|of| of == *stream));
        let bytes: Vec<u8> = pieces.flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn marked(stream: Stream, bytes: &[u8]) -> Vec<u8> {
    let mark = MARKS.iter().find(|(of, _)| *of == stream).map(|(_, mark)| *mark).unwrap_or_default();
    [mark, bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_come_with_marks_until_the_command_ends() {
        let log = CommandLog::new();
        log.add(Stream::Output, Bytes::from_static(b"a"));
        log.add(Stream::Error, Bytes::from_static(b"b"));
        let mut seen = 0;
        assert_eq!(log.marked_after(&mut seen).await.unwrap(), b"\x01\x01\x01a\x02\x02\x02b");
        log.drained();
        log.end(3).await;
        assert_eq!(log.marked_after(&mut seen).await, None);
        let state = log.ended().await;
        assert_eq!(
            (state.text(None), state.text(Some(Stream::Error)), state.exit_code),
            ("ab".into(), "b".into(), Some(3))
        );
    }
}
