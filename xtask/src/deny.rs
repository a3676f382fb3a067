//! `cargo xtask deny`: licences, advisories, sources and duplicate versions of the dependencies, by `cargo deny`.
//!
//! Not a step of `test`: compiling `cargo deny` takes longer than its checks are worth on every run.

use std::process::Command;

use crate::{
    Outcome,
    workspace::{self, succeed, target_directory},
};

/// Pinned, so that its configuration keeps its meaning.
const VERSION: &str = "0.20.2";

pub(crate) fn run() -> Outcome {
    let home = target_directory().join("tools");
    let program = home.join("bin/cargo-deny");
    let version = Command::new(&program).arg("--version").output().map(|said| said.stdout).unwrap_or_default();
    if !String::from_utf8_lossy(&version).contains(VERSION) {
        let root = home.display().to_string();
        workspace::cargo(&["install", "--quiet", "--locked", "--root", &root, "--version", VERSION, "cargo-deny"])?;
    }
    let deny = |arguments: &[&str]| succeed(Command::new(&program).args(arguments).current_dir(workspace::root()));
    deny(&["check", "--hide-inclusion-graph", "licenses", "bans", "sources"])?;
    // The database of advisories comes from another host, which a closed network does not reach.
    match deny(&["fetch", "db"]) {
        Ok(()) => deny(&["check", "--hide-inclusion-graph", "advisories"]),
        Err(why) => {
            println!("advisories: not checked, the database cannot be downloaded ({why})");
            Ok(())
        }
    }
}
