//! The one protocol for keepers: routes over any `dyn Sandbox`, and their client.
//!
//! The protocol is HTTP/2 over any byte stream, with JSON for control and raw bodies for content. [`serve`] answers the
//! calls at one end of a stream; [`RemoteSandbox`] is a `Sandbox` that makes them at the other.
//!
//! ```
//! use std::sync::Arc;
//! use workden_core::{Result, Sandbox, sandbox::ExecuteRequest};
//! use workden_wire::{RemoteSandbox, ServeOptions, TokenHash, serve};
//!
//! async fn there_and_back(sandbox: Arc<dyn Sandbox>) -> Result<()> {
//!     let (near, far) = tokio::io::duplex(64 * 1024);
//!     tokio::spawn(serve(sandbox, far, ServeOptions::default().token(TokenHash::of("secret"))));
//!     let remote = RemoteSandbox::connect(near, Some("secret")).await?;
//!     let done = remote.execute(&ExecuteRequest::shell("make test")).await?;
//!     assert_eq!(done.exit_code(), 0);
//!     Ok(())
//! }
//! ```
//!
//! # The protocol
//!
//! - `POST /hello` answers the version ([`PROTOCOL`]), the working directory and the isolation. It is the same in all
//!   versions. Every other path starts with `/v1/`.
//! - A call with JSON in both directions is `POST /v1/<method>`, with the arguments of the method as an object. `read`
//!   answers the bytes as the body and `workden-answer` as a header.
//! - A call that sends content is `PUT` (`/v1/write`, `/v1/process/input`, `/v1/tree`): the content is the body, the
//!   arguments are JSON in the header `workden-arguments`, in visible ASCII.
//! - `GET /v1/tree` answers a tar archive; its outcome is in a trailer, `workden-answer` or `workden-error`.
//! - `POST /v1/spawn` answers the output of a process as frames: a byte for the kind, four for the length (big endian),
//!   the payload. 0 is the first frame (JSON: `process`, `pid`), 1 is standard output, 2 standard error, 3 how the
//!   process ended (JSON), 4 an error (JSON), 5 a limit that the process hit (JSON); 3 and 4 are the last frames.
//! - `PUT /v1/connect` is a connection to a port: the body is what the client sends, and the answer's body is what the
//!   server in the sandbox sends. The answer comes as soon as the connection is open.
//! - `POST /v1/watch` answers the events of a directory, a line of JSON each: an event, or the error that ends them.
//! - An error is a status and JSON: kind, sentence, hint, refusal. The kind counts, not the status.
//! - A client with a token sends it with every call, as `authorization: Bearer <token>`.
//!
//! A client that resets a stream gives up the call, and the server drops it. Flow control is that of HTTP/2, stream by
//! stream: a client that does not read a stream delays only that stream. The numbers are in [`limits`].
//!
//! Before that, a keeper gets its configuration, in one line each way: [`launch`], [`read_launch`] and [`write_reply`].

#![forbid(unsafe_code)]

mod calls;
mod challenge;
mod client;
mod errors;
mod frames;
mod handshake;
mod header;
mod launch;
pub mod limits;
mod message_stream;
mod secret;
mod server;
pub mod tree;

pub use challenge::{answer_challenge, challenge};
pub use client::{RemoteSandbox, TreeDownload};
pub use handshake::{launch, read_launch, write_reply};
pub use launch::{Launch, LaunchTarget, Lifetime, PROTOCOL, PodAccess, PortAccess, Reply};
pub use message_stream::{MessageStream, websocket_answer, websocket_request};
pub use secret::SharedSecret;
pub use server::{ServeOptions, TokenHash, router, serve};
