//! The examples of the guide, compiled and run with the other doctests.

#[doc = include_str!("../../../docs/mcp.md")]
mod guide {}
