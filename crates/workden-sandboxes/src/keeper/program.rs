//! `KeeperProgram`: the executable of keepers.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use workden_core::{Error, ErrorKind, Result, VirtualPath, sandbox::Mount};
use workden_files::shown_at;

use crate::HostEnvironment;

/// The argument that makes `workden` a keeper.
pub const KEEPER_WORD: &str = "keeper";

/// File names of keeper programs.
const NAMES: [&str; 2] = ["workden-keeper", "workden"];

/// Whether this program supports the argument `keeper`.
static THIS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// A program that acts as a keeper when its first argument is `keeper`: `workden`, `workden-keeper`, or a program
/// that calls `workden::init()`.
///
/// By default a builder looks for one: this program, if it is one; `workden-keeper` or `workden` in its directory;
/// and the same on the search path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeeperProgram(PathBuf);

impl KeeperProgram {
    /// Uses this program, which must support the argument `keeper`. It is the running executable, even if the file
    /// was replaced on disk since.
    #[must_use]
    pub fn this_program() -> Self {
        Self(PathBuf::from("/proc/self/exe"))
    }

    /// Uses the program in this file: `workden`, or `workden-keeper`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Records that this program supports the argument `keeper`. `workden::init` calls it.
    pub fn this_program_is_one() {
        THIS_PROGRAM.store(true, Ordering::Relaxed);
    }

    /// Finds a keeper for a sandbox without an explicit one.
    ///
    /// # Errors
    ///
    /// `NotFound`, with a hint.
    pub fn find(host: &HostEnvironment) -> Result<Self> {
        if THIS_PROGRAM.load(Ordering::Relaxed) {
            return Ok(Self::this_program());
        }
        let own = std::env::current_exe().ok();
        let beside = own.as_deref().and_then(Path::parent).and_then(|directory| {
            NAMES.iter().map(|name| directory.join(name)).find(|file| crate::host_environment::is_program(file))
        });
        let on_path = || NAMES.iter().find_map(|name| host.program(name, |_| true));
        beside.or_else(on_path).map(Self).ok_or_else(missing)
    }

    /// Returns the path of the executable.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns where these directories show the program. It runs on the host, so that commands must not change it.
    pub(crate) fn inside(&self, shown: &[Mount]) -> Vec<VirtualPath> {
        match self.0.starts_with("/proc/self") {
            true => std::env::current_exe().map(|own| shown_at(&own, shown)).unwrap_or_default(),
            false => shown_at(&self.0, shown),
        }
    }
}

fn missing() -> Error {
    let sentence = "no keeper found: the program does not call `workden::init()`, and neither the program \
                    `workden-keeper` nor the program `workden` is beside it or on PATH";
    Error::new(ErrorKind::NotFound, sentence).hint(
        "make `workden::init();` the first line of `main`, run `cargo install workden-cli`, or set a program with \
         `.keeper(KeeperProgram::at(..))`",
    )
}

#[cfg(test)]
mod tests {
    use workden_core::sandbox::MountAccess;

    use super::*;

    #[test]
    fn a_program_in_a_writable_directory_is_found_there() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("work/bin")).unwrap();
        std::fs::write(place.path().join("work/bin/workden-keeper"), "").unwrap();
        std::os::unix::fs::symlink("work/bin", place.path().join("link")).unwrap();
        let program = KeeperProgram::at(place.path().join("link/workden-keeper"));
        let mount = |source: &str, access| Mount {
            source: place.path().join(source),
            at: VirtualPath::parse("/workspace").unwrap(),
            access,
        };
        let found = program.inside(&[mount("work", MountAccess::ReadWrite)]);
        assert_eq!(found, [VirtualPath::parse("/workspace/bin/workden-keeper").unwrap()]);
        assert!(
            program.inside(&[mount("work", MountAccess::ReadOnly), mount("none", MountAccess::ReadWrite)]).is_empty()
        );
    }
}
