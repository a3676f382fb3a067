//! The numbers that bound what a client can make the server hold or do.

use std::time::Duration;

/// Calls that are carried out at a time; more of them wait.
pub(crate) const CALLS: usize = 64;
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
/// How long an answer to a question is waited for, where the client brings it back by itself.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(15 * 60);
/// Answers that are remembered as used until they would have expired anyway.
pub(crate) const USED_ANSWERS: usize = 10_000;
/// News of one call that wait to be sent; more are dropped, the next says as much.
pub(crate) const NEWS: usize = 4;
/// How long a session over HTTP lives without a message: longer than a command or a person may take.
pub(crate) const SESSION_IDLE: Duration = Duration::from_secs(60 * 60);
/// How long clients over HTTP have to go when the server stops.
pub(crate) const GOING: Duration = Duration::from_secs(5);
