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
const NAMES: [&str; 2] = [SMALL, "workden"];
/// The program that is a keeper and nothing else.
const SMALL: &str = "workden-keeper";

/// The variable with the path of a keeper for Linux sandboxes.
const VARIABLE: &str = "WORKDEN_LINUX_KEEPER";

/// What a keeper of this version prints for `--version`.
const SAME: &[u8] = concat!("workden-keeper ", env!("CARGO_PKG_VERSION")).as_bytes();

/// Whether this program supports the argument `keeper`.
static THIS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// A program that acts as a keeper when its first argument is `keeper`: `workden`, `workden-keeper`, or a program
/// that calls `workden::init()`.
///
/// By default a builder looks for one: the file that `WORKDEN_LINUX_KEEPER` names; this program, if it is one;
/// `workden-keeper` or `workden` in its directory; and the same on the search path.
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
        if let Some(named) = host.variable(VARIABLE) {
            return Ok(Self::at(named));
        }
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

    /// Returns an environment whose Linux sandboxes have a small keeper, unless it names one: the program
    /// `workden-keeper` of this version, if it is beside this program or in `../lib/workden`. Each sandbox takes less
    /// memory with it than with a program that has more in it.
    #[must_use]
    pub fn prefer_small(mut host: HostEnvironment) -> HostEnvironment {
        let small = || Self::small(&std::env::current_exe().ok()?)?.0.into_os_string().into_string().ok();
        if host.variable(VARIABLE).is_none()
            && let Some(file) = small()
        {
            host.variables.insert(VARIABLE.to_owned(), file);
        }
        host
    }

    fn small(program: &Path) -> Option<Self> {
        let directory = program.parent()?;
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let installed = directory.join("../lib/workden").join(format!("{SMALL}-{architecture}"));
        let is_same = |file: &PathBuf| {
            let told = std::process::Command::new(file).arg("--version").output();
            told.is_ok_and(|told| told.stdout.trim_ascii_end() == SAME)
        };
        let found = [directory.join(SMALL), installed].into_iter();
        found.filter(|file| crate::host_environment::is_program(file)).find(is_same).map(Self)
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
    fn a_small_keeper_must_be_of_this_version() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("bin");
        std::fs::create_dir_all(place.path().join("lib/workden")).unwrap();
        let program = directory.join("workden");
        assert_eq!(KeeperProgram::small(&program), None);
        // Written by another process: no thread of this one can hold it open for writing while it is started.
        let write = |file: &Path, version: &str| {
            let script = "printf '#!/bin/sh\\necho workden-keeper %s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            let made = std::process::Command::new("sh").arg("-c").arg(script).arg(file).arg(version).status();
            assert!(made.unwrap().success());
        };
        write(&directory.join(SMALL), "0.0.1");
        assert_eq!(KeeperProgram::small(&program), None);
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let installed = directory.join(format!("../lib/workden/workden-keeper-{architecture}"));
        write(&installed, env!("CARGO_PKG_VERSION"));
        assert_eq!(KeeperProgram::small(&program), Some(KeeperProgram::at(&installed)));
        let host = HostEnvironment {
            variables: [(VARIABLE.to_owned(), "/a/keeper".to_owned())].into(),
            ..HostEnvironment::default()
        };
        assert_eq!(KeeperProgram::find(&host).unwrap(), KeeperProgram::at("/a/keeper"));
    }

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
