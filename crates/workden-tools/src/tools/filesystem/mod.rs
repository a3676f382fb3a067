//! The tools of the profile for documents that the console has in another form: characters instead of
//! lines, and one text instead of many.

pub(super) mod edit_file;
pub(super) mod read_file;
pub(super) mod write_file;

use super::{Kind, Tool, parsed, tool};
