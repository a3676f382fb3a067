//! `workden serve` on Postgres: the tests of `tests/service` again, and what several services on one database must hold.
//! It has a test binary of its own because it needs Debian's `postgresql`, which it starts itself.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod database;
mod restarts;
mod server;
mod several;

#[path = "../service/approvals.rs"]
mod approvals;
#[path = "../service/audit.rs"]
mod audit;
#[path = "../service/changes.rs"]
mod changes;
#[path = "../service/files.rs"]
mod files;
#[path = "../service/keys.rs"]
mod keys;
#[path = "../service/lifetime.rs"]
mod lifetime;
#[path = "../service/mcp.rs"]
mod mcp;
#[path = "../service/metrics.rs"]
mod metrics;
#[path = "../service/processes.rs"]
mod processes;
#[path = "../shared/recorded.rs"]
mod recorded;
#[path = "../service/reload.rs"]
mod reload;
#[path = "../service/secrecy.rs"]
mod secrecy;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../service/served.rs"]
mod served;
