//! What the backends of this crate do that the conformance suite cannot ask of every backend:
//! links, special files, modes, full disks, mount tables.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod bad_input;
mod composite;
mod conformance;
mod guarded;
mod hostile;
mod left_out;
mod links;
mod local;
mod special_files;
mod transfers;
mod writes;
