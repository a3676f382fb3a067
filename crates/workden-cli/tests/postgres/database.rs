//! The database of these tests: each directory of a service has one in the server that they share.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
    path::Path,
    sync::OnceLock,
};

use crate::server::Postgres;

/// Returns the arguments by which the service of a directory finds its database.
pub(crate) fn arguments(state: &Path) -> Vec<String> {
    static SHARED: OnceLock<Postgres> = OnceLock::new();
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    let url = SHARED.get_or_init(Postgres::start).database(&format!("state_{:x}", hasher.finish()));
    vec!["--database".to_owned(), url]
}
