//! Loads images from tar files into a daemon that lacks them.
//!
//! An image has a label with its recipe, so that a changed recipe loads a new image, and an unchanged one costs a
//! query.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    process::Command,
};

use super::{docker, succeed};
use crate::Outcome;

/// An image that tests use.
pub(super) struct Image {
    /// Its name in tests.
    pub(super) name: &'static str,
    /// Everything that determines its content.
    pub(super) recipe: fn() -> Outcome<Recipe>,
    /// Returns the tar file of its content, and creates it if it does not exist.
    pub(super) tar: fn(&Recipe) -> Outcome<PathBuf>,
}

/// A short hash of everything that determines the content of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe(pub(super) String);

impl Recipe {
    pub(super) fn of(ingredients: &[&[u8]]) -> Self {
        let mut hasher = DefaultHasher::new();
        ingredients.hash(&mut hasher);
        Self(format!("{:016x}", hasher.finish()))
    }
}

/// Marks an image as one of these tests, for cleaning up.
const LABEL: &str = "workden-test=1";
const RECIPE_LABEL: &str = "workden-test-recipe";

pub(super) fn provide(host: &str, image: &Image) -> Outcome {
    let recipe = (image.recipe)()?;
    let format = format!("{{{{index .Config.Labels \"{RECIPE_LABEL}\"}}}}");
    let there = docker(host).args(["image", "inspect", "--format", &format, image.name]).output();
    if there.is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).trim() == recipe.0) {
        return Ok(());
    }
    let tar = (image.tar)(&recipe)?;
    println!("=== {} into {host}", image.name);
    let labels = format!("LABEL {LABEL} {RECIPE_LABEL}={}", recipe.0);
    succeed(
        docker(host).args(["import", "--change", &labels, "--change", "CMD [\"/bin/sh\"]"]).arg(tar).arg(image.name),
    )
}

/// The owner of the files in a tar file.
pub(super) enum Owners {
    /// Root, even if another user created the tree.
    Root,
    /// As in the tree.
    AsTheyAre,
}

/// Removes what an interrupted run left.
pub(super) fn clear(tree: &Path) -> io::Result<()> {
    match fs::remove_dir_all(tree) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Packs a tree. The file is renamed to its final name when it is complete.
pub(super) fn pack(tree: &Path, tar: &Path, owners: Owners) -> Outcome {
    let unfinished = tar.with_extension("unfinished");
    let owners: &[&str] = match owners {
        Owners::Root => &["--owner=0", "--group=0"],
        Owners::AsTheyAre => &[],
    };
    let mut pack = Command::new("tar");
    pack.args(["--create", "--numeric-owner"]).args(owners).arg("--file").arg(&unfinished);
    succeed(pack.arg("--directory").arg(tree).arg("."))?;
    fs::rename(&unfinished, tar).map_err(|error| format!("cannot rename {}: {error}", tar.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ingredient_and_its_bounds_are_part_of_the_recipe() {
        let recipe = Recipe::of(&[b"ab", b"c"]);
        assert_eq!(recipe, Recipe::of(&[b"ab", b"c"]));
        for other in [&[b"ab" as &[u8], b"d"] as &[&[u8]], &[b"a", b"bc"], &[b"abc"]] {
            assert_ne!(recipe, Recipe::of(other), "{other:?}");
        }
        assert_eq!(recipe.0.len(), 16);
    }
}
