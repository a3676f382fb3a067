//! Listing, glob and grep: requests, answers, and the path patterns that rules and globs share.
//!
//! The search engine in `workden-files` is the same for every backend, so that a request means the same in memory and
//! on disk.

mod answer;
pub mod glob;
mod glob_regex;
mod glob_syntax;
mod line_matches;
pub mod overlap;
mod path_rules;
mod pattern;
mod pattern_cache;
mod request;
mod text_pattern;

pub use answer::{Completeness, FileMatches, Globbed, Grepped, Listing, Skipped};
pub use glob::PathPattern;
pub use line_matches::{Iter as LineMatchesIter, LineMatch, LineMatches, LineRole};
pub use pattern::{LetterCase, Pattern, Span, Syntax};
pub use request::{
    Alias, Context, Detail, GlobKinds, GlobRequest, GrepRequest, Hidden, IgnoreFiles, Linked, ListRequest, View,
};
pub use text_pattern::TextPattern;
