//! The steps of `cargo xtask test`, as data, and their runner.
//!
//! A step either passes or ends the run. One cargo build produces everything that the later steps start, so that no
//! crate is compiled twice for another profile or another choice of packages.

use std::time::{Duration, Instant};

use crate::{
    Outcome, background,
    background::Background,
    clients,
    docker::{self, Prepared},
    keeper, kubernetes, needs, python, tidy, workspace,
};

/// One check.
pub(crate) struct Step {
    /// Its name in the report.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) action: Action,
}

/// What a step does.
pub(crate) enum Action {
    /// Starts `cargo xtask prepare`, which downloads and installs while the next steps compile.
    StartPreparing,
    /// Waits for `cargo xtask prepare`.
    FinishPreparing,
    /// The text checks of `cargo xtask tidy`, which compile nothing.
    Text,
    /// Every library, program, test and example, with clippy as the compiler.
    Build,
    /// Builds and starts the keeper for containers, with the tests' profile.
    Keeper,
    /// A Docker daemon, a Podman and their images: `cargo xtask docker`. They stay until the last step ends.
    Docker,
    /// The Python package, its tests and types: `cargo xtask python`, with the services of an earlier step.
    Python,
    /// Its wheel, of a debug build, in every Python of this machine: `cargo xtask wheel --short`.
    Wheel,
    /// Cargo, with these arguments and the variables by which tests find the services of an earlier step.
    Cargo(&'static [&'static str]),
    /// A program that the `build` step produced, with these arguments.
    Built(&'static str, &'static [&'static str]),
    /// A Kubernetes cluster, whose programs were built beside earlier steps, and the tests that need one:
    /// `cargo xtask kubernetes`.
    Kubernetes,
    /// Anything else; tests of the runner use it.
    #[cfg(test)]
    Call(fn() -> Outcome),
}

/// Everything that must pass before a change is merged, the quick steps first.
pub(crate) const FULL: &[Step] = &[
    Step { name: "text", action: Action::Text },
    Step { name: "prepare", action: Action::StartPreparing },
    Step { name: "build", action: Action::Build },
    Step { name: "keeper", action: Action::Keeper },
    Step { name: "prepared", action: Action::FinishPreparing },
    Step { name: "docker", action: Action::Docker },
    // Without a choice of targets, which would link the Python extension as a program, and leave out the doctests.
    // Every failure of a run in one report.
    Step { name: "tests", action: Action::Cargo(&["test", "--workspace", "--no-fail-fast"]) },
    Step { name: "python", action: Action::Python },
    Step { name: "wheel", action: Action::Wheel },
    Step { name: "race", action: Action::Built("workden-bench", &["race", "--seconds", "12"]) },
    Step { name: "differential", action: Action::Cargo(DIFFERENTIAL) },
    Step { name: "fuzz", action: Action::Built("workden-fuzz", &["--seconds", "12"]) },
    Step { name: "kubernetes", action: Action::Kubernetes },
];

/// The tests that need a cluster.
pub(crate) const CLUSTER: &[Step] = &[Step { name: "kubernetes", action: Action::Kubernetes }];

/// Packages every crate that is meant to be published. The `build` step has compiled them.
const PUBLISH: &[&str] = &[
    "publish",
    "--quiet",
    "--dry-run",
    "--no-verify",
    "--allow-dirty",
    "--workspace",
    "--exclude=workden-bench",
    "--exclude=workden-daytona-stub",
    "--exclude=workden-fuzz",
    "--exclude=workden-python",
    "--exclude=xtask",
];

/// Compares the shell analysis with real shells, for longer than the other tests do.
const DIFFERENTIAL: &[&str] = &["test", "--workspace", "--test", "differential", "--", "--seconds", "12"];

/// The steps to run after every few edits.
pub(crate) const FAST: &[Step] = &[
    Step { name: "text", action: Action::Text },
    Step { name: "build", action: Action::Build },
    Step { name: "tests", action: Action::Cargo(FAST_TESTS) },
];

/// The unit tests, and of the integration tests those that are over in a moment: isolation and contract tests start
/// sandboxes by the thousand.
const FAST_TESTS: &[&str] = &[
    "test",
    "--workspace",
    // Its library has no tests in Rust, and `--lib` would link them as a program.
    "--exclude=workden-python",
    "--lib",
    "--bins",
    "--test",
    "suite",
    "--",
    "--skip",
    "walls::",
    "--skip",
    "conformance::",
    "--skip",
    "conforms::",
    "--skip",
    "leftovers::",
    "--skip",
    "sessions::many",
];

/// What steps pass on to later ones.
#[derive(Default)]
struct Made {
    preparing: Option<Background>,
    building_cluster: Option<Background>,
    services: Option<Prepared>,
}

impl Made {
    /// The variables by which tests find the services.
    fn environment(&self) -> &[(&'static str, String)] {
        self.services.as_ref().map_or(&[], |made| &made.environment)
    }
}

/// Runs the steps in order, up to the first that fails.
pub(crate) fn run(steps: &[Step]) -> Outcome {
    let started = Instant::now();
    let mut report = Vec::new();
    let mut failed = None;
    let mut made = Made::default();
    for (index, step) in steps.iter().enumerate() {
        println!("\n=== [{}/{}] {}", index + 1, steps.len(), step.name);
        let step_started = Instant::now();
        let outcome = act(&step.action, &mut made);
        println!("=== {}: {} in {}", step.name, word(&outcome), seconds(step_started.elapsed()));
        report.push(line(step.name, word(&outcome), step_started.elapsed()));
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

fn act(action: &Action, made: &mut Made) -> Outcome {
    match action {
        Action::StartPreparing => {
            // Before they start, since two installations at once fail.
            needs::provide(&[needs::TOOLCHAIN, needs::CLUSTER].concat())?;
            made.preparing = Some(background::start(&["prepare"])?);
            made.building_cluster = Some(background::start(&["build-cluster"])?);
            Ok(())
        }
        Action::FinishPreparing => made.preparing.take().map_or(Ok(()), Background::finish),
        Action::Text => tidy::text(),
        Action::Build => workspace::build(),
        Action::Keeper => keeper::run(keeper::Form::Short),
        Action::Docker => docker::prepare(keeper::Form::Short).map(|services| made.services = Some(services)),
        Action::Python => python::whole(made.environment()),
        Action::Wheel => python::wheel::run(keeper::Form::Short),
        Action::Cargo(arguments) => workspace::linted_cargo(arguments, made.environment()),
        Action::Built(program, arguments) => workspace::built(program, arguments),
        Action::Kubernetes => {
            made.building_cluster.take().map_or(Ok(()), Background::finish)?;
            kubernetes::test()
        }
        #[cfg(test)]
        Action::Call(call) => call(),
    }
}

/// `cargo xtask prepare`: installs and downloads whatever the tests use, and compiles nothing. It also packages the
/// crates, which mostly waits for the registry.
pub(crate) fn prepare() -> Outcome {
    needs::provide(&[needs::NEEDS, needs::DOCKER, needs::KUBERNETES].concat())?;
    clients::run()?;
    python::environment()?;
    docker::make_images()?;
    workspace::cargo(PUBLISH)
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
    fn services_are_started_before_their_tests_and_the_quick_form_starts_none() {
        let place = |wanted: &str| FULL.iter().position(|step| step.name == wanted).unwrap();
        assert!(place("prepare") < place("prepared") && place("prepared") < place("docker"));
        assert!(place("keeper") < place("docker") && place("docker") < place("tests"));
        assert!(place("docker") < place("python") && place("build") < place("race"));
        assert_eq!(place("kubernetes"), FULL.len() - 1, "its cluster is built beside all others");
        let starts = |step: &Step| {
            matches!(step.action, Action::Docker | Action::Keeper | Action::StartPreparing | Action::Kubernetes)
        };
        assert!(!FAST.iter().any(starts));
    }
}
