//! Sessions with real Linux sandboxes and this binary as their keeper: many at once, killed ones, and those of a killed
//! process.

mod commandline;
mod crashes;
mod many;
mod places;
mod pruning;
mod replaced;
