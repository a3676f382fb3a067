//! The database of these tests: the file that a service keeps in its directory. `tests/postgres` has another one, for the
//! same tests.

use std::path::Path;

/// Returns the arguments by which the service of a directory finds its database.
pub(crate) fn arguments(_: &Path) -> Vec<String> {
    Vec::new()
}
