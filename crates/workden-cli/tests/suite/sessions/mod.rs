//! Sessions with real Linux sandboxes, with this binary as their keeper: many at once, killed ones, and those of a
//! process that was killed.

mod commandline;
mod crashes;
mod many;
mod places;
mod pruning;
mod replaced;
