//! Rejects mount sources that commands could have redirected: if the path goes through a directory that commands can
//! write to, an earlier command can have put a link there.

use std::path::{Component, Path, PathBuf};

use workden_core::{
    Error, ErrorKind, Result,
    sandbox::{Mount, MountAccess},
};

/// Rejects sources that go through a link in a directory that another mount lets commands change.
///
/// # Errors
///
/// `InvalidArgument` for such a source.
pub(crate) fn check(mounts: &[Mount]) -> Result<()> {
    for (index, mount) in mounts.iter().enumerate() {
        let others = mounts.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, other)| other);
        for other in others.filter(|other| other.access == MountAccess::ReadWrite) {
            if let Some(link) = link_on_the_way(&mount.source, &other.source) {
                let sentence = format!(
                    "cannot mount at `{}`: its source goes through the link `{link}` in `{}`, where commands can write",
                    mount.at, other.at
                );
                return Err(Error::new(ErrorKind::InvalidArgument, sentence)
                    .hint("check where the link leads, and use that path if it is the intended one"));
            }
        }
    }
    Ok(())
}

/// Returns the first link on the path of a source inside a directory, as a path in that directory.
fn link_on_the_way(source: &Path, directory: &Path) -> Option<String> {
    let real = directory.canonicalize().ok()?;
    let rest = source.strip_prefix(directory).or_else(|_| source.strip_prefix(&real)).ok()?;
    let mut here = real.clone();
    let mut shown = PathBuf::new();
    for part in rest.components() {
        let Component::Normal(name) = part else { continue };
        here.push(name);
        shown.push(name);
        if here.is_symlink() {
            return Some(shown.display().to_string());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use workden_core::VirtualPath;

    use super::*;

    fn mount(source: PathBuf, at: &str, access: MountAccess) -> Mount {
        Mount { source, at: VirtualPath::parse(at).unwrap(), access }
    }

    #[test]
    fn a_link_that_commands_could_have_planted_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (work, outside) = (place.path().join("work"), place.path().join("outside"));
        for directory in [work.join("data"), outside.join("deep")] {
            std::fs::create_dir_all(directory).unwrap();
        }
        symlink(&outside, work.join("planted")).unwrap();
        symlink(&work, place.path().join("named")).unwrap();
        let all = |source: PathBuf, access| {
            [mount(work.clone(), "/workspace", access), mount(source, "/data", MountAccess::ReadOnly)]
        };
        for source in [work.join("planted"), work.join("planted/deep")] {
            let error = check(&all(source.clone(), MountAccess::ReadWrite)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.sentence().contains("`planted`"), "{error}");
            assert!(check(&all(source, MountAccess::ReadOnly)).is_ok(), "commands cannot have put it there");
        }
        for source in [work.join("data"), outside.clone(), place.path().join("named")] {
            assert!(check(&all(source, MountAccess::ReadWrite)).is_ok());
        }
    }
}
