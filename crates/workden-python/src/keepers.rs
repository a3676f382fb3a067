//! Which program is the keeper: Python finds the one that came with the package, and names it here.

use std::path::PathBuf;

use workden_core::{Error, ErrorKind, Result};
use workden_sandboxes::KeeperProgram;

/// The program in this file.
pub(crate) fn program(named: Option<&PathBuf>) -> Result<KeeperProgram> {
    named.map(KeeperProgram::at).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "cannot run a command: the program `workden` is not there").hint(
            "install the package from a wheel, which has it, or put `workden` of the same version on the search path",
        )
    })
}
