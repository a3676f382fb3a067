//! What scripts are found to do, as tables: a script, and its commands, files and doubts.

mod constructs;
mod evasions;
mod nasty;
mod places;
mod rendering;
mod seen_through;

use rendering::check;
