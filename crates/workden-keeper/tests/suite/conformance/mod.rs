//! The conformance suite over a keeper: in this process, at the other end of a pipe, and broken on purpose, so
//! that the checks are seen to fail.

mod broken;
mod caught;
mod conforms;
mod host;
