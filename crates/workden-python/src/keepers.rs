//! Configures the keeper program: Python finds the one in the package, and passes its path.

use std::path::PathBuf;

use workden::sandboxes::KeeperProgram;
use workden_core::{Error, ErrorKind, Result};

/// Returns the keeper program at this path.
pub(crate) fn program(named: Option<&PathBuf>) -> Result<KeeperProgram> {
    named.map(KeeperProgram::at).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "cannot run a command: program `workden` not found")
            .hint("install the package from a wheel, or put `workden` of the same version on `PATH`")
    })
}
