//! Builds what the tests of the package need from Rust: its native module, and the program that runs commands.

use std::{
    env, fs,
    path::{Path, PathBuf, absolute},
    process::Command,
};

use crate::{
    Outcome,
    keeper::Form,
    workspace::{self, target_directory},
};

/// The Python files of the package.
pub(super) fn source() -> PathBuf {
    crate_directory().join("python")
}

/// The crate of the package.
pub(crate) fn crate_directory() -> PathBuf {
    workspace::root().join("crates/workden-python")
}

/// Builds the native module into the Python files. In short form, builds the program with it.
pub(super) fn module(form: Form) -> Outcome {
    let profile = match form {
        Form::Short => {
            workspace::build()?;
            "debug"
        }
        Form::Shipped => {
            workspace::cargo(&["build", "--quiet", "--release", "--package", "workden-python"])?;
            "release"
        }
    };
    let place = source().join("workden/_native.abi3.so");
    // A process that has the old one open keeps it.
    let fresh = place.with_extension("fresh");
    strip(&target_directory().join(profile).join("libworkden_native.so"), &fresh)?;
    fs::rename(fresh, &place).map_err(|error| format!("cannot install {}: {error}", place.display()))
}

/// Builds the command line for tests, and returns its path. A `WORKDEN_PROGRAM` that is already set stays.
pub(super) fn program() -> Outcome<PathBuf> {
    if let Some(named) = env::var_os("WORKDEN_PROGRAM") {
        return Ok(named.into());
    }
    workspace::build()?;
    let file = target_directory().join("debug/workden");
    absolute(&file).map_err(|error| format!("cannot find the path of {}: {error}", file.display()))
}

/// Copies a file without its debug information, which is most of it.
pub(super) fn strip(file: &Path, copy: &Path) -> Outcome {
    let status = Command::new("strip").arg("-o").arg(copy).arg(file).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => fs::copy(file, copy).map(drop).map_err(|error| format!("cannot copy {}: {error}", file.display())),
    }
}
