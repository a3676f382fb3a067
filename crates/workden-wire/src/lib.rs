//! The one protocol spoken to a keeper: routes over any `dyn Sandbox`, and the client of them.
//!
//! HTTP/2 over any byte stream, JSON for control and raw bodies for content.

mod calls;
mod client;
mod errors;
mod frames;
mod handshake;
mod header;
mod launch;
pub mod limits;
mod server;
pub mod tree;

pub use client::{RemoteSandbox, TreeDownload};
pub use handshake::{launch, read_launch, write_reply};
pub use launch::{Ground, Launch, Lifetime, PROTOCOL, Reply};
pub use server::{ServeOptions, TokenHash, router, serve};
