//! The smallest image in which a shell runs: one static program under many names, and no library.
//!
//! A test that passes in it needs nothing of a distribution.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    images::{Image, Owners, Recipe, clear, pack},
    large_directory,
};
use crate::Outcome;

pub(super) const IMAGE: Image = Image { name: "workden-test/busybox:latest", recipe, tar };

const PROGRAM: &str = "/bin/busybox";

/// Directories and their modes.
const DIRECTORIES: &[(&str, u32)] = &[
    ("bin", 0o755),
    ("etc", 0o755),
    ("proc", 0o755),
    ("sys", 0o755),
    ("dev", 0o755),
    ("root", 0o700),
    ("tmp", 0o1777),
    ("var", 0o755),
    ("var/tmp", 0o1777),
];

const FILES: &[(&str, &str)] = &[
    ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    ("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
];

fn recipe() -> Outcome<Recipe> {
    let program = fs::read(PROGRAM).map_err(|error| format!("cannot read {PROGRAM}: {error}"))?;
    let tree = format!("{DIRECTORIES:?} {FILES:?} links to its applets");
    Ok(Recipe::of(&[&program, tree.as_bytes()]))
}

fn tar(recipe: &Recipe) -> Outcome<PathBuf> {
    let large = large_directory()?;
    let tar = large.join(format!("busybox-{}.tar", recipe.0));
    if tar.is_file() {
        return Ok(tar);
    }
    let tree = large.join("busybox.tree");
    let made =
        clear(&tree).and_then(|()| fill(&tree)).map_err(|error| format!("cannot fill {}: {error}", tree.display()));
    let made = made.and_then(|()| pack(&tree, &tar, Owners::Root));
    let _ = fs::remove_dir_all(&tree);
    made.map(|()| tar)
}

fn fill(tree: &Path) -> std::io::Result<()> {
    fs::create_dir(tree)?;
    for (name, mode) in DIRECTORIES {
        fs::create_dir(tree.join(name))?;
        fs::set_permissions(tree.join(name), fs::Permissions::from_mode(*mode))?;
    }
    for (name, content) in FILES {
        fs::write(tree.join(name), content)?;
    }
    fs::copy(PROGRAM, tree.join("bin/busybox"))?;
    let names = Command::new(PROGRAM).arg("--list-full").output()?;
    for name in applets(&String::from_utf8_lossy(&names.stdout)) {
        let link = tree.join(name);
        link.parent().map_or(Ok(()), fs::create_dir_all)?;
        symlink("/bin/busybox", link)?;
    }
    Ok(())
}

/// The paths of its applets, without its own name and the one that only a kernel looks for.
fn applets(listed: &str) -> impl Iterator<Item = &str> {
    listed
        .lines()
        .map(|name| name.trim_start_matches('/'))
        .filter(|name| !matches!(*name, "" | "bin/busybox" | "linuxrc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_does_not_become_a_link_to_itself() {
        let listed = "usr/bin/[\nbin/busybox\nlinuxrc\n/bin/sh\n";
        assert_eq!(applets(listed).collect::<Vec<_>>(), ["usr/bin/[", "bin/sh"]);
    }
}
