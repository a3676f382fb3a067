//! A place to serve: a directory, and commands that run in it.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use tempfile::TempDir;
use workden::{Workspace, WorkspaceBuilder, core::Sandbox, tools::ToolsetOptions};
use workden_keeper::{Keeper, Setting};
use workden_mcp::McpServer;

pub(crate) struct Place {
    pub(crate) directory: TempDir,
    sandbox: Arc<dyn Sandbox>,
}

impl Place {
    /// Must be made in a runtime.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let environment = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let sandbox = Arc::new(Keeper::new(Setting::host(directory.path(), environment)).unwrap());
        Self { directory, sandbox }
    }

    pub(crate) fn builder(&self) -> WorkspaceBuilder {
        Workspace::builder().sandbox(Arc::clone(&self.sandbox)).approvals(workden_mcp::approvals())
    }

    /// A server without a policy.
    pub(crate) fn server(&self) -> McpServer {
        serving(&self.builder().build().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

pub(crate) fn serving(workspace: &Workspace) -> McpServer {
    McpServer::new(workspace, ToolsetOptions::default()).unwrap()
}

/// The process whose number a command has written to a file.
pub(crate) async fn process_in(file: &Path) -> String {
    eventually("the command writes its number", || {
        let text = std::fs::read_to_string(file).ok()?;
        text.strip_suffix('\n').map(str::to_owned)
    })
    .await
}

pub(crate) async fn gone(process: &str) {
    let directory = format!("/proc/{process}");
    eventually("the process ends", || (!Path::new(&directory).exists()).then_some(())).await;
}

pub(crate) async fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..3_000 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not happen within 30 s that {what}");
}
