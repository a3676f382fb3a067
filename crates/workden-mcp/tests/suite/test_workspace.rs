//! A workspace to serve: a directory, and commands that run in it. Waits end by events, within [`DEADLINE`].

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use tempfile::TempDir;
use workden::{Workspace, WorkspaceBuilder, core::Sandbox, tools::ToolsetOptions};
use workden_keeper::{Keeper, KeeperConfig};
use workden_mcp::McpServer;

/// Long enough for a busy machine. No test measures time: this only ends one that hangs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);

/// A directory, and a sandbox over it.
pub(crate) struct TestWorkspace {
    pub(crate) directory: TempDir,
    sandbox: Arc<dyn Sandbox>,
}

impl TestWorkspace {
    /// Must be called in a runtime.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let environment = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let sandbox = Arc::new(Keeper::new(KeeperConfig::host(directory.path(), environment)).unwrap());
        Self { directory, sandbox }
    }

    pub(crate) fn builder(&self) -> WorkspaceBuilder {
        Workspace::builder().remote(Arc::clone(&self.sandbox)).approvals(workden_mcp::approvals())
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

/// Waits for the process id that a command writes to a file.
pub(crate) async fn process_in(file: &Path) -> String {
    eventually("the command writes its process id", || {
        let text = std::fs::read_to_string(file).ok()?;
        text.strip_suffix('\n').map(str::to_owned)
    })
    .await
}

/// Waits for the end of a process.
pub(crate) async fn gone(process: &str) {
    let directory = format!("/proc/{process}");
    eventually("the process ends", || (!Path::new(&directory).exists()).then_some(())).await;
}

/// Waits until `look` finds something.
pub(crate) async fn eventually<T>(event: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    match tokio::time::timeout(DEADLINE, waiting).await {
        Ok(found) => found,
        Err(_) => panic!("not within {} s: {event}", DEADLINE.as_secs()),
    }
}
