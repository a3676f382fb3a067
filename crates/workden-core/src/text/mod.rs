//! Text for people and models: encodings, windows, numbered lines, exact edits and hashline edits. All functions are
//! pure; none opens a file.

pub mod change;
mod changed_lines;
mod collect;
pub mod edit;
pub mod encoding;
pub mod hashline;
mod near_miss;
pub mod numbered;
mod places;
pub mod scan;
pub mod splice;
pub mod window;

pub use change::{Change, Outcome, Plan};
pub use changed_lines::{ChangedLine, ChangedLines};
pub use edit::{EditPlan, Occurrences, Replacement};
pub use encoding::Encoding;
pub use hashline::{HashlineEdit, HashlineOutcome};
pub use numbered::Numbered;
pub use scan::TextSource;
pub use splice::Splice;
pub use window::{Cut, Excerpt, Extent, TextWindow};
