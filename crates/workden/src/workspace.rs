//! `Workspace`: files and commands behind a policy, by paths as people and models type them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use workden_core::{
    Audit, BackendExt, Caller, Error, Expect, IfExists, Removal, Result, Sandbox, Spelling, Verdict, VirtualPath,
    Written,
    sandbox::{CommandFacts, Shell},
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Numbered, Replacement},
};
use workden_policy::{Derive, Policy, Ruleset, approvals::Approvals};
use workden_sandboxes::LazySandbox;

use crate::{
    builder::WorkspaceBuilder,
    judging::off_thread,
    stack::{AtEnd, Commands, Files, Parts},
};

/// A workspace of an agent. Clones share it.
///
/// Paths are accepted as typed: `src/main.rs` and `/src/main.rs` are the same file, and errors use the caller's
/// spelling.
#[derive(Clone, Debug)]
pub struct Workspace {
    parts: Arc<Parts>,
    files: Files,
    commands: Option<Commands>,
    /// Where relative paths start, once a call needed it.
    directory: Arc<OnceLock<VirtualPath>>,
}

impl Workspace {
    /// Returns a builder with default settings.
    #[must_use]
    pub fn builder() -> WorkspaceBuilder {
        WorkspaceBuilder::default()
    }

    pub(crate) fn of(parts: Parts) -> Self {
        let (files, commands) = (parts.guarded(), parts.guarded_sandbox());
        let directory = Arc::new(parts.directory.clone().map_or_else(OnceLock::new, OnceLock::from));
        Self { parts: Arc::new(parts), files, commands, directory }
    }

    /// Returns its files, for calls that have no method below.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns its policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.parts.policy
    }

    /// Returns its approvals.
    #[must_use]
    pub fn approvals(&self) -> &Approvals {
        &self.parts.approvals
    }

    /// Returns the shell that runs the command lines of this workspace, if it is known before the sandbox runs. That of
    /// a container, a session and a remote sandbox is bash if they have it, and otherwise `sh`.
    #[must_use]
    pub fn shell(&self) -> Option<Shell> {
        self.parts.shell
    }

    /// Returns the same workspace for one tool call, which questions and records then name.
    #[must_use]
    pub fn on_behalf_of(&self, caller: impl Into<Arc<Caller>>) -> Self {
        let caller = caller.into();
        Self {
            parts: Arc::clone(&self.parts),
            files: self.files.on_behalf_of(Arc::clone(&caller)),
            commands: self.commands.as_ref().map(|commands| commands.on_behalf_of(caller)),
            directory: Arc::clone(&self.directory),
        }
    }

    /// Returns the same workspace with another recorder of its calls, besides those that it has.
    #[must_use]
    pub fn recorded_by(&self, audit: Arc<dyn Audit>) -> Self {
        Self {
            parts: Arc::clone(&self.parts),
            files: self.files.clone().audit(Arc::clone(&audit)),
            commands: self.commands.clone().map(|commands| commands.audit(audit)),
            directory: Arc::clone(&self.directory),
        }
    }

    /// Returns the same workspace under additional rules; approvals that are given here replace the previous ones.
    ///
    /// A sandbox that has not started masks what these rules deny, for every workspace that shares it. If it has
    /// started and shows such a file, commands are refused until it is started again.
    ///
    /// # Errors
    ///
    /// When a pattern is invalid.
    pub fn behind(&self, rules: Option<&Ruleset>, approvals: Option<Approvals>) -> Result<Self> {
        let policy = match rules {
            Some(rules) => Arc::new(self.parts.policy.as_ref().clone().with_rules(rules)?),
            None => Arc::clone(&self.parts.policy),
        };
        let approvals = approvals.unwrap_or_else(|| self.parts.approvals.clone());
        if let Some(masks) = &self.parts.masks {
            masks.add(&policy);
        }
        Ok(Self::of(Parts { policy, approvals, ..(*self.parts).clone() }))
    }

    /// Returns a workspace for a sub-agent: the same files and sandbox, under a policy that is never less strict. Jobs
    /// are not shared: each workspace finds those that it started. Its commands require approval instead of masks, which
    /// would also take the files from the commands of this workspace.
    ///
    /// # Errors
    ///
    /// As [`Policy::derive`].
    pub fn derive(&self, derive: &Derive) -> Result<Self> {
        let policy = Arc::new(self.parts.policy.derive(derive)?);
        Ok(Self::of(Parts { policy, masks: None, ..(*self.parts).clone() }))
    }

    /// Returns the verdict of the policy on a command in the working directory. Runs nothing.
    pub async fn judge_command(&self, script: &str) -> Verdict {
        let (policy, script) = (Arc::clone(&self.parts.policy), script.to_owned());
        let directory = match self.working_directory().await {
            Ok(directory) => directory,
            Err(error) => return Verdict::Deny(error),
        };
        // Parsing a long script would block an async thread.
        let judged = off_thread(move || policy.judge_command(&script, &directory).verdict()).await;
        judged.unwrap_or_else(|| Verdict::Deny(Error::new(workden_core::ErrorKind::Io, "cannot judge the command")))
    }

    /// Reads `limit` lines after the first `offset`, numbered.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::read_numbered`], and when the policy refuses; so for all calls below.
    pub async fn read(&self, path: &str, offset: u64, limit: u64) -> Result<Numbered> {
        self.spelled(path, async { self.files.read_numbered(&self.path(path).await?, offset, limit).await }).await
    }

    /// Reads a whole file.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::read_bytes`].
    pub async fn read_bytes(&self, path: &str) -> Result<Bytes> {
        self.spelled(path, async { self.files.read_bytes(&self.path(path).await?).await }).await
    }

    /// Writes a whole file, and creates its parent directories.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::write_path`].
    pub async fn write(&self, path: &str, content: impl Into<Bytes> + Send) -> Result<Written> {
        let content = content.into();
        self.spelled(path, async { self.files.write_path(&self.path(path).await?, content, Expect::Anything).await })
            .await
    }

    /// Replaces text, all or nothing; returns how many occurrences.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::edit`].
    pub async fn edit(&self, path: &str, replacements: &[Replacement]) -> Result<u64> {
        self.spelled(path, async { self.files.edit(&self.path(path).await?, replacements).await }).await
    }

    /// Lists a directory.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::list_path`].
    pub async fn list(&self, path: &str) -> Result<Listing> {
        self.spelled(path, async { self.files.list_path(&self.path(path).await?, &ListRequest::default()).await }).await
    }

    /// Finds paths below a directory.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::glob_path`].
    pub async fn glob(&self, path: &str, request: &GlobRequest) -> Result<Globbed> {
        self.spelled(path, async { self.files.glob_path(&self.path(path).await?, request).await }).await
    }

    /// Finds lines below a directory or in a file.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::grep_path`].
    pub async fn grep(&self, path: &str, request: &GrepRequest) -> Result<Grepped> {
        self.spelled(path, async { self.files.grep_path(&self.path(path).await?, request).await }).await
    }

    /// Whether a readable file exists at a path.
    pub async fn exists(&self, path: &str) -> bool {
        match self.path(path).await {
            Ok(path) => self.files.exists(&path).await,
            Err(_) => false,
        }
    }

    /// Creates a directory and its parents.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::make_dir_path`].
    pub async fn make_dir(&self, path: &str) -> Result<()> {
        self.spelled(path, async { self.files.make_dir_path(&self.path(path).await?).await }).await
    }

    /// Removes a file, a link, or an empty directory.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::remove_path`].
    pub async fn remove(&self, path: &str) -> Result<()> {
        self.spelled(path, async { self.files.remove_path(&self.path(path).await?, Removal::One).await }).await
    }

    /// Renames a file or a directory; fails if the target exists.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::move_path`].
    pub async fn rename(&self, from: &str, to: &str) -> Result<()> {
        let renamed =
            async { self.files.move_path(&self.path(from).await?, &self.path(to).await?, IfExists::Refuse).await };
        self.spelled(from, renamed).await
    }

    /// Copies a file; fails if the target exists.
    ///
    /// # Errors
    ///
    /// As [`BackendExt::copy_path`].
    pub async fn copy(&self, from: &str, to: &str) -> Result<Written> {
        let copied =
            async { self.files.copy_path(&self.path(from).await?, &self.path(to).await?, IfExists::Refuse).await };
        self.spelled(from, copied).await
    }

    /// Makes an error use the caller's spelling of paths. Below a working directory that would be guesswork, so the
    /// paths stay absolute there.
    async fn spelled<T>(&self, typed: &str, call: impl Future<Output = Result<T>>) -> Result<T> {
        let answer = call.await;
        let is_root = self.directory.get().is_some_and(VirtualPath::is_root);
        let spelling = if is_root { Spelling::of(typed) } else { Spelling::Rooted };
        answer.map_err(|error| error.spelled(spelling))
    }

    async fn path(&self, typed: &str) -> Result<VirtualPath> {
        VirtualPath::parse_from(&self.working_directory().await?, typed)
    }

    /// Returns where relative paths start and commands run: as the builder says, or as the sandbox says.
    ///
    /// # Errors
    ///
    /// When the sandbox cannot be asked.
    pub async fn working_directory(&self) -> Result<VirtualPath> {
        if let Some(known) = self.directory.get() {
            return Ok(known.clone());
        }
        let told = match &self.parts.sandbox {
            Some(sandbox) => sandbox.directory().await?,
            None => VirtualPath::root(),
        };
        Ok(self.directory.get_or_init(|| told).clone())
    }

    pub(crate) fn at_end(&self) -> AtEnd {
        self.parts.at_end
    }

    pub(crate) fn timeout(&self) -> Option<std::time::Duration> {
        self.parts.timeout
    }

    /// Returns the sandbox without the policy, if this workspace starts and stops it: for the owner of the workspace.
    #[must_use]
    pub fn lazy(&self) -> Option<&LazySandbox> {
        self.parts.lazy.as_ref()
    }

    pub(crate) fn sandbox(&self) -> Option<&Commands> {
        self.commands.as_ref()
    }

    /// Returns what a model should know about commands.
    pub(crate) fn command_facts(&self) -> &CommandFacts {
        &self.parts.facts
    }

    /// Returns the working directory, if it is not the sandbox's own.
    #[must_use]
    pub fn named_directory(&self) -> Option<VirtualPath> {
        self.parts.directory.clone()
    }
}
