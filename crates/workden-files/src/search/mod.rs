//! The one search engine for all backends: which paths a walk enters and shows, which lines of a file match, and the
//! first N results of an answer.
//!
//! Nothing here opens a file. A backend walks its own tree and asks a [`WalkFilter`] which entries to enter and to
//! show; it passes bytes to a [`LineSearch`] and gets matches.

mod ignore_chain;
pub(crate) mod line_pattern;
mod line_search;
mod top_n;
mod walk_filter;

pub use line_search::{FileSearch, LineSearch, LineWorker};
pub use top_n::{TopEntries, TopMatches};
pub use walk_filter::{Admission, DirectoryContext, WalkFilter};
