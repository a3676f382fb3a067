//! `KeeperProgram`: where keepers come from. The command line starts itself again; a program that
//! embeds the library names a file.

use std::path::PathBuf;

use workden_core::{Error, ErrorKind};

/// The word that makes `workden` a keeper.
pub const KEEPER_WORD: &str = "keeper";

/// A program that is a keeper when it is called with the word `keeper`: `workden` itself, or
/// `workden-keeper`, which is nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeeperProgram(PathBuf);

impl KeeperProgram {
    /// This very program, for those that answer to the word `keeper` as `workden` does. It is the
    /// file that runs, also when another one has taken its place on disk since.
    #[must_use]
    pub fn this_program() -> Self {
        Self(PathBuf::from("/proc/self/exe"))
    }

    /// The program in this file: `workden`, or `workden-keeper`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Its file.
    pub(super) fn path(&self) -> &std::path::Path {
        &self.0
    }

    /// What is said where nobody named one.
    pub(crate) fn missing() -> Error {
        Error::new(ErrorKind::InvalidArgument, "the sandbox has no keeper: nobody said which program that is").hint(
            "name one with `.keeper(KeeperProgram::at(..))`: the file of `workden` or `workden-keeper`, of this version",
        )
    }
}
