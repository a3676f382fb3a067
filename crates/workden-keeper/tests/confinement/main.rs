//! Walls, tried from inside: each attempt runs in a sandbox of its own making, as root and as an
//! ordinary user, and must fail in the wanted way. The attempts would do no harm if they succeeded.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod lifetime;
mod limits;
mod places;
mod run;
mod walls;
