//! The HTTP service of workden: agents of a team work in sessions of one server, each isolated, under policies that
//! hold, and people approve and watch what they do.
//!
//! A service starts with a directory and nothing else: Linux sandboxes, and SQLite. Docker, Kubernetes and Postgres are
//! configuration. Routes translate; what may be done is decided by the [`Workspace`](workden::Workspace) of a session.
//!
//! ```no_run
//! # async fn example() -> workden::Result<()> {
//! use workden_server::{Server, ServerConfig};
//!
//! let mut config = ServerConfig::default();
//! config.state = "/var/lib/workden".into();
//! let server = Server::start(config).await?;
//! println!("{}", server.url());
//! server.ended().await
//! # }
//! ```

#![forbid(unsafe_code)]

mod api_error;
mod api_input;
mod api_page;
mod approvals;
mod changes;
mod clock;
mod config;
mod dashboard;
mod database;
mod described_values;
mod disk;
mod e2b;
mod events;
mod identity;
mod listening;
mod operations;
mod ports;
mod processes;
mod sandboxd;
mod server;
mod service;
mod sessions;
mod snapshots;
mod traces;
mod usage;
mod v1;

pub use clock::Moment;
pub use config::{RuntimeAlias, ServerConfig, TenantQuotas};
pub use listening::{ConnectionLimits, TlsFiles};
pub use server::{NewApiKey, Server};
