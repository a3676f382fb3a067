//! What a backend of your own needs, so that it means the same by a request as the others do: the
//! search engine, windows of text, and content that is in memory as a whole.

pub use crate::{
    in_memory,
    search::{Admission, DirectoryContext, FileSearch, LineSearch, LineWorker, TopEntries, TopMatches, WalkFilter},
};
