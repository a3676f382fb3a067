//! Parts for your own backend, so that a request means the same in every backend: the search engine, windows of text,
//! and content in memory.

pub mod in_memory;

pub use crate::search::{
    Admission, DirectoryContext, FileSearch, LineSearch, LineWorker, TopEntries, TopMatches, WalkFilter,
};
