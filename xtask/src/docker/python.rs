//! The base image of runtimes: a small Debian with Python and pip.
//!
//! It comes from Debian's archive and takes a minute or two, so its tar file is kept. In it pip works as on this
//! machine: same certificates, same settings.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    images::{Image, Owners, Recipe, clear, pack},
    large_directory,
};
use crate::Outcome;

pub(super) const IMAGE: Image = Image { name: "workden-test/python:latest", recipe, tar };

const PACKAGES: &str = "--include=python3,python3-pip,ca-certificates";

/// The release, if this machine does not run Debian.
const RELEASE: &str = "bookworm";

/// Files of this machine that pip may need to reach an index. A file that does not exist here is left as Debian has it.
const OF_THIS_MACHINE: &[&str] = &["/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf"];

fn recipe() -> Outcome<Recipe> {
    let own = OF_THIS_MACHINE.iter().map(|file| fs::read(file).unwrap_or_default());
    let own: Vec<Vec<u8>> = own.collect();
    let release = release();
    let mut ingredients = vec![PACKAGES.as_bytes(), release.as_bytes(), b"python, no marker, no packages"];
    ingredients.extend(own.iter().map(Vec::as_slice));
    Ok(Recipe::of(&ingredients))
}

fn tar(recipe: &Recipe) -> Outcome<PathBuf> {
    let large = large_directory()?;
    let tar = large.join(format!("python-{}.tar", recipe.0));
    if tar.is_file() {
        return Ok(tar);
    }
    let tree = large.join("python.tree");
    let cannot = |error: std::io::Error| format!("cannot fill {}: {error}", tree.display());
    clear(&tree).map_err(cannot)?;
    println!("=== a Debian with Python for {}: a minute or two, once", IMAGE.name);
    let made = bootstrap(&tree)
        .and_then(|()| complete(&tree).map_err(cannot))
        .and_then(|()| pack(&tree, &tar, Owners::AsTheyAre));
    let _ = fs::remove_dir_all(&tree);
    made.map(|()| tar)
}

fn bootstrap(tree: &Path) -> Outcome {
    let log = tree.with_extension("log");
    let cannot = |error: std::io::Error| format!("cannot write {}: {error}", log.display());
    let file = fs::File::create(&log).map_err(cannot)?;
    let status = Command::new("unshare")
        // Its mounts in the tree end with the namespace, even if it is interrupted.
        .args(["--mount", "debootstrap", "--variant=minbase", PACKAGES, &release()])
        .arg(tree)
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(cannot)?)
        .stderr(file)
        .status()
        .map_err(|error| format!("cannot start debootstrap: {error}"))?;
    if status.success() {
        return fs::remove_file(&log).map_err(cannot);
    }
    let said = fs::read_to_string(&log).unwrap_or_default();
    let last = said.lines().next_back().unwrap_or_default();
    Err(format!("debootstrap failed ({status}): {last}\nhint: its output is in {}", log.display()))
}

/// Makes plain `pip install` work, and the tar file smaller.
fn complete(tree: &Path) -> std::io::Result<()> {
    for file in OF_THIS_MACHINE {
        if let Ok(content) = fs::read(file) {
            fs::write(tree.join(file.trim_start_matches('/')), content)?;
        }
    }
    for entry in fs::read_dir(tree.join("usr/lib"))? {
        // Debian's marker that only its own packages may be installed.
        let marker = entry?.path().join("EXTERNALLY-MANAGED");
        if marker.is_file() {
            fs::remove_file(marker)?;
        }
    }
    symlink("python3", tree.join("usr/bin/python"))?;
    for directory in ["var/cache/apt/archives", "var/lib/apt/lists"] {
        for entry in fs::read_dir(tree.join(directory))? {
            let path = entry?.path();
            if path.is_file() {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}

fn release() -> String {
    release_of(&fs::read_to_string("/etc/os-release").unwrap_or_default()).to_owned()
}

/// Returns the name of this machine's Debian release; on another system, the default release.
fn release_of(os_release: &str) -> &str {
    let value = |wanted: &str| {
        let pairs = os_release.lines().filter_map(|line| line.split_once('='));
        pairs.filter(|(key, _)| *key == wanted).map(|(_, value)| value.trim_matches('"')).next()
    };
    if value("ID") == Some("debian") { value("VERSION_CODENAME").unwrap_or(RELEASE) } else { RELEASE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_debian_names_the_release() {
        for (os_release, expected) in [
            ("ID=debian\nVERSION_CODENAME=trixie\n", "trixie"),
            ("ID=\"debian\"\n", RELEASE),
            ("ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n", RELEASE),
            ("", RELEASE),
        ] {
            assert_eq!(release_of(os_release), expected, "{os_release:?}");
        }
    }
}
