//! Listing, glob and grep: requests, answers, and the one engine that every backend uses.
//!
//! Nothing here opens a file. A backend walks its own tree and asks a [`Screen`] what to enter and
//! what to show; it hands bytes to a [`LineSearch`] and gets matches. So memory and disk cannot
//! come to mean different things by the same request.

mod answer;
mod compiled_before;
pub mod glob;
mod glob_syntax;
mod ignore_chain;
mod kept;
mod line_matches;
mod lines;
pub mod overlap;
mod path_rules;
mod pattern;
mod request;
mod screen;
mod text_pattern;

pub use answer::{Completeness, FileMatches, Globbed, Grepped, Listing, Skipped};
pub use glob::PathPattern;
pub use ignore_chain::IgnoreChain;
pub use kept::{KeptEntries, KeptMatches};
pub use line_matches::{Iter as LineMatchesIter, LineMatch, LineMatches, LineRole};
pub use lines::{FileSearch, LineSearch, LineWorker};
pub use pattern::{LetterCase, Pattern, Span, Syntax};
pub use request::{
    Alias, Context, Detail, GlobKinds, GlobRequest, GrepRequest, Hidden, IgnoreFiles, Linked, ListRequest, View,
};
pub use screen::{Admission, DirectoryContext, Screen};
pub use text_pattern::TextPattern;
