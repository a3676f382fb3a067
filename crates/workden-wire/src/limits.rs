//! The numbers that bound what a connection may cost, in one place.
//!
//! Invariant: a slow reader holds up no other call. A stream that is not read keeps its window of
//! the connection's, so that the connection's is larger than those of all streams together.

/// Bytes of one JSON message that a server takes. The largest are changes that carry their texts.
pub const MESSAGE_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of one JSON answer that a client takes. The largest are searches that keep all they may.
pub const ANSWER_BYTES: usize = 512 * 1024 * 1024;
/// Bytes of the headers of one call: the arguments of calls whose body is content are in one.
pub const HEADER_BYTES: u32 = 256 * 1024;
/// Bytes of the arguments that a client puts into a header.
pub const ARGUMENT_BYTES: usize = 192 * 1024;
/// Bytes of a content that is gathered in memory; a larger one is handed on as it comes.
pub const WHOLE_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of all contents that are gathered in memory at a time; beyond that, they are handed on.
pub const GATHERED_BYTES: u64 = 32 * 1024 * 1024;
/// Calls that are open at a time on one connection: every command that a sandbox runs may have one
/// for its output and one for its input, and there is room for about as many others.
pub const OPEN_CALLS: u32 = 1_000;
/// Bytes of one answer that are on their way before the client has to read. A window that is used up
/// costs a round trip, and this is what it takes for 8 MiB not to notice.
pub const CLIENT_WINDOW: u32 = 2 * 1024 * 1024;
/// Bytes of one call that are on their way before the server has to read: a keeper lives in little
/// memory.
pub const SERVER_WINDOW: u32 = 1024 * 1024;
/// Bytes of all calls of a connection that are on their way: the most that the protocol has, and
/// more than all streams together.
pub const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// Bytes of one frame of HTTP/2.
pub const FRAME_BYTES: u32 = 64 * 1024;
/// Bytes of one control frame in the output of a process.
pub const CONTROL_FRAME_BYTES: usize = 1024 * 1024;
/// Bytes of the line with which a keeper is launched, and of its reply.
pub const LAUNCH_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of the files of one tree.
pub const TREE_BYTES: u64 = 16 * 1024 * 1024 * 1024;
/// Files and directories of one tree.
pub const TREE_ENTRIES: u64 = 1_000_000;
/// Bytes of a record in an archive that says something of the next entry, like a long name.
pub const TREE_RECORD_BYTES: u64 = 1024 * 1024;
/// Bytes of a file that are read or held at a time on the way into or out of an archive.
pub const TREE_PIECE_BYTES: u64 = 256 * 1024;

const _: () = assert!(OPEN_CALLS as u64 * CLIENT_WINDOW as u64 <= CONNECTION_WINDOW as u64);
const _: () = assert!(OPEN_CALLS as u64 * SERVER_WINDOW as u64 <= CONNECTION_WINDOW as u64);
