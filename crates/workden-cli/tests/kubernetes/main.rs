//! Pods of a real cluster: the conformance suite over each way to a keeper, starts that fail, ends, and the service with its
//! manifests. Nothing of Kubernetes is mocked.
//!
//! `cargo xtask kubernetes -- cargo test -p workden-cli --test kubernetes` starts a cluster with the images that these
//! tests use. Whatever a test creates in it has a unique name, and is removed when the test ends.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod cli;
mod conforming;
mod doctor;
mod ending;
mod escapes;
mod faults;
mod faulty_proxy;
mod gvisor;
mod images;
mod impostors;
mod in_cluster;
mod lost_nodes;
mod managers;
mod permissions;
mod places;
mod pools;
mod program;
mod rights;
mod secrecy;
mod service;
mod sessions;
mod several_services;
mod starting;
mod volumes;

#[path = "../shared/checks.rs"]
mod checks;
#[path = "../postgres/database.rs"]
mod database;
#[path = "../shared/gvisor_checks.rs"]
mod gvisor_checks;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../shared/processes.rs"]
mod processes;
#[path = "../shared/recorded.rs"]
mod recorded;
#[path = "../shared/reused_sandboxes.rs"]
mod reused_sandboxes;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../service/served.rs"]
mod served;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../postgres/server.rs"]
mod server;
