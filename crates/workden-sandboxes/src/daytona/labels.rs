//! The labels of workden's sandboxes at Daytona.

/// Unique for each creation, so that a sandbox whose creation was not answered is found again.
pub(super) const CREATION: &str = "workden.dev/creation";
/// Whose sessions it belongs to.
pub(super) const OWNER: &str = "workden.dev/owner";
/// The session that it belongs to.
pub(super) const SESSION: &str = "workden.dev/session";
