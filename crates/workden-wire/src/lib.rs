//! The one protocol spoken to a keeper: routes over any `dyn Sandbox`, and the client of them.
//!
//! HTTP/2 over any byte stream, JSON for control and raw bodies for content.

mod launch;

pub use launch::{Ground, Launch, Lifetime, PROTOCOL, Reply};
