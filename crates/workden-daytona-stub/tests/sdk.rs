//! The official Python SDK, unchanged, against the stub. It has a test binary of its own because it needs packages of
//! other people: `cargo xtask clients` installs them.

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use workden_daytona_stub::{Fault, FaultKind, Stub, StubOptions};
use workden_sandboxes::KeeperProgram;

const PARTS: &str = r#"["sandboxes", "files", "commands", "sessions", "terminals", "states"]"#;

/// Returns the interpreter with the SDK, which must be of the current list.
fn python() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let home = target.join("clients/daytona");
    let installed = std::fs::read_to_string(home.join("installed")).unwrap_or_default();
    let is_current = installed == include_str!("sdk/requirements.txt");
    assert!(
        is_current,
        "the SDK in {} is missing or of another version\nhint: run cargo xtask clients",
        home.display()
    );
    home.join("bin/python")
}

async fn stub() -> Stub {
    let keeper = KeeperProgram::at(env!("CARGO_BIN_EXE_workden-daytona-stub"));
    Stub::start(StubOptions::new(keeper)).await.unwrap()
}

/// Runs the script in a thread, while the stub is served in others.
async fn run(stub: &Stub) -> Output {
    let mut command = Command::new(python());
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/everything.py"))
        // The directory must not have a `.env` of another project.
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env("DAYTONA_API_URL", stub.url())
        .env("DAYTONA_API_KEY", stub.api_key())
        .env("DAYTONA_USE_DEPRECATED_POLLING", "true")
        .env_remove("PYTHONPATH");
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

async fn everything_works(stub: Stub) {
    let output = run(&stub).await;
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.trim() == PARTS, "{said}\n{wrong}");
    let counters = stub.counters();
    assert_eq!((counters.created, counters.known, counters.running), (2, 0, 0));
    let version = stub.requests().iter().find_map(|seen| seen.header("x-daytona-sdk-version").map(str::to_owned));
    assert_eq!(version.as_deref(), Some("0.226.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_sdk_works_with_the_stub() {
    everything_works(stub().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_sdk_understands_logs_whose_marks_are_split() {
    let stub = stub().await;
    stub.add_fault(Fault::always("GET /toolbox/*/process/session/*/command/*/logs", FaultKind::SplitMarks));
    everything_works(stub).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_sdk_notices_a_download_without_its_end() {
    let stub = stub().await;
    stub.add_fault(Fault::always("POST /toolbox/*/files/bulk-download", FaultKind::NoEndBoundary));
    let output = run(&stub).await;
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && wrong.contains("truncated"), "{wrong}");
}
