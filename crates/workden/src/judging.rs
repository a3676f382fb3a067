//! The policy as a gate that parses commands off the async threads, since a long command line takes time.

use std::sync::Arc;

use async_trait::async_trait;
use workden_core::{Access, Error, ErrorKind, Gate, Judgement, Op, Resolved, Verdict, Visibility};
use workden_policy::Policy;

/// A policy that judges files directly, and commands on a blocking thread.
#[derive(Clone, Debug)]
pub(crate) struct PolicyGate(pub(crate) Arc<Policy>);

#[async_trait]
impl Gate for PolicyGate {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        let Some(execution) = op.execution() else { return self.0.judgement(op) };
        let (policy, execution) = (Arc::clone(&self.0), execution.clone());
        let failed = || Verdict::Deny(Error::new(ErrorKind::Io, "cannot judge the command")).into();
        off_thread(move || policy.judgement(Op::Execute(&execution))).await.unwrap_or_else(failed)
    }

    fn visibility(&self, op: Op<'_>) -> Visibility {
        self.0.visibility(op)
    }

    fn most_bytes(&self, at: &Resolved, access: Access) -> Option<u64> {
        Gate::most_bytes(&*self.0, at, access)
    }
}

/// Runs slow work on a blocking thread, if there is a runtime.
pub(crate) async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match tokio::runtime::Handle::try_current() {
        Err(_) => Some(work()),
        Ok(runtime) => runtime.spawn_blocking(work).await.ok(),
    }
}
