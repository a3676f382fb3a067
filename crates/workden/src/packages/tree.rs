//! Trees that commands have written: measured and removed without following a link, however deep they are and whatever
//! modes they have. The caller holds the exclusive lock, so that no command changes them meanwhile.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// How deep a directory is emptied where it is; deeper ones are moved up first. Paths of this depth are short enough for
/// the system.
const DEPTH: usize = 12;

/// Returns whether a tree has more bytes or files than these.
pub(super) fn is_larger(tree: &Path, most_bytes: u64, most_files: usize) -> bool {
    let (mut bytes, mut files) = (0u64, 0);
    let mut waiting = vec![tree.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            files += 1;
            bytes = bytes.saturating_add(found.len());
            if found.is_dir() {
                waiting.push(entry.path());
            }
            if bytes > most_bytes || files > most_files {
                return true;
            }
        }
    }
    false
}

/// Removes a tree. `beside` is a directory of the same file system that commands cannot write to, for parts of it.
///
/// # Errors
///
/// What the host reports. A tree that does not exist is not an error.
pub(super) fn remove(tree: &Path, beside: &Path) -> io::Result<()> {
    let mut moved = Moved { beside, count: 0, waiting: vec![tree.to_path_buf()] };
    while let Some(next) = moved.waiting.pop() {
        match next.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(there) if there.is_dir() => {
                empty(&next, 0, &mut moved)?;
                fs::remove_dir(&next)?;
            }
            _ => fs::remove_file(&next)?,
        }
    }
    Ok(())
}

/// Parts of a tree that are removed later.
struct Moved<'p> {
    beside: &'p Path,
    count: usize,
    waiting: Vec<PathBuf>,
}

fn empty(directory: &Path, depth: usize, moved: &mut Moved<'_>) -> io::Result<()> {
    // Caches have directories that their owner may not write.
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if !entry.file_type()?.is_dir() {
            fs::remove_file(&path)?;
        } else if depth < DEPTH {
            empty(&path, depth + 1, moved)?;
            fs::remove_dir(&path)?;
        } else {
            fs::set_permissions(&path, Permissions::from_mode(0o700))?;
            let to = loop {
                moved.count += 1;
                let to = moved.beside.join(format!("removed-{}", moved.count));
                if to.symlink_metadata().is_err() {
                    break to;
                }
            };
            fs::rename(&path, &to)?;
            moved.waiting.push(to);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_tree_of_any_depth_and_mode_is_removed_and_no_link_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
        fs::create_dir_all(tree.join("closed/below")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "kept").unwrap();
        fs::set_permissions(&outside, Permissions::from_mode(0o755)).unwrap();
        symlink(&outside, tree.join("link")).unwrap();
        symlink(outside.join("precious"), tree.join("closed/below/file")).unwrap();
        for mode in [0o000, 0o555] {
            let closed = tree.join(format!("mode-{mode}"));
            fs::create_dir(&closed).unwrap();
            fs::write(closed.join("file"), "").unwrap();
            fs::set_permissions(&closed, Permissions::from_mode(mode)).unwrap();
        }
        // Deeper than a process may have files open, and than a path may be long.
        let mut here = tree.join("deep");
        fs::create_dir(&here).unwrap();
        for _ in 0..100 {
            let above = place.path().join("above");
            fs::create_dir_all(above.join("d/".repeat(20))).unwrap();
            fs::rename(&here, above.join("d/".repeat(20)).join("d")).unwrap();
            fs::rename(&above, &here).unwrap();
        }
        here.push("file");
        fs::write(&here, "").unwrap();
        remove(&tree, place.path()).unwrap();
        assert!(!tree.exists());
        assert_eq!(fs::read_to_string(outside.join("precious")).unwrap(), "kept");
        assert_eq!(outside.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        remove(&tree, place.path()).unwrap();
    }

    #[test]
    fn the_size_of_a_tree_counts_no_target_of_a_link() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("tree/a")).unwrap();
        fs::write(place.path().join("large"), vec![0; 1 << 20]).unwrap();
        fs::write(place.path().join("tree/a/file"), vec![0; 4096]).unwrap();
        symlink("../large", place.path().join("tree/large")).unwrap();
        symlink("..", place.path().join("tree/round")).unwrap();
        let tree = place.path().join("tree");
        assert!(!is_larger(&tree, 1 << 18, 10));
        assert!(is_larger(&tree, 1024, 10) && is_larger(&tree, 1 << 18, 2));
    }
}
