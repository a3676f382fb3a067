//! `cargo xtask dist`: builds everything that a release consists of, for every platform, on this machine.
//!
//! zig compiles C and links for all of them. Linux programs are static. What macOS programs use of the frameworks of
//! Apple's SDK, which is not here, is listed in `xtask/frameworks` for the linker: the functions by which TLS reads the
//! certificates that the system trusts. Each file is checked before it counts as built.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Outcome, installed,
    keeper::needs_a_loader,
    python::{self, wheel::Carried},
    workspace::{self, succeed, target_directory},
};

/// A platform that releases are built for.
struct Platform {
    name: &'static str,
    /// Rust's target of the programs.
    programs: &'static str,
    /// Rust's target of the Python extension, which is loaded into a Python that is not static.
    extension: &'static str,
    /// What a container daemon calls the architecture, where containers can run the programs.
    container: Option<&'static str>,
    /// How an executable file of the platform starts, and the bytes that name its processor with their position.
    format: (&'static [u8], usize, &'static [u8]),
}

const ELF: &[u8] = b"\x7fELF\x02\x01";
const MACH_O: &[u8] = &[0xcf, 0xfa, 0xed, 0xfe];

const PLATFORMS: [Platform; 4] = [
    Platform {
        name: "linux-x86_64",
        programs: "x86_64-unknown-linux-musl",
        extension: "x86_64-unknown-linux-gnu",
        container: Some("amd64"),
        format: (ELF, 18, &[0x3e, 0]),
    },
    Platform {
        name: "linux-aarch64",
        programs: "aarch64-unknown-linux-musl",
        extension: "aarch64-unknown-linux-gnu",
        container: Some("arm64"),
        format: (ELF, 18, &[0xb7, 0]),
    },
    Platform {
        name: "macos-x86_64",
        programs: "x86_64-apple-darwin",
        extension: "x86_64-apple-darwin",
        container: None,
        format: (MACH_O, 4, &[7, 0, 0, 1]),
    },
    Platform {
        name: "macos-aarch64",
        programs: "aarch64-apple-darwin",
        extension: "aarch64-apple-darwin",
        container: None,
        format: (MACH_O, 4, &[12, 0, 0, 1]),
    },
];

/// Builds the release of the named platforms, or of all.
pub(crate) fn run(names: &[&str]) -> Outcome {
    let known = || PLATFORMS.map(|platform| platform.name).join(", ");
    if let Some(unknown) = names.iter().find(|name| PLATFORMS.iter().all(|platform| platform.name != **name)) {
        return Err(format!("invalid platform `{unknown}`\nhint: {}", known()));
    }
    let wanted = |platform: &&Platform| names.is_empty() || names.contains(&platform.name);
    let zig = Zig::installed()?;
    let place = target_directory().join("dist");
    fs::create_dir_all(&place).map_err(|error| format!("cannot create {}: {error}", place.display()))?;
    // Containers on every platform run Linux, so every wheel carries both keepers.
    let mut keepers = Vec::new();
    for platform in &PLATFORMS {
        if let Some(container) = platform.container {
            let built = zig.build(platform, ("workden-keeper", "workden-keeper"), "keeper")?;
            keepers.push(put(&built, &place.join(format!("workden-keeper-{container}")))?);
        }
    }
    for platform in PLATFORMS.iter().filter(wanted) {
        let built = zig.build(platform, ("workden-cli", "workden"), "release")?;
        let program = put(&built, &place.join(format!("workden-{}", platform.name)))?;
        zig.wheel(platform, &program, &keepers, &place)?;
    }
    Ok(())
}

/// zig, cargo-zigbuild and maturin, in an environment of Python.
pub(crate) struct Zig {
    home: PathBuf,
}

impl Zig {
    pub(crate) fn installed() -> Outcome<Self> {
        let list = workspace::root().join("xtask/dist-requirements.txt");
        let home = python::home()?.join("dist-tools");
        let python = python::interpreter()?;
        installed::provide(&list, &home, "bin/maturin", || installed::by_pip(&python, &list, &home))?;
        let targets = PLATFORMS.iter().flat_map(|platform| [platform.programs, platform.extension]);
        installed::succeed(Command::new("rustup").args(["target", "add"]).args(targets))?;
        Ok(Self { home })
    }

    /// Returns a command with the tools on its path.
    pub(crate) fn command(&self, program: &str) -> Command {
        let bin = self.home.join("bin");
        let rest = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([bin.clone()].into_iter().chain(env::split_paths(&rest))).unwrap_or(rest);
        let mut command = Command::new(bin.join(program));
        command.env("PATH", path).env("CARGO_PROFILE_RELEASE_STRIP", "true");
        // Cargo sets these for this program; they would select its toolchain file and manifest for the tools too.
        command.env_remove("CARGO_MANIFEST_DIR");
        command
    }

    /// Returns a command that links for a platform.
    fn command_for(&self, platform: &Platform, program: &str) -> Command {
        let mut command = self.command(program);
        if platform.container.is_none() {
            let frameworks = workspace::root().join("xtask/frameworks");
            let target = platform.programs.to_uppercase().replace('-', "_");
            command.env(format!("CARGO_TARGET_{target}_RUSTFLAGS"), format!("-Lframework={}", frameworks.display()));
        }
        command
    }

    /// Builds a program of a package with a profile, checks it, and returns the file.
    fn build(&self, platform: &Platform, (package, program): (&str, &str), profile: &str) -> Outcome<PathBuf> {
        println!("=== {program} for {}", platform.name);
        let target = platform.programs;
        let mut zigbuild = self.command_for(platform, "cargo-zigbuild");
        zigbuild.args(["zigbuild", "--quiet", "--profile", profile, "--target", target]);
        zigbuild.args(["--package", package, "--bin", program]);
        succeed(zigbuild.current_dir(workspace::root()))?;
        let file = target_directory().join(target).join(profile).join(program);
        check(platform, &file)?;
        Ok(file)
    }

    /// Builds the wheel that carries these programs.
    fn wheel(&self, platform: &Platform, program: &Path, keepers: &[PathBuf], place: &Path) -> Outcome {
        println!("=== wheel for {}", platform.name);
        let carried = Carried::copies(program, keepers)?;
        let mut maturin = self.command_for(platform, "maturin");
        maturin.args(["build", "--quiet", "--release", "--strip", "--zig", "--target", platform.extension]);
        if platform.container.is_some() {
            maturin.args(["--compatibility", "manylinux_2_17"]);
        }
        // The stable ABI: the interpreter only tells maturin which Python is the oldest.
        maturin.args(["--interpreter", "python3.10", "--out"]).arg(python::whole_path(place)?);
        let built = succeed(maturin.current_dir(python::crate_directory()));
        carried.remove();
        built
    }
}

/// Checks that a file is a program of the platform, and static on Linux.
fn check(platform: &Platform, file: &Path) -> Outcome {
    let content = fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    if !is_for(platform, &content) {
        return Err(format!("{} is not a program for {}", file.display(), platform.name));
    }
    if platform.container.is_some() && needs_a_loader(&content)? {
        return Err(format!("{} is not static: it needs a loader", file.display()));
    }
    Ok(())
}

fn is_for(platform: &Platform, content: &[u8]) -> bool {
    let (magic, at, processor) = platform.format;
    content.starts_with(magic) && content.get(at..at + processor.len()) == Some(processor)
}

fn put(built: &Path, file: &Path) -> Outcome<PathBuf> {
    fs::copy(built, file).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let megabytes = fs::metadata(file).map_or(0, |file| file.len()) as f64 / (1024.0 * 1024.0);
    println!("{}\n  {megabytes:.1} MB", file.display());
    Ok(file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_another_platform_is_rejected() {
        let mut arm = vec![0; 64];
        arm[..6].copy_from_slice(ELF);
        arm[18] = 0xb7;
        let mut mac = vec![0; 64];
        mac[..8].copy_from_slice(&[0xcf, 0xfa, 0xed, 0xfe, 12, 0, 0, 1]);
        let fits = |content: &[u8]| {
            let fitting = PLATFORMS.iter().filter(|platform| is_for(platform, content));
            fitting.map(|platform| platform.name).collect::<Vec<_>>()
        };
        assert_eq!(fits(&arm), ["linux-aarch64"]);
        assert_eq!(fits(&mac), ["macos-aarch64"]);
        assert_eq!(fits(b"#!/bin/sh\n"), [""; 0]);
    }

    #[test]
    fn an_unknown_platform_is_named_before_anything_is_installed() {
        let error = run(&["windows"]).unwrap_err();
        assert!(error.starts_with("invalid platform `windows`") && error.contains("macos-aarch64"), "{error}");
    }
}
