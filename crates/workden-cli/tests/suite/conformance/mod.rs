//! The conformance suite over sandboxes as the library starts them, with this binary as their keeper, and
//! what must hold besides: nothing outlives a command, however a sandbox ends.

mod commands;
mod files;
mod lives;
mod ordinary_user;
mod orphans;
mod places;
mod servers;
