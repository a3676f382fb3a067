//! The conformance suite over sandboxes that the library starts with this binary as their keeper, and a further
//! guarantee: nothing outlives a command, however its sandbox ends.

mod commands;
mod files;
mod lives;
mod ordinary_user;
mod orphans;
mod places;
mod servers;
