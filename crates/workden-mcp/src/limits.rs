//! The numbers that bound what a client can make the server hold or do.

use std::time::Duration;

/// Calls that are carried out at a time; more of them wait. One that waits for a person is not counted.
pub(crate) const CALLS: usize = 64;
/// Calls of one client that are carried out at a time.
pub(crate) const CALLS_OF_ONE: usize = 32;
/// Kilobytes of calls that are carried out, wait, or ask: so many of small ones, and so many of others, which
/// thus cannot keep small ones out.
pub(crate) const HELD_KILOBYTES: u32 = 128 * 1024;
/// Kilobytes of them of one client.
pub(crate) const HELD_KILOBYTES_OF_ONE: u32 = 32 * 1024;
/// Kilobytes of a small call, which it counts for at least, so that there are not too many of them.
pub(crate) const CALL_KILOBYTES: u32 = 16;
/// How long a client on streams waits for room for a call, and is not read from, before the call is refused.
/// Not for ever: what makes room may be an answer that it has sent behind the call.
pub(crate) const ROOM_TIME: Duration = Duration::from_secs(5);
/// Bytes of one message from a client, on a line or in a request.
pub(crate) const MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of a file that is read as a resource.
pub(crate) const RESOURCE_BYTES: u64 = 8 * 1024 * 1024;
/// Resources on one page of a listing.
pub(crate) const PAGE: usize = 100;
/// Resources that a listing comes to, over all its pages: the newest.
pub(crate) const LISTED: usize = 10_000;
/// Characters of a question that a person is shown.
pub(crate) const QUESTION_CHARS: usize = 20_000;
/// Bytes of a message over HTTP for which no room is asked before it is read.
pub(crate) const SMALL_BYTES: usize = CALL_KILOBYTES as usize * 1024;
/// Bytes of the message that begins a session over HTTP: it is kept for as long as the session.
pub(crate) const BEGINNING_BYTES: usize = 64 * 1024;
/// How long an answer to a question is waited for.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(15 * 60);
/// Answers that are remembered as used; what is older than all of them does not count any more.
pub(crate) const USED_ANSWERS: usize = 10_000;
/// News of one call that wait to be sent; more are dropped, the next says as much.
pub(crate) const NEWS: usize = 4;
/// How long a session over HTTP lives without a message: longer than a command or a person may take.
pub(crate) const SESSION_IDLE: Duration = Duration::from_secs(60 * 60);
/// Sessions over HTTP; with one more, the one that was used longest ago ends.
pub(crate) const SESSIONS: usize = 256;
/// Connections over HTTP.
pub(crate) const CONNECTIONS: usize = 512;
/// How long a client over HTTP has for the headers of its first request, and of the next one after an answer.
pub(crate) const HEADERS_TIME: Duration = Duration::from_secs(30);
/// How long a client over HTTP has for the body of a request.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(60);
/// Bytes that are read of a connection ahead of time, headers included.
pub(crate) const CONNECTION_BYTES: usize = 64 * 1024;
/// How long calls have to end by themselves after the end of input: who sends requests from a file closes its
/// end at once, and still wants the answers.
pub(crate) const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// How long clients over HTTP have to go when the server stops.
pub(crate) const GOING: Duration = Duration::from_secs(5);
