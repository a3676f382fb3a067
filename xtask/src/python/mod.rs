//! `cargo xtask python`: the Python package, tested, and its types checked; `cargo xtask wheel`: built and installed.
//!
//! Python comes from the machine, packages from PyPI, everything else is built here. What is made is below
//! `target/python`, but for the native module, which Python finds only among the package's own files.

pub(crate) mod bench;
mod interpreters;
mod native;
pub(crate) mod wheel;

use std::{
    env,
    path::{Path, PathBuf, absolute},
    process::Command,
};

use self::interpreters::Python;
use crate::{Outcome, installed, keeper::target_directory, workspace};

/// What tests are run with.
struct Ready {
    /// The Python of the environment that they are run in.
    python: PathBuf,
    /// Which one that is.
    version: Python,
    /// By which the package is found, and what it finds.
    variables: Vec<(&'static str, String)>,
}

/// The whole of it: all tests, with all lines of the package run by them, and the types.
pub(crate) fn whole(environment: &[(&'static str, String)]) -> Outcome {
    let ready = prepare(environment)?;
    let mut pytest = vec!["pytest", "--cov=workden", "--cov-report=term-missing:skip-covered"];
    if !ready.has_daemon() {
        println!(
            "=== what needs containers is not tested: DOCKER_HOST names no daemon\nhint: cargo xtask docker -- cargo xtask python"
        );
        pytest.extend(["-m", "not docker"]);
    }
    match ready.hides_lines() {
        None => pytest.push("--cov-fail-under=100"),
        Some(why) => println!("=== that every line is run is not checked: {why}"),
    }
    ready.run(&pytest)?;
    let python = ready.python.display().to_string();
    ready.run(&["pyright", "--pythonpath", &python])
}

/// Some tests, as pytest is told which.
pub(crate) fn some(arguments: &[&str]) -> Outcome {
    prepare(&[])?.run(&[&["pytest"], arguments].concat())
}

fn prepare(environment: &[(&'static str, String)]) -> Outcome<Ready> {
    let version = interpreters::newest()?;
    let python = test_environment()?;
    native::module(native::Profile::Debug)?;
    let mut variables = vec![
        // What tests have in common is found by the programs they start, too.
        ("PYTHONPATH", format!("{}:{}", text(&whole_path(&native::source())?), text(&whole_path(&tests())?))),
        ("WORKDEN_PROGRAM", text(&native::program()?)),
        ("WORKDEN_KEEPERS", text(&whole_path(&target_directory().join("keepers"))?)),
    ];
    variables.push(("COVERAGE_FILE", text(&home()?.join("coverage"))));
    // The way of counting that sees all threads, where Python has it.
    if version.sees_all_threads() {
        variables.push(("COVERAGE_CORE", "sysmon".to_owned()));
    }
    variables.extend(environment.iter().cloned());
    Ok(Ready { python, version, variables })
}

impl Ready {
    /// Why some lines are not run, or not seen to be, if that is so.
    fn hides_lines(&self) -> Option<&'static str> {
        match (self.version.sees_all_threads(), self.has_daemon()) {
            (false, _) => Some("a Python before 3.12 does not tell of those that threads of Rust call"),
            (true, false) => Some("those about containers are not run"),
            (true, true) => None,
        }
    }

    /// Whether the environment names a daemon for the container tests. A named daemon has to answer.
    fn has_daemon(&self) -> bool {
        self.variables.iter().any(|(name, _)| *name == "DOCKER_HOST") || env::var_os("DOCKER_HOST").is_some()
    }

    /// Runs a module of the environment in the directory of the package, which has its settings.
    fn run(&self, module: &[&str]) -> Outcome {
        println!("=== python -m {}", module.join(" "));
        let status = Command::new(&self.python)
            .arg("-m")
            .args(module)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(native::crate_directory())
            .status()
            .map_err(|error| format!("cannot start {}: {error}", self.python.display()))?;
        let name = module.first().copied().unwrap_or_default();
        if status.success() { Ok(()) } else { Err(format!("{name} says no ({status})")) }
    }
}

/// Makes the environment that tests run in.
pub(crate) fn environment() -> Outcome {
    test_environment().map(drop)
}

/// The Python of an environment with everything that tests need, and maturin.
fn test_environment() -> Outcome<PathBuf> {
    environment_for("test", "requirements-test.txt")
}

/// The Python of an environment with what a list of the package says.
fn environment_for(purpose: &str, list: &str) -> Outcome<PathBuf> {
    let python = interpreters::newest()?;
    let home = home()?.join(format!("{purpose}-{}", python.version()));
    let list = native::crate_directory().join(list);
    installed::provide(&list, &home, "bin/python", || installed::by_pip(&python.program, &list, &home))?;
    Ok(home.join("bin/python"))
}

fn tests() -> PathBuf {
    native::crate_directory().join("tests")
}

/// Where all this is made.
fn home() -> Outcome<PathBuf> {
    whole_path(&target_directory().join("python"))
}

/// The path from the root of the file system, since commands are run in other directories.
fn whole_path(path: &Path) -> Outcome<PathBuf> {
    absolute(workspace::root().join(path)).map_err(|error| format!("cannot say where {} is: {error}", path.display()))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
