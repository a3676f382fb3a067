//! `Comparisons`: how many comparisons run at a time. Each reads all files of a session.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use workden::{Error, ErrorKind, Result};

/// Comparisons of one tenant at a time, so that none waits for another's.
const OF_A_TENANT: usize = 2;
/// How long a comparison waits for its turn.
const PATIENCE: Duration = Duration::from_secs(15);

/// The turns of tenants. Tenants come from the database, so their number is bounded.
#[derive(Debug, Default)]
pub(crate) struct Comparisons(Mutex<HashMap<String, Arc<Semaphore>>>);

impl Comparisons {
    /// Waits for a turn, which lasts until the value is dropped.
    pub(super) async fn turn(&self, tenant: &str) -> Result<OwnedSemaphorePermit> {
        let turns = {
            let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(tenants.entry(tenant.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(OF_A_TENANT))))
        };
        match timeout(PATIENCE, turns.acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Error::new(ErrorKind::Busy, format!("{OF_A_TENANT} comparisons of the tenant are running"))
                .hint("retry when they are done")),
        }
    }
}
