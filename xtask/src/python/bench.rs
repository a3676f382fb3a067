//! `cargo xtask bench python` and `bench kubernetes`: the package as it is shipped, beside the two libraries that it
//! replaces.
//!
//! Those come from PyPI, in a separate environment of the same Python.

use std::{fs, process::Command};

use super::{environment_for, home, native, test_environment, text, whole_path};
use crate::{Outcome, keeper, kubernetes, needs, workspace::succeed};

pub(crate) fn run(arguments: &[&str]) -> Outcome {
    // The other library searches with ripgrep, where there is one.
    needs::provide(needs::NEEDS)?;
    let program = whole_path(&keeper::build_command_line()?)?;
    compare("run.py", arguments, &[("WORKDEN_PROGRAM", text(&program))])
}

/// Compares pods, in a cluster of tests.
pub(crate) fn pods(arguments: &[&str]) -> Outcome {
    let cluster = kubernetes::prepare(keeper::Form::Shipped)?;
    compare("pods.py", arguments, &cluster.environment)
}

fn compare(script: &str, arguments: &[&str], environment: &[(&'static str, String)]) -> Outcome {
    let ours = test_environment()?;
    let theirs = environment_for("reference", "bench/requirements-reference.txt")?;
    native::module(keeper::Form::Shipped)?;
    let ground = home()?.join("bench");
    fs::create_dir_all(&ground).map_err(|error| format!("cannot create {}: {error}", ground.display()))?;
    let mut bench = Command::new(&ours);
    bench
        .arg(native::crate_directory().join("bench").join(script))
        .arg("--home")
        .arg(&ground)
        .arg("--reference")
        .arg(&theirs)
        .args(arguments)
        .env("PYTHONPATH", text(&whole_path(&native::source())?))
        .envs(environment.iter().map(|(name, value)| (name, value)));
    succeed(&mut bench)
}
