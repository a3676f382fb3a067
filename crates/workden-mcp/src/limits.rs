//! The numbers that bound how much a client can make the server hold or do.

use std::time::Duration;

/// Calls that run at once; more wait. A call that waits for a person does not count.
pub(crate) const CALLS: usize = 64;
/// Calls of one client that run at once.
pub(crate) const CALLS_PER_CLIENT: usize = 32;
/// Kilobytes of calls that run, wait or ask. Small calls and others have this much each, so that large ones
/// cannot keep small ones out.
pub(crate) const HELD_KILOBYTES: u32 = 128 * 1024;
/// Kilobytes of one client among them.
pub(crate) const HELD_KILOBYTES_PER_CLIENT: u32 = 32 * 1024;
/// Kilobytes that a small call counts for, which bounds their number.
pub(crate) const SMALL_CALL_KILOBYTES: u32 = 16;
/// How long a call on streams waits for its bytes to be held, while nothing else is read, before it is refused.
/// Not for ever: the answer that frees bytes may come after the call on the same stream.
pub(crate) const HOLD_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of one message from a client, on a line or in a request.
pub(crate) const MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of a file that is read as a resource.
pub(crate) const RESOURCE_BYTES: u64 = 8 * 1024 * 1024;
/// Resources on one page of a listing.
pub(crate) const RESOURCES_PER_PAGE: usize = 100;
/// Resources on all pages of a listing: the newest.
pub(crate) const RESOURCES: usize = 10_000;
/// Characters of a question that a person is shown.
pub(crate) const QUESTION_CHARS: usize = 20_000;
/// Characters of a command in a question.
pub(crate) const COMMAND_CHARS: usize = 12_000;
/// Bytes of a message over HTTP that is read without a reservation.
pub(crate) const SMALL_MESSAGE_BYTES: usize = SMALL_CALL_KILOBYTES as usize * 1024;
/// Bytes of an `initialize` request over HTTP, which is kept as long as its session.
pub(crate) const INITIALIZE_BYTES: usize = 64 * 1024;
/// How long the server waits for the answer to a question.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Answers remembered as used. Answers older than all of them are not accepted.
pub(crate) const USED_ANSWERS: usize = 10_000;
/// Progress reports of one call that wait to be sent; more are dropped.
pub(crate) const PROGRESS_QUEUE: usize = 4;
/// How long a session over HTTP lives without a message: longer than a command or a person may take.
pub(crate) const SESSION_IDLE: Duration = Duration::from_secs(60 * 60);
/// Sessions over HTTP; one more ends the session that was used longest ago.
pub(crate) const SESSIONS: usize = 256;
/// Connections over HTTP.
pub(crate) const CONNECTIONS: usize = 512;
/// How long a client over HTTP has for the headers of its first request, and of the next one after an answer.
pub(crate) const HEADERS_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client over HTTP has for the body of a request.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes read ahead from a connection, headers included.
pub(crate) const CONNECTION_BYTES: usize = 64 * 1024;
/// How long calls may run on after the end of input: a client that sends requests from a file closes its end at
/// once, and still wants the answers.
pub(crate) const DRAIN_TIME: Duration = Duration::from_millis(500);
/// How long clients over HTTP have to disconnect when the server stops.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
