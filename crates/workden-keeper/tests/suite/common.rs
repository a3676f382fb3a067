//! A keeper in this process, and a way to find what survived.

use std::{collections::BTreeMap, path::Path, time::Duration};

use workden_core::sandbox::{ExecuteRequest, Executed, Sandbox};
use workden_keeper::{Keeper, KeeperConfig};

/// The environment of commands in these tests.
pub(crate) fn environment() -> BTreeMap<String, String> {
    BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned())])
}

/// A keeper on a directory of its own.
pub(crate) struct TestKeeper {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) keeper: Keeper,
}

impl TestKeeper {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(KeeperConfig::host(directory.path(), environment())).unwrap();
        Self { directory, keeper }
    }

    pub(crate) async fn run(&self, line: &str) -> Executed {
        self.keeper.execute(&ExecuteRequest::shell(line)).await.unwrap()
    }

    pub(crate) async fn run_for(&self, line: &str, timeout: Duration) -> Executed {
        self.keeper.execute(&ExecuteRequest::shell(line).timeout(timeout)).await.unwrap()
    }
}

/// The processes with this word in their command line or environment, zombies left out.
pub(crate) fn survivors(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if pid == std::process::id() {
            continue;
        }
        let read = |file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
        let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let environment = String::from_utf8_lossy(&read("environ")).into_owned();
        if line.contains(word) || environment.contains(word) {
            found.push(format!("{pid}: {line}"));
        }
    }
    found
}

/// For who counts descriptors, and who has many: tests are threads of one process.
pub(crate) static COUNTS_DESCRIPTORS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// How many descriptors this process has open.
pub(crate) fn open_descriptors() -> usize {
    std::fs::read_dir(Path::new("/proc/self/fd")).unwrap().count()
}
