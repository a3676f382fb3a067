//! The wire from end to end: a client, a byte stream, and a server over a sandbox.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "this is a test, helpers included")]

mod archives;
mod bodies;
mod breaking;
mod cancelling;
mod commands;
mod conforms;
mod errors;
mod greeting;
mod heartbeat;
mod hostile;
mod hostile_keeper;
mod many;
mod names;
mod pipes;
mod ports;
mod pressure;
mod round_trips;
mod scripted;
mod trees;
mod watching;
