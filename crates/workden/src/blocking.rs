//! The same workspace for programs that do not use async: every call blocks until its answer.
//!
//! It has its own runtime, and can also be called from async code: it then waits on a separate thread, so that nothing
//! panics; the async thread is blocked meanwhile.

use std::{future::Future, sync::Arc, thread, time::Duration};

use bytes::Bytes;
use tokio::runtime::{Handle, Runtime};
use workden_core::{
    Caller, Error, ErrorKind, Result, Verdict, Written,
    sandbox::{Executed, Job, JobId, JobOutput, JobRead, Killed},
    search::{GlobRequest, Globbed, GrepRequest, Grepped, Listing},
    text::{Numbered, Replacement},
};
use workden_policy::{Derive, Policy, approvals::Approvals};

/// A [`Workspace`](crate::Workspace) whose calls block until their answers. Clones share it.
#[derive(Clone, Debug)]
pub struct Workspace {
    inner: crate::Workspace,
    runtime: Arc<Runtime>,
}

impl Workspace {
    /// Gives a workspace its own runtime.
    ///
    /// # Errors
    ///
    /// `Busy` when the system cannot start another thread.
    pub fn new(inner: crate::Workspace) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|_| {
            Error::new(ErrorKind::Busy, "cannot start a runtime: the system cannot start another thread")
                .hint("end other processes, or use the async workspace")
        })?;
        Ok(Self { inner, runtime: Arc::new(runtime) })
    }

    /// Returns the workspace for async code.
    #[must_use]
    pub fn as_async(&self) -> &crate::Workspace {
        &self.inner
    }

    /// Returns its policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.inner.policy()
    }

    /// Returns its approvals.
    #[must_use]
    pub fn approvals(&self) -> &Approvals {
        self.inner.approvals()
    }

    /// Returns the same workspace for one tool call, which questions and records then name.
    #[must_use]
    pub fn on_behalf_of(&self, caller: impl Into<Arc<Caller>>) -> Self {
        Self { inner: self.inner.on_behalf_of(caller), runtime: Arc::clone(&self.runtime) }
    }

    /// Returns a workspace for a sub-agent: the same files, under a policy that is never less strict.
    ///
    /// # Errors
    ///
    /// As [`Policy::derive`].
    pub fn derive(&self, derive: &Derive) -> Result<Self> {
        Ok(Self { inner: self.inner.derive(derive)?, runtime: Arc::clone(&self.runtime) })
    }

    fn wait<F>(&self, call: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        if Handle::try_current().is_err() {
            return self.runtime.block_on(call);
        }
        let waited = thread::scope(|scope| scope.spawn(|| self.runtime.block_on(call)).join());
        waited.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Each method blocks on the call of the same name.
macro_rules! waiting {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        impl Workspace {
            $(
                #[doc = concat!("Waits for [`Workspace::", stringify!($name), "`](crate::Workspace::", stringify!($name), ").")]
                ///
                /// # Errors
                ///
                /// As that.
                pub fn $name(&self $(, $argument: $kind)*) -> $answer {
                    self.wait(self.inner.$name($($argument),*))
                }
            )*
        }
    };
}

waiting! {
    read(path: &str, offset: u64, limit: u64) -> Result<Numbered>;
    read_bytes(path: &str) -> Result<Bytes>;
    write(path: &str, content: impl Into<Bytes> + Send) -> Result<Written>;
    edit(path: &str, replacements: &[Replacement]) -> Result<u64>;
    list(path: &str) -> Result<Listing>;
    glob(path: &str, request: &GlobRequest) -> Result<Globbed>;
    grep(path: &str, request: &GrepRequest) -> Result<Grepped>;
    exists(path: &str) -> bool;
    make_dir(path: &str) -> Result<()>;
    remove(path: &str) -> Result<()>;
    rename(from: &str, to: &str) -> Result<()>;
    copy(from: &str, to: &str) -> Result<Written>;
    judge_command(script: &str) -> Verdict;
    execute(line: &str, timeout: Option<Duration>) -> Result<Executed>;
    start_job(line: &str) -> Result<Job>;
    jobs() -> Result<Vec<Job>>;
    read_job(id: &JobId, read: &JobRead) -> Result<JobOutput>;
    kill_job(id: &JobId) -> Result<Killed>;
}
