//! `ServerClock`: the time of the cluster. Processes whose own clocks differ agree on it.

use std::sync::{Mutex, PoisonError};

use k8s_openapi::jiff::{Timestamp, fmt::rfc2822};
use kube::{api::ListParams, client::Body, core::Request};
use tokio::time::{Duration, Instant};
use workden_core::Result;

use crate::kubernetes::{
    cluster::{Cluster, patiently},
    errors,
};

/// How long the difference to the cluster's clock is believed.
const FRESH: Duration = Duration::from_secs(60);

/// The clock of a cluster, as the answers of its API server tell it.
#[derive(Debug, Default)]
pub(super) struct ServerClock {
    /// What it showed, and when it was read.
    read: Mutex<Option<(Timestamp, Instant)>>,
}

impl ServerClock {
    /// Returns the time of the cluster. It is exact to a second.
    pub(super) async fn now(&self, cluster: &Cluster) -> Result<Timestamp> {
        let known = *self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let (time, at) = match known.filter(|(_, at)| at.elapsed() < FRESH) {
            Some(known) => known,
            None => {
                let read = (read(cluster).await?, Instant::now());
                *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
                read
            }
        };
        Ok(time.checked_add(at.elapsed()).unwrap_or(time))
    }
}

/// Asks for the cheapest answer that exists. Its content does not matter: every answer has a date.
async fn read(cluster: &Cluster) -> Result<Timestamp> {
    let client = cluster.client().await?;
    let ask = || async {
        let request = Request::new("/version").list(&ListParams::default()).map_err(kube::Error::BuildRequest)?;
        client.send(request.map(Body::from)).await
    };
    let answer = patiently(ask).await.map_err(|error| errors::failed("read the time of the cluster", &error))?;
    let date = answer.headers().get("date").and_then(|date| date.to_str().ok());
    let time = date.and_then(|date| rfc2822::parse(date).ok()).map(|zoned| zoned.timestamp());
    Ok(time.unwrap_or_else(Timestamp::now))
}
