//! `cargo xtask keeper`: builds the keeper for containers as one static file.
//!
//! The build is checked: the file needs no loader and no library, and runs in an empty root.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use crate::{
    Outcome,
    needs::is_root,
    workspace::{self, target_directory},
};

/// Its size limit; it is copied into every container.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// Which build of the keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Small and optimised, as releases and wheels carry it.
    Shipped,
    /// With the tests' profile, in a third of the time.
    Short,
}

/// Builds the keeper, and checks that it is static and runs in an empty root.
pub(crate) fn run(form: Form) -> Outcome {
    let file = build(form)?;
    let content = fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    if needs_a_loader(&content)? {
        return Err(format!("{} is not static: it needs a loader", file.display()));
    }
    let size = content.len() as u64;
    if form == Form::Shipped && size > MOST_BYTES {
        return Err(format!("{} has {size} bytes, and {MOST_BYTES} is the most", file.display()));
    }
    let version = run_in_empty_root(&file)?;
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let megabytes = size as f64 / (1024.0 * 1024.0);
    println!("{}\n  {megabytes:.1} MB, static, runs in an empty root: {version}", file.display());
    Ok(())
}

/// Builds the keeper and puts it where a `workden` that was built here looks for it. Returns the file.
pub(crate) fn build(form: Form) -> Outcome<PathBuf> {
    let built = build_static(form)?;
    let place = target_directory().join("keepers");
    let architecture = match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let file = place.join(format!("workden-keeper-{architecture}"));
    // Replace the file: the old one may be running. Another `cargo xtask` may do the same at this moment.
    let fresh = place.join(format!("fresh-{}", process::id()));
    fs::create_dir_all(&place)
        .and_then(|()| fs::copy(&built, &fresh))
        .and_then(|_| fs::rename(&fresh, &file))
        .map_err(|error| format!("cannot install the keeper in {}: {error}", place.display()))?;
    Ok(file)
}

/// Builds the command line as `cargo install` does. Returns the file.
pub(crate) fn build_command_line() -> Outcome<PathBuf> {
    workspace::cargo(&["build", "--release", "--package", "workden-cli"])?;
    Ok(target_directory().join("release/workden"))
}

fn build_static(form: Form) -> Outcome<PathBuf> {
    let (profile, directory) = match form {
        Form::Shipped => ("keeper", "keeper"),
        Form::Short => ("dev", "debug"),
    };
    let program = ["--package", "workden-keeper", "--bin", "workden-keeper"];
    // Only the last link differs: as a flag of all crates it would compile every dependency again. Without symbols it
    // is half as large, and is streamed into every pod.
    let link = ["--", "-C", "target-feature=+crt-static", "-C", "strip=symbols"];
    workspace::cargo(&[&["rustc", "--quiet", "--profile", profile][..], &program, &link].concat())?;
    Ok(target_directory().join(directory).join("workden-keeper"))
}

/// Whether a 64-bit ELF file has a program header that names a loader.
pub(crate) fn needs_a_loader(file: &[u8]) -> Outcome<bool> {
    const INTERPRETER: u64 = 3;
    let broken = || "the keeper is not a 64-bit ELF file".to_owned();
    let number = |at: u64, bytes: usize| -> Outcome<u64> {
        let at = usize::try_from(at).map_err(|_| broken())?;
        let found = file.get(at..at + bytes).ok_or_else(broken)?;
        Ok(found.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
    };
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return Err(broken());
    }
    let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        if number(first + index * size, 4)? == INTERPRETER {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Starts it in a root that contains nothing else, and returns its version.
fn run_in_empty_root(keeper: &Path) -> Outcome<String> {
    let root = env::temp_dir().join(format!("workden-empty-root-{}", std::process::id()));
    fs::create_dir(&root).map_err(|error| format!("cannot create an empty root: {error}"))?;
    let said = fs::copy(keeper, root.join("keeper"))
        .and_then(|_| {
            // Only root may change the root, at least in its own namespace.
            let enter: &[&str] = if is_root() { &["env"] } else { &["unshare", "--map-root-user"] };
            Command::new(enter[0]).args(&enter[1..]).arg("chroot").arg(&root).args(["/keeper", "--version"]).output()
        })
        .map_err(|error| format!("cannot start the keeper in an empty root: {error}"));
    let _ = fs::remove_dir_all(&root);
    let said = said?;
    if !said.status.success() {
        let why = String::from_utf8_lossy(&said.stderr).trim().to_owned();
        return Err(format!("the keeper does not run in an empty root ({}): {why}", said.status));
    }
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_this_machine_needs_a_loader_and_nonsense_is_no_program() {
        let own = fs::read(env::current_exe().unwrap()).unwrap();
        assert_eq!(needs_a_loader(&own), Ok(true));
        assert!(needs_a_loader(b"#!/bin/sh\n").is_err());
        assert!(needs_a_loader(&own[..40]).is_err());
    }
}
