//! `Stub`: a running stub. It ends with the value.

use std::sync::Arc;

use tokio::{net::TcpListener, task::JoinHandle};
use workden_core::{Error, ErrorKind, Result};

use crate::{Counters, Fault, SeenRequest, StubOptions, server, shared::Shared};

/// A control plane and a toolbox on a port of loopback. Dropping it ends the sandboxes.
#[derive(Debug)]
pub struct Stub {
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

impl Stub {
    /// Starts listening.
    ///
    /// # Errors
    ///
    /// When the port is in use, or no directory can be created.
    pub async fn start(options: StubOptions) -> Result<Self> {
        let failed = |error| Error::new(ErrorKind::Io, "cannot listen on loopback").with_source(error);
        let listener = TcpListener::bind(("127.0.0.1", options.port)).await.map_err(failed)?;
        let origin = format!("http://{}", listener.local_addr().map_err(failed)?);
        let shared = Arc::new(Shared::new(options, origin)?);
        let listener = tokio::spawn(server::listen(listener, Arc::clone(&shared)));
        Ok(Self { shared, listener })
    }

    /// Returns the URL of the API, for `DAYTONA_API_URL`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/api", self.shared.origin)
    }

    /// Returns the address without a path.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.shared.origin
    }

    /// Returns the key that is accepted.
    #[must_use]
    pub fn api_key(&self) -> &str {
        &self.shared.options.api_key
    }

    /// Makes requests fail.
    pub fn add_fault(&self, fault: Fault) {
        self.shared.faults.add(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared.faults.clear();
    }

    /// Returns the requests that came, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.shared.requests.all()
    }

    /// Forgets the requests that came.
    pub fn forget_requests(&self) {
        self.shared.requests.forget();
    }

    /// Returns how many sandboxes there are and were.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.counters()
    }

    /// Stops listening and ends all sandboxes with their processes.
    pub async fn stop(self) {
        self.listener.abort();
        let records: Vec<_> = self.shared.records().drain(..).collect();
        for record in records {
            record.end().await;
        }
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.listener.abort();
        // Each sandbox ends when its last user drops it.
        for record in self.shared.records().drain(..) {
            drop(record.take_place());
        }
    }
}
