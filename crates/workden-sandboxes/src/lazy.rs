//! `LazySandbox`: a sandbox that starts when first needed, so that a caller that only reads and edits files does not
//! wait for it.
//!
//! Invariant: at most one sandbox runs at a time, and another starts only after the first was ended. A failed start
//! returns its error to the call that needed the sandbox, and the next call tries again.

use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use tokio::sync::OnceCell;
use workden_core::{
    Attributes, Backend, BackendExt, Error, ErrorKind, FileIdentity, HostFiles, Opened, Resolved, Result, Sandbox,
    VirtualPath, forward_backend, forward_sandbox, sandbox::Job,
};

type Starting = Pin<Box<dyn Future<Output = Result<Arc<dyn Sandbox>>> + Send>>;

/// A sandbox that starts when first needed. Clones share it.
///
/// Files that a mount table covers are reached without it: a workspace with its directory mounted there serves files
/// at once, and commands see the same files.
#[derive(Clone)]
pub struct LazySandbox {
    shared: Arc<Shared>,
}

/// The sandbox, once it has started.
type Started = Arc<OnceCell<Arc<dyn Sandbox>>>;

struct Shared {
    start: Box<dyn Fn(Begun) -> Starting + Send + Sync>,
    started: Mutex<Started>,
    begun: Begun,
    /// Whether no sandbox starts any more.
    is_closed: AtomicBool,
    /// The files, if they are accessible without the sandbox.
    files: Option<Arc<dyn Backend>>,
    /// The directory of commands.
    directory: VirtualPath,
}

/// Holds a sandbox that exists before it is ready, so that a start that is cancelled ends it.
#[derive(Clone, Default)]
pub struct Begun(Arc<Mutex<Option<Arc<dyn Sandbox>>>>);

impl Begun {
    /// Stores a sandbox that exists from now on.
    pub fn set(&self, sandbox: Arc<dyn Sandbox>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sandbox);
    }

    fn take(&self) -> Option<Arc<dyn Sandbox>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl LazySandbox {
    /// Returns a sandbox that this function starts, whose commands run in this directory.
    pub fn new<F>(directory: VirtualPath, start: impl Fn(Begun) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Arc<dyn Sandbox>>> + Send + 'static,
    {
        let start = Box::new(move |begun| -> Starting { Box::pin(start(begun)) });
        Self::with(start, None, directory)
    }

    /// Like [`new`](Self::new), where all files are accessible without the sandbox.
    pub fn with_files<F>(
        directory: VirtualPath,
        files: impl Backend + 'static,
        start: impl Fn(Begun) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Arc<dyn Sandbox>>> + Send + 'static,
    {
        let start = Box::new(move |begun| -> Starting { Box::pin(start(begun)) });
        let files: Option<Arc<dyn Backend>> = Some(Arc::new(files));
        Self::with(start, files, directory)
    }

    fn with(
        start: Box<dyn Fn(Begun) -> Starting + Send + Sync>,
        files: Option<Arc<dyn Backend>>,
        directory: VirtualPath,
    ) -> Self {
        let (started, begun, is_closed) = (Mutex::default(), Begun::default(), AtomicBool::new(false));
        Self { shared: Arc::new(Shared { start, started, begun, is_closed, files, directory }) }
    }

    /// Whether the sandbox has started.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.sandbox().is_some()
    }

    /// Returns the sandbox, and starts it first if necessary.
    ///
    /// # Errors
    ///
    /// The error of the start; `Gone` after [`close`](Self::close).
    pub async fn started(&self) -> Result<Arc<dyn Sandbox>> {
        let started = Arc::clone(&self.cell());
        if let Some(sandbox) = started.get() {
            return Ok(Arc::clone(sandbox));
        }
        self.check_open()?;
        let sandbox = started
            .get_or_try_init(|| (self.shared.start)(self.shared.begun.clone()))
            .await
            .cloned()
            .inspect_err(|error| tracing::warn!(%error, "sandbox failed to start"))?;
        if let Err(gone) = self.check_open() {
            // It was closed while it started, and its end was ordered before there was anything to end.
            sandbox.stop().await?;
            return Err(gone);
        }
        Ok(sandbox)
    }

    fn check_open(&self) -> Result<()> {
        match self.shared.is_closed.load(Ordering::Acquire) {
            true => Err(Error::new(ErrorKind::Gone, "the sandbox has ended")),
            false => Ok(()),
        }
    }

    /// Forgets the sandbox as [`let_go`](Self::let_go) does, and starts no other: later calls are `Gone`. For a sandbox
    /// that another owner has ended, or will end.
    pub fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Release);
        self.let_go();
    }

    /// Ends the sandbox, if it has started. Another one starts when needed: unlike after [`stop`](Sandbox::stop),
    /// later calls are not `Gone`.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::stop`]. A sandbox that could not be stopped is not used again either.
    pub async fn end(&self) -> Result<()> {
        let over = mem::take(&mut *self.cell());
        let begun = self.shared.begun.take();
        match over.get().cloned().or(begun) {
            Some(sandbox) => sandbox.stop().await,
            None => Ok(()),
        }
    }

    /// Forgets the sandbox without ending it, for one that continues by itself.
    pub fn let_go(&self) {
        drop(mem::take(&mut *self.cell()));
        drop(self.shared.begun.take());
    }

    fn cell(&self) -> MutexGuard<'_, Started> {
        self.shared.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the sandbox, if it has started. Does not start it.
    #[must_use]
    pub fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        self.cell().get().cloned()
    }

    async fn files(&self) -> Result<Arc<dyn Backend>> {
        match &self.shared.files {
            Some(files) => Ok(Arc::clone(files)),
            None => Ok(self.started().await?),
        }
    }
}

impl fmt::Debug for LazySandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazySandbox").field("started", &self.sandbox()).finish_non_exhaustive()
    }
}

/// Forwards a call to the files, which may be accessible without the sandbox.
macro_rules! files {
    ($this:ident, $method:ident($($argument:expr),*)) => {
        $this.files().await?.$method($($argument),*).await
    };
}

/// Forwards a call to the sandbox, and starts it if necessary.
macro_rules! started {
    ($this:ident, $method:ident($($argument:expr),*)) => {
        $this.started().await?.$method($($argument),*).await
    };
}

forward_backend! {
    impl[] for LazySandbox;
    looks: files, changes: files, host_files: |this| Some(this)
}

#[async_trait]
impl HostFiles for LazySandbox {
    async fn open_file(&self, at: &Resolved, most: u64) -> Result<Opened> {
        self.files().await?.open(at, most).await
    }
    async fn read_attributes(&self, at: &Resolved, prefix: &str) -> Result<Attributes> {
        self.files().await?.attributes(at, prefix).await
    }
    async fn write_attributes(&self, at: &Resolved, attributes: &Attributes) -> Result<()> {
        self.files().await?.set_attributes(at, attributes).await
    }
    async fn find_other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        self.files().await?.other_names(files).await
    }
    async fn find_identity(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
        self.files().await?.identify(at).await
    }
    // A mount table asks every mount these two questions at every listing. The files that nothing else covers are the
    // machine's programs and private files of commands. No other mount shows the latter, so the sandbox need not
    // start to answer.
    async fn find_origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        match &self.shared.files {
            Some(files) => files.origins().await,
            None => Ok(Vec::new()),
        }
    }
    async fn find_names(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        match &self.shared.files {
            Some(own) => own.names_of(files).await,
            None => Ok(vec![Vec::new(); files.len()]),
        }
    }
}

forward_sandbox! {
    impl[] for LazySandbox;
    looks: started, changes: started,
    forward: [execute spawn start_job read_job kill_job connect_port watch usage isolation],
    {
        async fn jobs(&self) -> Result<Vec<Job>> {
            match self.sandbox() {
                Some(sandbox) => sandbox.jobs().await,
                // A sandbox that has not started has no jobs.
                None => Ok(Vec::new()),
            }
        }
        async fn directory(&self) -> Result<VirtualPath> {
            Ok(self.shared.directory.clone())
        }
        async fn stop(&self) -> Result<()> {
            match self.sandbox().or_else(|| self.shared.begun.take()) {
                Some(sandbox) => sandbox.stop().await,
                None => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use workden_core::sandbox::ExecuteRequest;

    use super::*;

    fn failing(count: &Arc<AtomicUsize>) -> LazySandbox {
        let count = Arc::clone(count);
        LazySandbox::new(VirtualPath::parse("/workspace").unwrap(), move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Err(Error::new(ErrorKind::Unsupported, "there are no walls here")) }
        })
    }

    #[tokio::test]
    async fn nothing_is_started_by_questions_that_need_no_sandbox() {
        let count = Arc::default();
        let late = failing(&count);
        assert_eq!(late.directory().await.unwrap().as_str(), "/workspace");
        assert!(late.jobs().await.unwrap().is_empty() && late.origins().await.unwrap().is_empty());
        late.stop().await.unwrap();
        assert!(!late.has_started() && count.load(Ordering::Relaxed) == 0);
    }

    #[tokio::test]
    async fn after_its_end_another_is_started() {
        let count: Arc<AtomicUsize> = Arc::default();
        let counted = Arc::clone(&count);
        let late = LazySandbox::new(VirtualPath::root(), move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            // A sandbox that has never started must forward these calls, too.
            let inner: Arc<dyn Sandbox> = Arc::new(failing(&Arc::default()));
            async move { Ok(inner) }
        });
        late.end().await.unwrap();
        assert!(!late.has_started() && late.sandbox().is_none());
        for nth in 1..=2 {
            let first = late.started().await.unwrap();
            assert!(late.has_started() && Arc::ptr_eq(&first, &late.started().await.unwrap()));
            assert_eq!(count.load(Ordering::Relaxed), nth);
            late.end().await.unwrap();
            assert!(!late.has_started());
        }
    }

    #[tokio::test]
    async fn after_it_is_closed_none_is_started() {
        let count = Arc::default();
        let late = failing(&count);
        late.close();
        let error = late.execute(&ExecuteRequest::shell("true")).await.unwrap_err();
        assert_eq!((error.kind(), count.load(Ordering::Relaxed)), (ErrorKind::Gone, 0));
    }

    #[tokio::test]
    async fn one_that_is_closed_while_it_starts_is_not_handed_out() {
        let starts: Arc<AtomicUsize> = Arc::default();
        let begun = Arc::new(tokio::sync::Notify::new());
        let (counted, go) = (Arc::clone(&starts), Arc::clone(&begun));
        let late = LazySandbox::new(VirtualPath::root(), move |_| {
            let (counted, go) = (Arc::clone(&counted), Arc::clone(&go));
            async move {
                go.notified().await;
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(Arc::new(failing(&Arc::default())) as Arc<dyn Sandbox>)
            }
        });
        let (ended, ()) = tokio::join!(late.started(), async {
            late.close();
            begun.notify_one();
        });
        assert_eq!(ended.map(drop).unwrap_err().kind(), ErrorKind::Gone);
        assert_eq!(starts.load(Ordering::Relaxed), 1, "it had started");
    }

    #[tokio::test]
    async fn a_start_that_fails_is_told_and_tried_again() {
        let count = Arc::default();
        let late = failing(&count);
        for nth in 1..=2 {
            let error = late.execute(&ExecuteRequest::shell("true")).await.unwrap_err();
            assert_eq!((error.kind(), count.load(Ordering::Relaxed)), (ErrorKind::Unsupported, nth));
        }
    }
}
