//! The wire from end to end: a client, a byte stream, and a server over a sandbox.

mod conforms;
mod pipes;
mod scripted;
