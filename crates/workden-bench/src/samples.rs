//! The times of a repeated action.

use std::time::{Duration, Instant};

use crate::Failure;

/// The measured times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    /// One time.
    pub(crate) fn of(took: Duration) -> Self {
        Self(vec![took])
    }

    pub(crate) fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    pub(crate) fn take<T>(&mut self, act: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let began = Instant::now();
        let done = act()?;
        self.add(began.elapsed());
        Ok(done)
    }

    pub(crate) async fn take_async<T>(&mut self, act: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let began = Instant::now();
        let done = act.await?;
        self.add(began.elapsed());
        Ok(done)
    }

    pub(crate) fn min(&self) -> Duration {
        self.0.iter().min().copied().unwrap_or_default()
    }

    pub(crate) fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }
}
