//! The suite on what workden-core has, and the suite itself: that it is whole, and that it fails.

mod backends;
mod list;
