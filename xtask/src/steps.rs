//! The steps of `cargo xtask test`, as data, and the runner that reports on them.
//!
//! A step either passes or ends the run: what comes after a failure is not worth waiting for.

use std::time::{Duration, Instant};

use crate::{
    Outcome, clients,
    docker::{self, Prepared},
    keeper, python, tidy, workspace,
};

/// One thing that must hold.
pub(crate) struct Step {
    /// What the report calls it.
    pub(crate) name: &'static str,
    /// What is done.
    pub(crate) action: Action,
}

/// What a step does.
pub(crate) enum Action {
    /// The checks of `cargo xtask tidy`.
    Tidy,
    /// The keeper for containers, built and started: `cargo xtask keeper`.
    Keeper,
    /// A Docker daemon, a Podman and their images: `cargo xtask docker`. They stay until the last step is over.
    Docker,
    /// The clients that tests start, where they are missing: `cargo xtask clients`.
    Clients,
    /// The Python package, its tests and types: `cargo xtask python`, with what an earlier step prepared.
    Python,
    /// Its wheel, of a debug build, in every Python that is there: `cargo xtask wheel --short`.
    Wheel,
    /// Cargo, with these arguments, and with the variables by which tests find what an earlier step prepared.
    Cargo(&'static [&'static str]),
    /// Anything else; tests of the runner use it.
    #[cfg(test)]
    Call(fn() -> Outcome),
}

/// Everything that must hold before a change is merged, the quick answers first.
pub(crate) const FULL: &[Step] = &[
    Step { name: "tidy", action: Action::Tidy },
    Step { name: "clients", action: Action::Clients },
    Step { name: "keeper", action: Action::Keeper },
    Step { name: "docker", action: Action::Docker },
    // Without a choice of targets, which would leave out the examples that tests start, and the doctests.
    Step { name: "tests", action: Action::Cargo(&["test", "--workspace"]) },
    Step { name: "python", action: Action::Python },
    Step { name: "wheel", action: Action::Wheel },
    Step { name: "race", action: Action::Cargo(RACE) },
    Step { name: "differential", action: Action::Cargo(DIFFERENTIAL) },
    Step { name: "fuzz", action: Action::Cargo(FUZZ) },
];

/// All fuzz targets, on the stable compiler.
const FUZZ: &[&str] = &["run", "--release", "--package", "workden-fuzz", "--", "--seconds", "60"];

/// The shell analysis beside what shells really run.
const DIFFERENTIAL: &[&str] =
    &["test", "--release", "--package", "workden-policy", "--test", "differential", "--", "--seconds", "60"];

/// The short form of `cargo xtask bench race`: half of the time for each of its two grounds.
const RACE: &[&str] = &["run", "--release", "--package", "workden-bench", "--", "race", "--seconds", "30"];

/// What is worth running after every few edits.
pub(crate) const FAST: &[Step] = &[
    Step { name: "rustfmt", action: Action::Cargo(tidy::RUSTFMT) },
    Step { name: "clippy", action: Action::Cargo(tidy::CLIPPY) },
    Step { name: "tests", action: Action::Cargo(FAST_TESTS) },
    // Of sandboxes the quick ones: neither walls nor the whole contract, which start them by the thousand.
    Step { name: "sandboxes", action: Action::Cargo(FAST_SANDBOXES) },
];

const FAST_TESTS: &[&str] = &["test", "--workspace", "--exclude", "workden-cli", "--exclude", "workden-keeper"];
const FAST_SANDBOXES: &[&str] =
    &["test", "--package", "workden-cli", "--package", "workden-keeper", "--test", "suite", "--test", "sandbox"];

/// Runs the steps in order, up to the first that fails.
pub(crate) fn run(steps: &[Step]) -> Outcome {
    let started = Instant::now();
    let mut report = Vec::new();
    let mut failed = None;
    let mut prepared = None;
    for (index, step) in steps.iter().enumerate() {
        println!("\n=== [{}/{}] {}", index + 1, steps.len(), step.name);
        let began = Instant::now();
        let outcome = act(&step.action, &mut prepared);
        println!("=== {}: {} in {}", step.name, word(&outcome), seconds(began.elapsed()));
        report.push(line(step.name, word(&outcome), began.elapsed()));
        if let Err(why) = outcome {
            failed = Some(format!("step `{}` failed: {why}", step.name));
            break;
        }
    }
    report.extend(steps.iter().skip(report.len()).map(|step| line(step.name, "not run", Duration::ZERO)));
    println!("\n=== summary");
    report.iter().for_each(|line| println!("{line}"));
    println!("{}", line("all", if failed.is_some() { "FAILED" } else { "ok" }, started.elapsed()));
    failed.map_or(Ok(()), Err)
}

fn act(action: &Action, prepared: &mut Option<Prepared>) -> Outcome {
    match action {
        Action::Tidy => tidy::run(),
        Action::Keeper => keeper::run(),
        Action::Clients => clients::run(),
        Action::Docker => docker::prepare().map(|made| *prepared = Some(made)),
        Action::Python => python::whole(environment(prepared)),
        Action::Wheel => python::wheel::run(python::wheel::Form::Short),
        Action::Cargo(arguments) => workspace::cargo_with(arguments, environment(prepared)),
        #[cfg(test)]
        Action::Call(call) => call(),
    }
}

/// What tests find by it what was prepared.
fn environment(prepared: &Option<Prepared>) -> &[(&'static str, String)] {
    prepared.as_ref().map_or(&[], |made| &made.environment)
}

fn word(outcome: &Outcome) -> &'static str {
    if outcome.is_ok() { "ok" } else { "FAILED" }
}

fn line(name: &str, word: &str, took: Duration) -> String {
    format!("    {name:<14} {word:<8} {:>9}", seconds(took))
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn the_first_failing_step_is_named_and_ends_the_run() {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        fn passes() -> Outcome {
            CALLS.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        let failed = run(&[
            Step { name: "first", action: Action::Call(passes) },
            Step { name: "second", action: Action::Call(|| Err("it broke".to_owned())) },
            Step { name: "third", action: Action::Call(passes) },
        ]);
        assert_eq!(failed, Err("step `second` failed: it broke".to_owned()));
        assert_eq!(CALLS.load(Ordering::Relaxed), 1, "the step after the failing one must not run");
    }

    #[test]
    fn the_daemon_is_there_before_the_tests_and_quick_ones_do_without() {
        let place = |wanted: &str| FULL.iter().position(|step| step.name == wanted).unwrap();
        assert!(place("keeper") < place("docker") && place("docker") < place("tests"));
        assert!(place("docker") < place("python"));
        assert!(!FAST.iter().any(|step| matches!(step.action, Action::Docker | Action::Keeper)));
    }

    #[test]
    fn all_steps_run_when_all_pass() {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        fn passes() -> Outcome {
            CALLS.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        let steps = [
            Step { name: "first", action: Action::Call(passes) },
            Step { name: "second", action: Action::Call(passes) },
        ];
        assert_eq!(run(&steps), Ok(()));
        assert_eq!(CALLS.load(Ordering::Relaxed), 2);
    }
}
