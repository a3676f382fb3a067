//! `ToolTarget`: the files and the commands that a toolset works on, behind their gates.

use std::{collections::BTreeSet, sync::Arc};

use workden_core::{Backend, Guarded, Sandbox, VirtualPath, sandbox::CommandFacts};

/// The files and the commands that a toolset works on.
#[derive(Clone, Debug)]
pub struct ToolTarget {
    pub(crate) files: Guarded<Arc<dyn Backend>>,
    pub(crate) commands: Option<Guarded<Arc<dyn Sandbox>>>,
    pub(crate) directory: Option<VirtualPath>,
    pub(crate) denied: BTreeSet<String>,
    pub(crate) facts: CommandFacts,
}

impl ToolTarget {
    /// Creates a target of guarded files.
    #[must_use]
    pub fn guarded(files: Guarded<Arc<dyn Backend>>) -> Self {
        Self { files, commands: None, directory: None, denied: BTreeSet::new(), facts: CommandFacts::new() }
    }

    /// Creates a target of files without gates.
    pub fn backend(backend: impl Backend + 'static) -> Self {
        Self::guarded(Guarded::new(Arc::new(backend)))
    }

    /// Creates a target of a sandbox and its files without gates.
    #[must_use]
    pub fn sandbox(sandbox: Arc<dyn Sandbox>) -> Self {
        Self::backend(Arc::clone(&sandbox)).commands(Guarded::new(sandbox))
    }

    /// Adds commands, which see the files at the same paths.
    #[must_use]
    pub fn commands(mut self, commands: Guarded<Arc<dyn Sandbox>>) -> Self {
        self.commands = Some(commands);
        self
    }

    /// Sets what the descriptions of the tools say about the place where commands run.
    #[must_use]
    pub fn command_facts(mut self, facts: CommandFacts) -> Self {
        self.facts = facts;
        self
    }

    /// Sets where relative paths start and commands run. Default: the directory of the sandbox, or `/` without one.
    #[must_use]
    pub fn working_directory(mut self, directory: VirtualPath) -> Self {
        self.directory = Some(directory);
        self
    }

    /// Names operations of a ruleset (`read`, `write`, `edit`, `delete`, `execute`, `glob`, `grep`, `ls`) that the policy
    /// denies everywhere: tools that need one are not offered. The gates enforce the policy, not this list.
    #[must_use]
    pub fn denied_everywhere<O: Into<String>>(mut self, operations: impl IntoIterator<Item = O>) -> Self {
        self.denied.extend(operations.into_iter().map(Into::into));
        self
    }
}
