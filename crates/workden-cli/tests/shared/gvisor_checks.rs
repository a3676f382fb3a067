//! The conformance suite in gVisor, with what commands cannot do there.

use futures_util::future::join_all;
use workden_conformance::{SandboxCheck, sandbox_checks};
use workden_core::Sandbox;

use crate::reused_sandboxes::hold_reusing;

/// The checks that do not hold in the gVisor of Debian 12, of 2022, and why. Python's own `pty` shows the same of its
/// terminals.
const LACKING: [(&str, &str); 7] = [
    ("inheritance::no_signal_is_blocked_or_ignored", "`/proc/PID/status` has no signal masks"),
    ("terminals::a_process_leads_its_terminal", "`/dev/tty` cannot be opened"),
    ("terminals::a_terminal_can_be_resized_and_says_so", "a terminal has no size, and `WINCH` is not sent"),
    ("terminals::closing_the_input_is_the_end_of_a_file", "^D does not end the input"),
    ("terminals::control_c_interrupts", "^C sends no signal"),
    ("terminals::control_z_stops_what_runs_in_a_shell_with_jobs", "^Z sends no signal"),
    ("terminals::what_is_typed_is_echoed_and_read_by_lines", "the erase key erases nothing"),
];

fn why_lacking(check: &SandboxCheck) -> Option<&'static str> {
    let name = check.to_string();
    LACKING.iter().find(|(lacking, _)| *lacking == name).map(|(_, why)| *why)
}

/// Proves that each check holds but for those of the list, and that those do not.
pub(crate) async fn conform_but_for_the_list<S: Sandbox>(make: impl AsyncFn() -> S) {
    hold_reusing(sandbox_checks().filter(|check| why_lacking(check).is_none()), &make).await;
    // At a time, since some wait for an event until they give up.
    let lacking: Vec<&SandboxCheck> = sandbox_checks().filter(|check| why_lacking(check).is_some()).collect();
    assert_eq!(lacking.len(), LACKING.len(), "a check of the list does not exist");
    let sandbox = make().await;
    let outcomes = join_all(lacking.iter().map(|check| check.run(&sandbox))).await;
    for (check, outcome) in lacking.iter().zip(outcomes) {
        assert!(outcome.is_err(), "{check} holds; the list says: {}", why_lacking(check).unwrap());
    }
    sandbox.stop().await.unwrap();
}
