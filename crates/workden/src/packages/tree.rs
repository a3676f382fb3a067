//! The size of a tree that commands have written, without following a link.

use std::{fs, path::Path};

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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

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
