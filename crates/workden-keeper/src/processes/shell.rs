//! The shell of this sandbox. It is chosen once, when the keeper starts, so that all commands have the same.

use std::sync::OnceLock;

use rustix::fs::{Access, access};
use workden_core::sandbox::Shell;

/// There is one root for all keepers of a process.
static SHELL: OnceLock<(Shell, &str)> = OnceLock::new();

/// Returns the shell and its file. The first call looks for it.
pub(crate) fn shell() -> (Shell, &'static str) {
    *SHELL.get_or_init(|| Shell::find(|file| access(file, Access::EXEC_OK).is_ok()))
}
