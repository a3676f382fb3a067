//! What all routes share: the options, the sandboxes, the faults, the record of requests, and the counters.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde::Serialize;
use tempfile::TempDir;
use workden_core::{Error, ErrorKind, Result};
use workden_sandboxes::KeeperProgram;

use crate::{control::Record, faults::Faults, requests::Requests};

/// The key that the stub accepts by default.
pub const API_KEY: &str = "dtn_stub_key";

/// The options of a [`Stub`](crate::Stub).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StubOptions {
    /// The keeper program of the sandboxes.
    pub keeper: KeeperProgram,
    /// The port to listen on, on loopback; 0 for any.
    pub port: u16,
    /// The only key that is accepted.
    pub api_key: String,
    /// How long a sandbox stays in `creating` or `starting`, in addition to the start itself.
    pub start_delay: Duration,
    /// How long a sandbox stays in `stopping`, `archiving` and `destroying`, in addition to the change itself.
    pub change_delay: Duration,
    /// Where sandboxes have their files; a new temporary directory by default.
    pub directory: Option<PathBuf>,
}

impl StubOptions {
    /// Creates options with this keeper, the default key and no delays.
    #[must_use]
    pub fn new(keeper: KeeperProgram) -> Self {
        Self {
            keeper,
            port: 0,
            api_key: API_KEY.to_owned(),
            start_delay: Duration::ZERO,
            change_delay: Duration::ZERO,
            directory: None,
        }
    }
}

/// How many sandboxes there are and were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counters {
    /// Sandboxes that were ever created.
    pub created: usize,
    /// Sandboxes that the control plane knows, in any state: what a client has not deleted.
    pub known: usize,
    /// Sandboxes in which commands can run.
    pub running: usize,
}

/// The state behind all routes.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: StubOptions,
    /// The address, without a path.
    pub(crate) origin: String,
    pub(crate) faults: Faults,
    pub(crate) requests: Requests,
    pub(crate) created: AtomicUsize,
    records: Mutex<Vec<Arc<Record>>>,
    /// Directories of volumes, by their ids.
    volumes: Mutex<BTreeMap<String, PathBuf>>,
    files: TempDir,
}

impl Shared {
    pub(crate) fn new(options: StubOptions, origin: String) -> Result<Self> {
        let files = match &options.directory {
            Some(directory) => TempDir::new_in(directory),
            None => TempDir::new(),
        };
        let files = files.map_err(|error| {
            Error::new(ErrorKind::Io, "cannot create a directory for the files of sandboxes").with_source(error)
        })?;
        Ok(Self {
            options,
            origin,
            faults: Faults::default(),
            requests: Requests::default(),
            created: AtomicUsize::new(0),
            records: Mutex::default(),
            volumes: Mutex::default(),
            files,
        })
    }

    pub(crate) fn records(&self) -> MutexGuard<'_, Vec<Arc<Record>>> {
        locked(&self.records)
    }

    pub(crate) fn record(&self, id_or_name: &str) -> Option<Arc<Record>> {
        let records = self.records();
        let by_id = records.iter().find(|record| record.id == id_or_name);
        by_id.or_else(|| records.iter().find(|record| record.name == id_or_name)).cloned()
    }

    /// Creates a directory of the host for files of sandboxes.
    pub(crate) fn directory(&self, name: &str) -> Result<PathBuf> {
        let directory = self.files.path().join(name);
        match std::fs::create_dir_all(&directory) {
            Ok(()) => Ok(directory),
            Err(error) => Err(Error::new(ErrorKind::Io, "cannot create a directory of a sandbox").with_source(error)),
        }
    }

    /// Returns the directory of a volume, which all sandboxes with the volume share.
    pub(crate) fn volume(&self, id: &str) -> Result<PathBuf> {
        let mut volumes = locked(&self.volumes);
        if let Some(found) = volumes.get(id) {
            return Ok(found.clone());
        }
        let made = self.directory(&format!("volume-{}", volumes.len()))?;
        volumes.insert(id.to_owned(), made.clone());
        Ok(made)
    }

    /// Returns what clients put before the id of a sandbox and the path of a toolbox call.
    pub(crate) fn toolbox_url(&self) -> String {
        format!("{}/toolbox", self.origin)
    }

    pub(crate) fn counters(&self) -> Counters {
        let records = self.records();
        Counters {
            created: self.created.load(Ordering::SeqCst),
            known: records.len(),
            running: records.iter().filter(|record| record.place().is_some()).count(),
        }
    }
}

/// Locks a mutex whose holders cannot leave half-made values.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns random digits for ids and tokens.
pub(crate) fn random_digits(bytes: usize) -> Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|_| Error::new(ErrorKind::Io, "cannot read random bytes"))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
