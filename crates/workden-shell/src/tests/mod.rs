//! Tables of scripts with their commands, files and doubts.

mod constructs;
mod directories;
mod evasions;
mod limits;
mod rendering;
mod variables;
mod wrappers;

use rendering::check;
