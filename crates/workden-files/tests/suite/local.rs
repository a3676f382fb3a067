//! A host directory to test on, opened in both ways.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use workden_core::{Error, Result, VirtualPath};
use workden_files::{LocalBackend, PathOpening};

/// A workspace in `root`, beside a directory `outside` that nothing may touch.
pub(crate) struct Place {
    _directory: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) files: LocalBackend,
}

/// The content of the file outside.
pub(crate) const SECRET: &str = "the secret outside";

/// A fresh place for each way to open paths.
pub(crate) fn places() -> Vec<Place> {
    [PathOpening::Detect, PathOpening::StepByStep].map(place).into()
}

fn place(opening: PathOpening) -> Place {
    let directory = tempfile::tempdir().unwrap();
    let (root, outside) = (directory.path().join("root"), directory.path().join("outside"));
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret.txt"), SECRET).unwrap();
    let files = LocalBackend::options().path_opening(opening).open(&root).unwrap();
    Place { _directory: directory, root, outside, files }
}

impl Place {
    /// Nothing outside was read, written, made or removed.
    pub(crate) fn outside_is_untouched(&self) {
        let names: Vec<_> = std::fs::read_dir(&self.outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["secret.txt"]);
        assert_eq!(std::fs::read_to_string(self.outside.join("secret.txt")).unwrap(), SECRET);
    }
}

pub(crate) fn path(typed: &str) -> VirtualPath {
    VirtualPath::parse(typed).unwrap()
}

/// An error that says nothing about the host.
pub(crate) fn refused<T: std::fmt::Debug>(place: &Place, outcome: Result<T>) -> Error {
    let error = outcome.unwrap_err();
    let told = format!("{error:?}");
    for host in [&place.root, &place.outside] {
        assert!(!told.contains(host.to_str().unwrap()), "a host path in an error: {told}");
    }
    assert!(!told.contains(SECRET), "{told}");
    error
}

pub(crate) fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) {
    std::os::unix::fs::symlink(target, link).unwrap();
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap().block_on(future)
}

/// A flag that goes up at the end of its scope, also when a test fails: a thread that goes on until then
/// must not go on for ever.
#[derive(Default)]
pub(crate) struct Until(std::sync::Arc<std::sync::atomic::AtomicBool>);

impl Until {
    pub(crate) fn is_over(&self) -> impl Fn() -> bool + use<> {
        let flag = std::sync::Arc::clone(&self.0);
        move || flag.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// How often to repeat something: all `rounds` with `WORKDEN_TEST_LONG`, a tenth of them without.
pub(crate) fn rounds(rounds: usize) -> usize {
    if std::env::var_os("WORKDEN_TEST_LONG").is_some() { rounds } else { rounds.div_ceil(10) }
}
