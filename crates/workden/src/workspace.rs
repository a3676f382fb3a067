//! `Workspace`: what a user builds and an agent works in. Files behind a policy, by paths as people
//! and models type them.

use std::sync::Arc;

use bytes::Bytes;
use workden_core::{
    Backend, BackendExt, Caller, Error, Existing, Expect, Guarded, Removal, Result, Spelling, Verdict, VirtualPath,
    Written,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Numbered, Replacement},
};
use workden_policy::{Derive, Policy, approvals::Approvals};

use crate::{builder::WorkspaceBuilder, stack::Parts};

/// The files of a workspace, with everything that has a say about them.
pub type Files = Guarded<Arc<dyn Backend>>;

/// A place for an agent to work. Clones share it.
///
/// Paths are taken as they are typed: `src/main.rs` and `/src/main.rs` are the same file, and errors
/// come back in the spelling that was used.
#[derive(Clone, Debug)]
pub struct Workspace {
    parts: Arc<Parts>,
    files: Files,
}

impl Workspace {
    /// A workspace to be.
    #[must_use]
    pub fn builder() -> WorkspaceBuilder {
        WorkspaceBuilder::default()
    }

    pub(crate) fn of(parts: Parts) -> Self {
        let files = parts.guarded();
        Self { parts: Arc::new(parts), files }
    }

    /// Its files, for everything that is not below.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// What may be done in it.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.parts.policy
    }

    /// Who is asked, and what they approved.
    #[must_use]
    pub fn approvals(&self) -> &Approvals {
        &self.parts.approvals
    }

    /// The same workspace for the calls of one tool call, which questions and records then name.
    #[must_use]
    pub fn on_behalf_of(&self, caller: Caller) -> Self {
        Self { parts: Arc::clone(&self.parts), files: self.files.on_behalf_of(caller) }
    }

    /// A workspace for a sub-agent: the same files, under a policy that is never less strict.
    ///
    /// # Errors
    ///
    /// As [`Policy::derive`].
    pub fn derive(&self, derive: &Derive) -> Result<Self> {
        let policy = Arc::new(self.parts.policy.derive(derive)?);
        Ok(Self::of(Parts { policy, ..(*self.parts).clone() }))
    }

    /// What the policy says of a command, run in the working directory. Nothing is run.
    pub async fn judge_command(&self, script: &str) -> Verdict {
        let (policy, script) = (Arc::clone(&self.parts.policy), script.to_owned());
        let directory = self.parts.directory.clone();
        let judge = move || policy.judge_command(&script, &directory).verdict();
        // Reading a long script takes its time, which no async thread should spend.
        match tokio::runtime::Handle::try_current() {
            Err(_) => judge(),
            Ok(runtime) => runtime.spawn_blocking(judge).await.unwrap_or_else(|_| {
                Verdict::Deny(Error::new(workden_core::ErrorKind::Io, "the command could not be judged"))
            }),
        }
    }

    /// Reads `limit` lines after the first `offset`, numbered.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::read_numbered`], and when the policy refuses; so for all calls below.
    pub async fn read(&self, path: &str, offset: u64, limit: u64) -> Result<Numbered> {
        self.spelled(path, async { self.files.read_numbered(&self.path(path)?, offset, limit).await }).await
    }

    /// Reads a whole file.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::read_bytes`].
    pub async fn read_bytes(&self, path: &str) -> Result<Bytes> {
        self.spelled(path, async { self.files.read_bytes(&self.path(path)?).await }).await
    }

    /// Writes a whole file, and makes the directories above it.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::write_path`].
    pub async fn write(&self, path: &str, content: impl Into<Bytes> + Send) -> Result<Written> {
        let content = content.into();
        self.spelled(path, async { self.files.write_path(&self.path(path)?, content, Expect::Anything).await }).await
    }

    /// Replaces text, all or nothing; says how many places that were.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::edit`].
    pub async fn edit(&self, path: &str, replacements: &[Replacement]) -> Result<u64> {
        self.spelled(path, async { self.files.edit(&self.path(path)?, replacements).await }).await
    }

    /// Lists a directory.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::list_path`].
    pub async fn list(&self, path: &str) -> Result<Listing> {
        self.spelled(path, async { self.files.list_path(&self.path(path)?, &ListRequest::default()).await }).await
    }

    /// Finds paths below a directory.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::glob_path`].
    pub async fn glob(&self, path: &str, request: &GlobRequest) -> Result<Globbed> {
        self.spelled(path, async { self.files.glob_path(&self.path(path)?, request).await }).await
    }

    /// Finds lines below a directory or in a file.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::grep_path`].
    pub async fn grep(&self, path: &str, request: &GrepRequest) -> Result<Grepped> {
        self.spelled(path, async { self.files.grep_path(&self.path(path)?, request).await }).await
    }

    /// Whether there is a file that may be read.
    pub async fn exists(&self, path: &str) -> bool {
        match self.path(path) {
            Ok(path) => self.files.exists(&path).await,
            Err(_) => false,
        }
    }

    /// Makes a directory, and those above it.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::make_dir_path`].
    pub async fn make_dir(&self, path: &str) -> Result<()> {
        self.spelled(path, async { self.files.make_dir_path(&self.path(path)?).await }).await
    }

    /// Removes a file, a link, or an empty directory.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::remove_path`].
    pub async fn remove(&self, path: &str) -> Result<()> {
        self.spelled(path, async { self.files.remove_path(&self.path(path)?, Removal::One).await }).await
    }

    /// Renames a file or a directory; nothing is replaced.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::move_path`].
    pub async fn rename(&self, from: &str, to: &str) -> Result<()> {
        let renamed = async { self.files.move_path(&self.path(from)?, &self.path(to)?, Existing::Refuse).await };
        self.spelled(from, renamed).await
    }

    /// Copies a file; nothing is replaced.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::copy_path`].
    pub async fn copy(&self, from: &str, to: &str) -> Result<Written> {
        let copied = async { self.files.copy_path(&self.path(from)?, &self.path(to)?, Existing::Refuse).await };
        self.spelled(from, copied).await
    }

    /// An answer whose error speaks of paths as the caller spelled them. Below a working directory
    /// that would be guesswork, so there they are whole.
    async fn spelled<T>(&self, typed: &str, call: impl Future<Output = Result<T>>) -> Result<T> {
        let spelling = if self.parts.directory.is_root() { Spelling::of(typed) } else { Spelling::Rooted };
        call.await.map_err(|error| error.spelled(spelling))
    }

    fn path(&self, typed: &str) -> Result<VirtualPath> {
        VirtualPath::parse_from(&self.parts.directory, typed)
    }
}
