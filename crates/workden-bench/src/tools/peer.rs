//! @modelcontextprotocol/server-filesystem, installed from npm below `target`.
//!
//! `node` starts its file directly: `npx` would search for the package first, which is not
//! measured.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::Failure;

const PACKAGE: &str = "@modelcontextprotocol/server-filesystem";
const VERSION: &str = "2026.8.31";

/// An installed peer.
#[derive(Debug)]
pub(super) struct Peer {
    /// The file that `node` runs.
    pub(super) entry: PathBuf,
    /// The package and its platform.
    pub(super) title: String,
}

impl Peer {
    /// Installs it if it is missing.
    pub(super) fn install(target: &Path) -> Result<Self, Failure> {
        let home = target.join("bench-peer");
        let package = home.join("node_modules").join(PACKAGE);
        if version(&package).as_deref() != Some(VERSION) {
            eprintln!("installing {PACKAGE} {VERSION} into {}", home.display());
            fs::create_dir_all(&home)?;
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(&home);
            said(npm.arg(format!("{PACKAGE}@{VERSION}")))?;
        }
        let node = said(Command::new("node").arg("--version"))?;
        let kit = version(&home.join("node_modules/@modelcontextprotocol/sdk")).unwrap_or_default();
        let title = format!("{PACKAGE} {VERSION}, its SDK {kit}, node {}", node.trim());
        Ok(Self { entry: package.join("dist/index.js"), title })
    }
}

/// Returns the version of an installed package.
fn version(package: &Path) -> Option<String> {
    let text = fs::read_to_string(package.join("package.json")).ok()?;
    let described: Value = serde_json::from_str(&text).ok()?;
    described["version"].as_str().map(str::to_owned)
}

fn said(command: &mut Command) -> Result<String, Failure> {
    let hint = "hint: needs node with npm, and the registry of npm";
    let program = command.get_program().to_owned();
    let output = command.output().map_err(|error| format!("cannot start {program:?}: {error}\n{hint}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{program:?} failed: {}\n{hint}", String::from_utf8_lossy(&output.stderr).trim()).into()),
    }
}
