//! A keeper in this process, and what tests wait by.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

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

/// Returns the processes with this word in their command line or environment, except zombies.
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

/// How long an event may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns how often a loop runs: a tenth of the full count, unless `WORKDEN_TEST_LONG=1` is set.
pub(crate) fn rounds(full: usize) -> usize {
    match std::env::var("WORKDEN_TEST_LONG").as_deref() {
        Ok("1") => full,
        _ => full.div_ceil(10),
    }
}
