//! The tools of the filesystem profile that differ from those of the console: they count characters instead of lines.

pub(super) mod edit_file;
pub(super) mod read_file;
pub(super) mod write_file;

use super::{Needs, Tool, parsed, tool};
