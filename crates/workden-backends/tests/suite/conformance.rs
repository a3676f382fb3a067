//! The conformance suite over every backend of this crate, plain and wrapped.
