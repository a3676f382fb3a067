//! The conformance suite over a keeper: in this process, at the other end of a pipe, and spoiled on
//! purpose, so that the checks are seen to fail.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod broken;
mod caught;
mod conforms;
mod host;
