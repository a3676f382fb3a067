//! One file for each target.

pub(crate) mod client;
pub(crate) mod document;
pub(crate) mod edit;
pub(crate) mod glob;
pub(crate) mod grep;
pub(crate) mod hashline;
pub(crate) mod path;
pub(crate) mod shell;
pub(crate) mod window;
