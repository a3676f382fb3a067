//! The client of sandboxd, unchanged, against a real `workden serve` with Linux sandboxes. It has a test binary of its own
//! because it needs packages of other people: `cargo xtask clients` installs them.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../shared/client_service.rs"]
mod client_service;

use std::{path::Path, process::Command};

use client_service::{ClientService, home, output_of, said};

#[test]
fn the_client_works_unchanged_and_its_attacks_are_refused() {
    let service = ClientService::start();
    let python = home("sandboxd", include_str!("requirements.txt")).join("bin/python");
    let mut command = Command::new(python);
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandboxd/everything.py"))
        .env("SANDBOXD_URL", format!("{}/sandboxd", service.url))
        .env("SANDBOXD_TOKEN", &service.key)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let parts = said(&output_of(&mut command));
    assert_eq!(parts.lines().collect::<Vec<_>>(), ["runs", "files", "sessions", "events", "archives", "refusals"]);
}
