//! The limits on the cost of a connection, in one place.
//!
//! Invariant: a slow reader delays no other call. A stream that is not read keeps its share of the connection's window,
//! so the connection's window is larger than those of all streams together.

use std::time::Duration;

/// Bytes of one JSON message that a server accepts. The largest messages are changes with their texts.
pub const MESSAGE_BYTES: usize = 64 * 1024 * 1024;
/// What a client accepts as a JSON answer. A keeper shares its sandbox with commands, which may have taken its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerLimits {
    /// The most bytes.
    pub(crate) bytes: usize,
    /// How long the answer may take, to its last byte; `None` for what the caller waits for, or streams.
    pub(crate) time: Option<Duration>,
}

/// The greeting, which needs no work.
pub(crate) const GREETING: AnswerLimits = AnswerLimits { bytes: 64 * 1024, time: Some(Duration::from_secs(20)) };
/// Facts about one file, or about the sandbox. A writer may wait for a lock, and a busy machine is slow.
pub(crate) const SHORT_ANSWER: AnswerLimits = AnswerLimits { bytes: 1024 * 1024, time: Some(Duration::from_secs(120)) };
/// A short answer after work on the disk that may take long: large files, and trees.
pub(crate) const ANSWER_AFTER_WORK: AnswerLimits =
    AnswerLimits { time: Some(Duration::from_secs(1800)), ..SHORT_ANSWER };
/// A part of a file.
pub(crate) const TEXT_ANSWER: AnswerLimits =
    AnswerLimits { bytes: 64 * 1024 * 1024, time: Some(Duration::from_secs(600)) };
/// Searches that keep the most results. The keeper ends them after their own deadline.
pub(crate) const SEARCH_ANSWER: AnswerLimits =
    AnswerLimits { bytes: 512 * 1024 * 1024, time: Some(Duration::from_secs(600)) };
/// The output of a command, after its end.
pub(crate) const ANSWER_OF_COMMAND: AnswerLimits = AnswerLimits { bytes: 64 * 1024 * 1024, time: None };
/// Characters of an error that a client shows.
pub(crate) const ERROR_CHARACTERS: usize = 16_000;
/// Bytes of the headers of one call: a call whose body is content has its arguments in a header.
pub const HEADER_BYTES: u32 = 256 * 1024;
/// Bytes of the arguments that a client puts into a header.
pub const ARGUMENT_BYTES: usize = 192 * 1024;
/// Bytes of the largest content that is gathered in memory; larger content is streamed.
pub const WHOLE_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of all contents that are gathered in memory at a time; further content is streamed.
pub const GATHERED_BYTES: u64 = 32 * 1024 * 1024;
/// Calls that may be open at a time on one connection: every command of a sandbox may have one for its output and one
/// for its input, which leaves about as many for other calls.
pub const OPEN_CALLS: u32 = 1_000;
/// Bytes of one answer that the server may send before the client has to read. An exhausted window costs a round trip,
/// and this size makes that cost negligible for 8 MiB.
pub const CLIENT_WINDOW: u32 = 2 * 1024 * 1024;
/// Bytes of one call that the client may send before the server has to read: a keeper should need little memory.
pub const SERVER_WINDOW: u32 = 1024 * 1024;
/// Bytes of all calls of a connection in flight: the most that the protocol allows, and more than all streams together.
pub const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// Bytes of one frame of HTTP/2.
pub const FRAME_BYTES: u32 = 64 * 1024;
/// Bytes of one control frame in the output of a process.
pub const CONTROL_FRAME_BYTES: usize = 1024 * 1024;
/// Bytes of the line with which a keeper is launched, and of its reply.
pub const LAUNCH_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of one message of a WebSocket that carries the protocol. A connection costs as much before it is authenticated.
pub const WEBSOCKET_BYTES: usize = 64 * 1024;
/// Bytes of the files of one tree.
pub const TREE_BYTES: u64 = 16 * 1024 * 1024 * 1024;
/// Files and directories of one tree.
pub const TREE_ENTRIES: u64 = 1_000_000;
/// Bytes of a record in an archive that describes the next entry, like a long name.
pub const TREE_RECORD_BYTES: u64 = 1024 * 1024;
/// Bytes of a file that are read or held at a time while packing or unpacking an archive.
pub const TREE_PIECE_BYTES: u64 = 256 * 1024;

const _: () = assert!(OPEN_CALLS as u64 * CLIENT_WINDOW as u64 <= CONNECTION_WINDOW as u64);
const _: () = assert!(OPEN_CALLS as u64 * SERVER_WINDOW as u64 <= CONNECTION_WINDOW as u64);
