//! The isolation of a Linux sandbox, tested from inside: every attempt of the corpus as root and as an ordinary user.
//! Afterwards the host must be unharmed and the sandbox must work. Attempts that can be made without a sandbox succeed
//! there, which shows that they are real.

mod attempts;
mod covered;
mod floods;
mod host;
mod landlock;
mod lifecycle;
mod numbers;
mod streams;
mod survival;

use attempts::{Attempt, Unconfined};
use host::{Host, Runner, Tried, Way};

/// Makes every attempt and reports those that succeeded.
fn try_all(runner: &Runner) {
    let host = Host::start(runner);
    let mut failures = Vec::new();
    let mut count = 0;
    for attempt in attempts::all() {
        count += 1;
        for way in [Way::Direct, Way::Keeper] {
            let tried = host.try_in_sandbox(attempt, way);
            if !tried.held() {
                failures.push(format!("{} ({way:?}): {tried}", attempt.name));
            }
        }
    }
    failures.extend(host.harm());
    assert!(count >= 60, "only {count} attempts");
    assert!(failures.is_empty(), "{} of {count} attempts:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn nothing_gets_through_when_root_starts_the_sandbox() {
    try_all(&Runner::root());
}

#[test]
fn nothing_gets_through_when_an_ordinary_user_starts_it() {
    try_all(&Runner::ordinary_user());
}

#[test]
fn without_a_sandbox_the_attempts_do_get_through() {
    let host = Host::start(&Runner::root());
    let real = |attempt: &&Attempt| attempt.unconfined == Unconfined::Escapes;
    let blunt: Vec<String> = attempts::all()
        .filter(real)
        .map(|attempt| (attempt.name, host.try_unconfined(attempt)))
        .filter(|(_, tried)| !tried.escaped())
        .map(|(name, tried): (_, Tried)| format!("{name}: {tried}"))
        .collect();
    assert!(blunt.is_empty(), "these would not have shown an escape:\n{}", blunt.join("\n"));
}
