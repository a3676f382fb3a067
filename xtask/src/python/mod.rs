//! `cargo xtask python` tests the Python package and checks its types; `cargo xtask wheel` builds and installs it.
//!
//! Python comes from the machine, packages from PyPI, everything else is built here, below `target/python`, except for
//! the native module, which Python finds only among the package's own files.

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
pub(crate) use self::native::crate_directory;
use crate::{
    Outcome, installed,
    keeper::Form,
    workspace::{self, succeed, target_directory},
};

/// The environment of a test run.
struct Ready {
    /// The Python interpreter of the virtual environment.
    python: PathBuf,
    /// Its version.
    version: Python,
    /// The variables by which tests find the package and its programs.
    variables: Vec<(&'static str, String)>,
}

/// Runs all tests with full line coverage, and the type check.
pub(crate) fn whole(environment: &[(&'static str, String)]) -> Outcome {
    let ready = prepare(environment)?;
    let mut pytest = vec!["pytest", "--cov=workden", "--cov-report=term-missing:skip-covered"];
    if !ready.has_daemon() {
        println!(
            "=== container tests are skipped: DOCKER_HOST is not set\nhint: cargo xtask docker -- cargo xtask python"
        );
        pytest.extend(["-m", "not docker"]);
    }
    match ready.hides_lines() {
        None => pytest.push("--cov-fail-under=100"),
        Some(why) => println!("=== line coverage is not checked: {why}"),
    }
    ready.run(&pytest)?;
    let python = ready.python.display().to_string();
    ready.run(&["pyright", "--pythonpath", &python])
}

/// Runs some tests, selected by pytest arguments.
pub(crate) fn some(arguments: &[&str], environment: &[(&'static str, String)]) -> Outcome {
    prepare(environment)?.run(&[&["pytest"], arguments].concat())
}

fn prepare(environment: &[(&'static str, String)]) -> Outcome<Ready> {
    let version = interpreters::newest()?;
    let python = test_environment()?;
    native::module(Form::Short)?;
    let mut variables = vec![
        // Programs that tests start also find the shared test modules.
        ("PYTHONPATH", format!("{}:{}", text(&whole_path(&native::source())?), text(&whole_path(&tests())?))),
        ("WORKDEN_PROGRAM", text(&native::program()?)),
        ("WORKDEN_KEEPERS", text(&whole_path(&target_directory().join("keepers"))?)),
    ];
    let stub = target_directory().join("debug/workden-daytona-stub");
    variables.push(("WORKDEN_DAYTONA_STUB", text(&whole_path(&stub)?)));
    variables.push(("COVERAGE_FILE", text(&home()?.join("coverage"))));
    // The tracer that sees all threads, if Python has it.
    if version.sees_all_threads() {
        variables.push(("COVERAGE_CORE", "sysmon".to_owned()));
    }
    variables.extend(environment.iter().cloned());
    Ok(Ready { python, version, variables })
}

impl Ready {
    /// Why line coverage would be incomplete, if it would.
    fn hides_lines(&self) -> Option<&'static str> {
        match (self.version.sees_all_threads(), self.has_daemon()) {
            (false, _) => Some("before Python 3.12, lines that threads of Rust call are not traced"),
            (true, false) => Some("container tests are skipped"),
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
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        let mut python = Command::new(&self.python);
        succeed(python.arg("-m").args(module).envs(variables).current_dir(native::crate_directory()))
    }
}

/// Creates the environment of the tests.
pub(crate) fn environment() -> Outcome {
    test_environment().map(drop)
}

/// Returns the Python of an environment with all test requirements and maturin.
fn test_environment() -> Outcome<PathBuf> {
    environment_for("test", "requirements-test.txt")
}

/// Returns the Python of an environment with the packages of a list.
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

/// Returns the newest supported Python of this machine.
pub(crate) fn interpreter() -> Outcome<PathBuf> {
    interpreters::newest().map(|python| python.program)
}

/// The directory of all this.
pub(crate) fn home() -> Outcome<PathBuf> {
    whole_path(&target_directory().join("python"))
}

/// Returns an absolute path, since commands run in other directories.
pub(crate) fn whole_path(path: &Path) -> Outcome<PathBuf> {
    absolute(workspace::root().join(path))
        .map_err(|error| format!("cannot find the path of {}: {error}", path.display()))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
