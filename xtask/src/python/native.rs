//! Builds what the tests of the package need from Rust: its native module, and the program that runs commands.

use std::{
    env, fs,
    path::{Path, PathBuf, absolute},
    process::Command,
};

use crate::{Outcome, keeper::target_directory, workspace};

/// The Python files of the package.
pub(super) fn source() -> PathBuf {
    crate_directory().join("python")
}

/// The crate of the package.
pub(crate) fn crate_directory() -> PathBuf {
    workspace::root().join("crates/workden-python")
}

/// How the Rust part is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    /// Quickly, with the debug profile.
    Debug,
    /// As it is shipped.
    Release,
}

impl Profile {
    fn directory(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
        }
    }
}

/// Builds the native module into the Python files. In debug form, builds the program with it.
pub(super) fn module(profile: Profile) -> Outcome {
    match profile {
        Profile::Debug => workspace::build()?,
        Profile::Release => workspace::cargo(&["build", "--quiet", "--release", "--package", "workden-python"])?,
    }
    let built = target_directory().join(profile.directory()).join("libworkden_native.so");
    let place = source().join("workden/_native.abi3.so");
    let fresh = target_directory().join("_native.abi3.so.fresh");
    strip(&built, &fresh)?;
    put(&fresh, &place)
}

/// Builds the command line for tests, and returns its path. A `WORKDEN_PROGRAM` that is already set stays.
pub(super) fn program() -> Outcome<PathBuf> {
    if let Some(named) = env::var_os("WORKDEN_PROGRAM") {
        return Ok(named.into());
    }
    workspace::build()?;
    let file = target_directory().join("debug/workden");
    absolute(&file).map_err(|error| format!("cannot find the path of {}: {error}", file.display()))
}

/// Copies a file without its debug information, which is most of it.
pub(super) fn strip(file: &Path, copy: &Path) -> Outcome {
    let status = Command::new("strip").arg("-o").arg(copy).arg(file).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => fs::copy(file, copy).map(drop).map_err(|error| format!("cannot copy {}: {error}", file.display())),
    }
}

/// Moves a file to its destination, unless the same content is already there. A process that has the old one open keeps
/// it.
pub(super) fn put(fresh: &Path, place: &Path) -> Outcome {
    let same = fs::read(place).is_ok_and(|there| fs::read(fresh).is_ok_and(|new| new == there));
    let done = if same { fs::remove_file(fresh) } else { move_to(fresh, place) };
    done.map_err(|error| format!("cannot install {}: {error}", place.display()))
}

/// Renames within the directory, since the new file may be on another disk.
fn move_to(fresh: &Path, place: &Path) -> std::io::Result<()> {
    let beside = place.with_extension("fresh");
    fs::copy(fresh, &beside)?;
    fs::remove_file(fresh)?;
    fs::rename(beside, place)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_file_is_put_only_where_it_differs() {
        let home = env::temp_dir().join(format!("workden-put-{}", std::process::id()));
        fs::create_dir_all(&home).unwrap();
        let (fresh, place) = (home.join("fresh"), home.join("place"));
        let put_text = |text: &str| {
            fs::write(&fresh, text).unwrap();
            put(&fresh, &place).unwrap();
            assert!(!fresh.exists());
            assert_eq!(fs::read_to_string(&place).unwrap(), text);
            fs::metadata(&place).unwrap().ino()
        };
        let first = put_text("one");
        assert_eq!(put_text("one"), first, "the same file stays");
        let held = fs::File::open(home.join("place")).unwrap();
        assert_ne!(put_text("two"), first, "changed content is a new file, so that the old one stays usable");
        drop(held);
        fs::remove_dir_all(home).unwrap();
    }
}
