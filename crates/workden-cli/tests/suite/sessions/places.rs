//! Directories of the host for sessions, and the processes that they start.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::{KeeperProgram, LinuxLauncher, LinuxSandbox};
use workden_sessions::{SessionId, SessionManager, SessionManagerBuilder};

/// The directories of one test.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::Builder::new().prefix("wd").tempdir_in("/tmp").unwrap() }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    pub(crate) fn builder(&self) -> SessionManagerBuilder {
        builder(&self.state()).workspace_root(self.root())
    }

    /// Returns the process ids of the keepers that have a directory.
    pub(crate) fn keepers(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.state()) else { return Vec::new() };
        let files = entries.flatten().filter_map(|entry| std::fs::read_to_string(entry.path().join("keeper.pid")).ok());
        files.filter_map(|said| said.split(' ').next().map(str::to_owned)).collect()
    }

    /// Returns what sandboxes have left in the directory of the host.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.state()) else { return Vec::new() };
        entries.flatten().map(|entry| entry.path()).collect()
    }
}

pub(crate) fn builder(state: &Path) -> SessionManagerBuilder {
    let template = LinuxSandbox::builder().keeper(KeeperProgram::at(env!("CARGO_BIN_EXE_workden")));
    SessionManager::builder(LinuxLauncher::new(template, state))
}

pub(crate) fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

pub(crate) async fn run(sandbox: &dyn Sandbox, line: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap().output.text().to_string()
}

/// Returns whether a process runs; a zombie does not.
pub(crate) fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, after)| !after.trim_start().starts_with('Z'))
}
