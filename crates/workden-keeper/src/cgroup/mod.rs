//! Control groups: they hold the limits of all commands together. The groups of a sandbox are made below or
//! beside the one that this process is in, in whichever version has the controller.
//!
//! Invariant: the keeper and its reapers are outside of the limited group, and the process that made a group
//! removes it.

mod counters;
mod created;
mod group;
mod hierarchies;
mod own;
mod plan;
mod transfer;
mod v1;
mod v2;

pub(crate) use self::{
    created::CreatedGroups,
    group::{Counted, Group, GroupLimits, LimitOutcome},
    own::OwnGroup,
    plan::GroupPlan,
};
