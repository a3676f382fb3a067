//! Reads of several clients at once.

use std::time::{Duration, Instant};

use super::{calls, client::Client, servers::Side};
use crate::Failure;

/// Clients that read at the same time.
const CLIENTS: usize = 8;
/// How long they read.
const TIME: Duration = Duration::from_secs(5);

/// What several clients came to.
pub(super) struct Load {
    /// Calls in a second, of all together.
    pub(super) rate: f64,
    /// The time within which 99 of 100 calls were answered.
    pub(super) latest: Duration,
}

/// Reads a small file again and again.
pub(super) async fn reads(side: &Side, session: &str) -> Result<Load, Failure> {
    let clients = futures_util::future::try_join_all((0..CLIENTS).map(|_| Client::of(side))).await?;
    let began = Instant::now();
    let each = clients.into_iter().map(async |mut client| {
        let mut times = Vec::new();
        while began.elapsed() < TIME {
            let start = Instant::now();
            calls::read(&mut client, session).await?;
            times.push(start.elapsed());
        }
        Ok::<_, Failure>(times)
    });
    let mut times: Vec<Duration> = futures_util::future::try_join_all(each).await?.concat();
    let rate = times.len() as f64 / began.elapsed().as_secs_f64();
    times.sort_unstable();
    let latest = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    Ok(Load { rate, latest })
}
