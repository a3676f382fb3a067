//! `StateDirectory`: where a service of a test keeps its state. Sandboxes outlive their service; they end with this value.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// The directory of a service. Dropped, it is removed with the sandboxes whose files are in it.
#[derive(Debug)]
pub(crate) struct StateDirectory(TempDir);

impl StateDirectory {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for StateDirectory {
    fn drop(&mut self) {
        // A name that no other directory has. A sandbox has a mount of what is in it.
        let Some(name) = self.path().file_name().and_then(|name| name.to_str()) else { return };
        let name = format!("/{name}/");
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            if fs::read_to_string(process.path().join("mountinfo")).is_ok_and(|mounts| mounts.contains(&name)) {
                let _ = Command::new("kill").arg("-KILL").arg(process.file_name()).stderr(Stdio::null()).status();
            }
        }
    }
}
