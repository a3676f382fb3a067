//! A directory, and a real sandbox without isolation over it.

use std::{collections::BTreeMap, sync::Arc};

use tempfile::TempDir;
use workden::{
    Workspace, WorkspaceBuilder,
    core::Sandbox,
    tools::{Toolset, ToolsetOptions},
};
use workden_keeper::{Keeper, KeeperConfig};

pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) sandbox: Arc<dyn Sandbox>,
}

impl Place {
    /// Must be made in a runtime.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let environment = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let sandbox = Arc::new(Keeper::new(KeeperConfig::host(directory.path(), environment)).unwrap());
        Self { directory, sandbox }
    }

    pub(crate) fn builder(&self) -> WorkspaceBuilder {
        Workspace::builder().remote(Arc::clone(&self.sandbox))
    }

    pub(crate) fn tools(&self) -> Toolset {
        self.builder().build().unwrap().toolset(ToolsetOptions::default()).unwrap()
    }
}
