//! The program `workden`, in a namespace of its own.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use tempfile::TempDir;

use crate::places::{BUSYBOX, kubeconfig, kubectl};

/// A namespace, and a directory for the records of sessions. Both are removed with this value.
pub(crate) struct Place {
    pub(crate) namespace: String,
    state: TempDir,
    kubeconfig: PathBuf,
}

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("workden-{name}-{}-{number}", std::process::id());
        kubectl(&["create", "namespace", &namespace]);
        kubectl(&["label", "namespace", &namespace, "pod-security.kubernetes.io/enforce=restricted"]);
        Self { namespace, state: tempfile::tempdir().unwrap(), kubeconfig: kubeconfig() }
    }

    /// Returns another directory for records, as on another machine.
    pub(crate) fn elsewhere() -> TempDir {
        tempfile::tempdir().unwrap()
    }

    /// Returns a file in the directory for records.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.state.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_at(self.state.path(), &self.kubeconfig, words)
    }

    pub(crate) fn command_at(&self, state: &Path, kubeconfig: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
        command.args(words).current_dir(self.state.path());
        command.env("XDG_STATE_HOME", state).env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
        command
    }

    pub(crate) fn workden(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Returns the words that select a pod of this namespace.
    pub(crate) fn pod(&self) -> [&str; 6] {
        ["--sandbox", "kubernetes", "--namespace", &self.namespace, "--image", BUSYBOX]
    }

    /// Returns what a command prints that succeeds.
    pub(crate) fn printed(&self, words: &[&str]) -> String {
        printed(self.command(words))
    }

    /// Returns the pods that are not being deleted.
    pub(crate) fn pods(&self) -> String {
        let listed = kubectl(&[
            "get",
            "pods",
            "--namespace",
            &self.namespace,
            "--output",
            "jsonpath={range .items[*]}{.metadata.name} {.metadata.deletionTimestamp}{\"\\n\"}{end}",
        ]);
        let stays = |line: &&str| line.split_whitespace().count() == 1;
        listed.lines().filter(stays).map(str::trim).collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        kubectl(&["delete", "namespace", &self.namespace, "--wait=false"]);
    }
}

/// Returns what a command prints that succeeds.
pub(crate) fn printed(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", told(&output));
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
