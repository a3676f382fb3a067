//! Sessions of tenants: their rows in the database, and their workspaces in this process.
//!
//! A session is opened by the first call that needs it, in whichever process that arrives: its sandbox is found by its
//! record, or started. A session whose time is over is ended by one process, which claims it first.

pub(crate) mod creation;
mod ending;
mod live;
mod request;
mod spares;
mod sweeper;
mod view;

pub(crate) use live::{LiveSession, SessionUse, requested};
pub(crate) use request::{AtSessionEnd, ExistingName, NewSession, SessionPolicy};
pub(crate) use spares::{Spares, keep_spares};
pub(crate) use sweeper::sweep;
pub(crate) use view::SessionView;
