//! Sessions: named sandboxes that are made once, used again, and ended when nobody uses them.
//!
//! A [`SandboxFactory`] knows how to make, find and remove the sandboxes of sessions; what a session is, when
//! it is made and when it ends, is decided above it.

mod factory;
mod id;

pub use factory::{Found, Order, Placed, SandboxFactory};
pub use id::SessionId;
