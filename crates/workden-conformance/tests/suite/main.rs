//! The suite on what workden-core has, and the suite itself: that it is whole, and that it fails.

#![expect(clippy::unwrap_used, clippy::panic, reason = "this is a test, helpers included")]

mod backends;
mod broken;
mod caught_in_files;
mod caught_in_searches;
mod failures;
mod list;
