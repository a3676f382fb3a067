//! The same workspace for programs that do not use async: every call waits for its answer.
//!
//! It has a runtime of its own, and may be called from async code, too: then it waits on a thread of
//! its own, so that nothing panics; the async thread is held up meanwhile.

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

/// A [`Workspace`](crate::Workspace) whose calls wait for their answers. Clones share it.
#[derive(Clone, Debug)]
pub struct Workspace {
    inner: crate::Workspace,
    runtime: Arc<Runtime>,
}

impl Workspace {
    /// Gives a workspace a runtime of its own.
    ///
    /// # Errors
    ///
    /// `Busy` when the system has no threads to spare.
    pub fn new(inner: crate::Workspace) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|_| {
            Error::new(ErrorKind::Busy, "cannot start a runtime: the system has no threads to spare")
                .hint("end something, or use the async workspace")
        })?;
        Ok(Self { inner, runtime: Arc::new(runtime) })
    }

    /// The workspace for async code.
    #[must_use]
    pub fn as_async(&self) -> &crate::Workspace {
        &self.inner
    }

    /// What may be done in it.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.inner.policy()
    }

    /// Who is asked, and what they approved.
    #[must_use]
    pub fn approvals(&self) -> &Approvals {
        self.inner.approvals()
    }

    /// The same workspace for the calls of one tool call, which questions and records then name.
    #[must_use]
    pub fn on_behalf_of(&self, caller: impl Into<Arc<Caller>>) -> Self {
        Self { inner: self.inner.on_behalf_of(caller), runtime: Arc::clone(&self.runtime) }
    }

    /// A workspace for a sub-agent: the same files, under a policy that is never less strict.
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

/// Each of these waits for the call of the same name.
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
