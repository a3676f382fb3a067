//! The project's directory, its files, and cargo in it.

use std::{
    env,
    ffi::OsStr,
    iter,
    path::{Path, PathBuf},
    process::Command,
};

use crate::Outcome;

/// Cargo's arguments that build every library, program, test and example in the one profile of the tests. All steps
/// share this choice of packages: cargo unifies features over it, and another choice would compile the dependencies
/// again.
const BUILD: &[&str] = &["build", "--quiet", "--workspace", "--all-targets"];

/// A file of the project.
pub(crate) struct Source {
    /// Its path from the root of the project.
    pub(crate) path: String,
    /// Its content; bytes that are not UTF-8 become U+FFFD, which no check looks for.
    pub(crate) text: String,
}

/// Returns the root of the project, the parent of this crate's directory.
pub(crate) fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("xtask"), PathBuf::from);
    here.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Returns the directory of cargo's output.
pub(crate) fn target_directory() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Cargo compiles our own crates with clippy, and a warning is an error. It compiles the dependencies once: `cargo
/// clippy` before the build would check all of them only to compile them again.
const LINTED: [(&str, &str); 2] = [("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"), ("CLIPPY_ARGS", "-Dwarnings")];

/// Runs cargo at the root, with our standard output and error.
pub(crate) fn cargo(arguments: &[&str]) -> Outcome {
    cargo_with(arguments, &[])
}

/// Runs cargo with clippy as its compiler and with additional environment variables. Everything that uses the profile
/// of the tests is started with this: without clippy, cargo would compile our crates again.
pub(crate) fn linted_cargo(arguments: &[&str], environment: &[(&str, String)]) -> Outcome {
    let mut own = LINTED.map(|(name, value)| (name, value.to_owned())).to_vec();
    // Most tests wait for a process, so more of them run at a time than there are processors.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    own.push(("RUST_TEST_THREADS", (3 * processors).to_string()));
    cargo_with(arguments, &[&own, environment].concat())
}

/// Builds everything that `BUILD` names.
pub(crate) fn build() -> Outcome {
    linted_cargo(BUILD, &[])
}

/// Runs cargo with additional environment variables.
pub(crate) fn cargo_with(arguments: &[&str], environment: &[(&str, String)]) -> Outcome {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let environment = environment.iter().map(|(name, value)| (name, value));
    succeed(command(cargo).args(arguments).envs(environment).current_dir(root()))
}

/// Returns a command without the variables that cargo sets for this crate. Build scripts run again when these change, and
/// a cargo that you start yourself does not have them.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let of_this_crate = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_this_crate)) {
        command.env_remove(name);
    }
    command
}

/// Runs a program that `BUILD` has produced.
pub(crate) fn built(program: &str, arguments: &[&str]) -> Outcome {
    succeed(Command::new(target_directory().join("debug").join(program)).args(arguments).current_dir(root()))
}

/// Runs a command with our standard streams.
pub(crate) fn succeed(command: &mut Command) -> Outcome {
    let program = PathBuf::from(command.get_program());
    let status = command.status().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    if status.success() {
        return Ok(());
    }
    let name = program.file_name().unwrap_or_default();
    let words: Vec<_> = iter::once(name).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    Err(format!("`{}` failed ({status})", words.join(" ")))
}

/// Reads every tracked file, and every new one that is not ignored.
pub(crate) fn sources() -> Outcome<Vec<Source>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .map_err(|error| format!("cannot start git: {error}"))?;
    if !listed.status.success() {
        return Err(format!("git cannot list the files: {}", String::from_utf8_lossy(&listed.stderr).trim()));
    }
    let mut sources = Vec::new();
    for path in String::from_utf8_lossy(&listed.stdout).split_terminator('\0') {
        let whole = root().join(path);
        // The target of a link is checked at its own path; a file deleted but still in the index has no text.
        if whole.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            let bytes = std::fs::read(&whole).map_err(|error| format!("cannot read {path}: {error}"))?;
            sources.push(Source { path: path.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
    if sources.is_empty() { Err("git lists no files here".to_owned()) } else { Ok(sources) }
}
