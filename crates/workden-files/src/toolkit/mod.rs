//! What a backend of your own needs, so that it means the same by a request as the others do: the
//! search engine, windows of text, and content that is in memory as a whole.

pub mod in_memory;

pub use crate::search::{
    Admission, DirectoryContext, FileSearch, LineSearch, LineWorker, TopEntries, TopMatches, WalkFilter,
};
