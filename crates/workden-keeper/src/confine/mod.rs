//! Entering a confinement: namespaces, a root of its own, ids, and no privileges. A `Confinement` is carried out
//! whole, or refused with the reason; never carried out in part.

mod bpf_builder;
mod detached_mounts;
mod devices;
mod errors;
mod etc;
mod filter;
mod git_links;
mod ids;
mod inotify;
mod inside;
mod landlock;
mod landlock_level;
mod layout;
mod limits;
mod network;
mod outside;
mod privileges;
mod probe;
mod procfs;
mod programs;
mod protected_paths;
mod root;
mod root_entry;
mod scratch;
mod seccomp;
mod setup;
mod setup_channel;
mod sources;
mod syscalls;

pub use self::{
    landlock::LEVEL_VERSION as LANDLOCK_LEVEL_VERSION,
    landlock_level::LACKS as LANDLOCK_LEVEL_LACKS,
    layout::in_sandbox,
    probe::{landlock_version, probe},
    setup::enter,
};
pub(crate) use self::{
    layout::Purpose,
    setup::{SetupSide, begin, enter_leased},
};
