//! The command part of the suite.

use workden_conformance::{SandboxCheck, sandbox_checks};
use workden_core::sandbox::Network;

use crate::{checks::hold, conformance::places::Places};

#[tokio::test]
async fn a_linux_sandbox_conforms() {
    let places = Places::new();
    hold(sandbox_checks(), async || places.linux().await).await;
}

#[tokio::test]
async fn a_linux_sandbox_without_namespaces_conforms() {
    let places = Places::new();
    hold(without_proc(), async || places.landlock(Network::None).await).await;
}

/// Returns the checks that do not need processes in `/proc`, where a sandbox without namespaces shows none. What the
/// other checks verify is tested from the host, in `orphans`, or through the kernel, in the tests of the level.
pub(crate) fn without_proc() -> impl Iterator<Item = &'static SandboxCheck> {
    let all: Vec<&str> = sandbox_checks().map(|check| check.name).collect();
    assert!(LOOKING_IN_PROC.iter().all(|name| all.contains(name)), "{all:?}");
    sandbox_checks().filter(|check| !LOOKING_IN_PROC.contains(&check.name))
}

const LOOKING_IN_PROC: [&str; 10] = [
    "a_command_has_its_standard_streams_open_and_nothing_else",
    "no_signal_is_blocked_or_ignored",
    "a_stopped_process_goes_on_when_told",
    "a_timeout_leaves_no_process",
    "a_dropped_call_leaves_no_process",
    "a_dropped_terminal_leaves_no_process",
    "a_dropped_process_leaves_no_process",
    "a_killed_job_leaves_no_process",
    "others_are_left_alone",
    "what_a_command_leaves_in_the_background_lives_on",
];

#[tokio::test]
async fn a_host_sandbox_conforms() {
    let places = Places::new();
    hold(sandbox_checks(), async || places.host().await).await;
}
