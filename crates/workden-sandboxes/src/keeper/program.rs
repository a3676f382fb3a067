//! `KeeperProgram`: where keepers come from.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use workden_core::{Error, ErrorKind, Result};

use crate::HostEnvironment;

/// The word that makes `workden` a keeper.
pub const KEEPER_WORD: &str = "keeper";

/// The programs that are keepers, by the names of their files.
const NAMES: [&str; 2] = ["workden-keeper", "workden"];

/// Whether this program answers to the word `keeper`.
static THIS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// A program that is a keeper when it is called with the word `keeper`: `workden` itself, `workden-keeper`, or a
/// program that calls `workden::init()`.
///
/// A builder that names none finds one: this program, if it is one; `workden-keeper` or `workden` in the directory of
/// this program; and the same on the search path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeeperProgram(PathBuf);

impl KeeperProgram {
    /// This program, for those that answer to the word `keeper`. It is the file that runs, also when another one has
    /// replaced it on disk since.
    #[must_use]
    pub fn this_program() -> Self {
        Self(PathBuf::from("/proc/self/exe"))
    }

    /// The program in this file: `workden`, or `workden-keeper`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Remembers that this program answers to the word `keeper`. `workden::init` does it.
    pub fn this_program_is_one() {
        THIS_PROGRAM.store(true, Ordering::Relaxed);
    }

    /// Finds a keeper for a sandbox that names none.
    ///
    /// # Errors
    ///
    /// `NotFound`, with what to do.
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

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

fn missing() -> Error {
    let sentence = "no keeper found: the program does not call `workden::init()`, and neither the program \
                    `workden-keeper` nor the program `workden` is beside it or on PATH";
    Error::new(ErrorKind::NotFound, sentence).hint(
        "make `workden::init();` the first line of `main`, run `cargo install workden-cli`, or name a program with \
         `.keeper(KeeperProgram::at(..))`",
    )
}
