//! Where a toolset works: files behind their gates and, if there are any, commands behind theirs.

use std::{collections::BTreeSet, sync::Arc};

use workden_core::{Backend, Guarded, Sandbox, VirtualPath};

/// Where a toolset works.
#[derive(Clone, Debug)]
pub struct Place {
    pub(crate) files: Guarded<Arc<dyn Backend>>,
    pub(crate) commands: Option<Guarded<Arc<dyn Sandbox>>>,
    pub(crate) directory: Option<VirtualPath>,
    pub(crate) denied: BTreeSet<String>,
}

impl Place {
    /// Files behind everything that has a say about them.
    #[must_use]
    pub fn guarded(files: Guarded<Arc<dyn Backend>>) -> Self {
        Self { files, commands: None, directory: None, denied: BTreeSet::new() }
    }

    /// Files about which nobody has a say.
    pub fn backend(backend: impl Backend + 'static) -> Self {
        Self::guarded(Guarded::new(Arc::new(backend)))
    }

    /// A sandbox, with its files, about which nobody has a say.
    #[must_use]
    pub fn sandbox(sandbox: Arc<dyn Sandbox>) -> Self {
        Self::backend(Arc::clone(&sandbox)).commands(Guarded::new(sandbox))
    }

    /// The same, with commands; what they see is at the same paths.
    #[must_use]
    pub fn commands(mut self, commands: Guarded<Arc<dyn Sandbox>>) -> Self {
        self.commands = Some(commands);
        self
    }

    /// Where relative paths start and commands run; if nothing is said the directory of the sandbox,
    /// or `/` where there is none.
    #[must_use]
    pub fn working_directory(mut self, directory: VirtualPath) -> Self {
        self.directory = Some(directory);
        self
    }

    /// Operations, in the words of a ruleset (`read`, `write`, `edit`, `delete`, `execute`, `glob`,
    /// `grep`, `ls`), that the policy denies wherever they are tried: tools that need one are not
    /// offered. It is not what enforces anything; the gates are.
    #[must_use]
    pub fn denied_everywhere<O: Into<String>>(mut self, operations: impl IntoIterator<Item = O>) -> Self {
        self.denied.extend(operations.into_iter().map(Into::into));
        self
    }
}
