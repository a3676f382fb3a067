//! Finds directories that are named after versions, for a request like `3.11` or `v20`.

use std::path::{Path, PathBuf};

use crate::small_file;

/// Most bytes of a file that names a version.
const LONGEST: u64 = 4_096;

/// Returns the newest directory in `place` whose name is `prefix`, a version that starts with `wanted`, and any
/// suffix. An empty `wanted` means any version.
pub(super) fn newest(place: &Path, prefix: &str, wanted: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(place).ok()?;
    let any = wanted.is_empty();
    let wanted = numbers(wanted.trim_start_matches('v'));
    if wanted.is_empty() && !any {
        return None;
    }
    let fitting = entries.filter_map(Result::ok).filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = numbers(name.strip_prefix(prefix)?.trim_start_matches('v'));
        let fits = !version.is_empty() && version.starts_with(&wanted) && entry.path().is_dir();
        // Of the same version the shortest name: `3.13.0`, not `3.13.0-debug`.
        fits.then(|| (version, std::cmp::Reverse(name.len()), entry.path()))
    });
    fitting.max().map(|(.., path)| path)
}

/// Parses `3.11.7-linux` into 3, 11 and 7.
fn numbers(version: &str) -> Vec<u64> {
    let end = version.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(version.len());
    version[..end].split('.').map_while(|part| part.parse().ok()).collect()
}

/// Returns the first line of a small file that is neither empty nor a comment.
pub(super) fn first_line(file: &Path) -> Option<String> {
    let text = small_file::read(file, LONGEST).ok()?;
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned)
}

/// Returns the first line of the nearest file of this name, from a directory upwards.
pub(super) fn nearest_line(directory: &Path, name: &str) -> Option<String> {
    directory.ancestors().find_map(|above| first_line(&above.join(name)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_newest_fitting_version_is_taken_by_number() {
        let place = tempfile::tempdir().unwrap();
        for name in ["3.9.18", "3.10.13", "3.11.7", "3.11.7-debug", "3.11.10", "system", "3.12"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        fs::write(place.path().join("3.99.0"), "a file").unwrap();
        for (wanted, expected) in [
            ("", Some("3.12")),
            ("3.11", Some("3.11.10")),
            ("3.11.7", Some("3.11.7")),
            ("3.1", None),
            ("3", Some("3.12")),
            ("2", None),
            ("../3.12", None),
        ] {
            let found = newest(place.path(), "", wanted);
            assert_eq!(found, expected.map(|name| place.path().join(name)), "{wanted}");
        }
    }

    #[test]
    fn files_that_name_a_version_are_looked_for_upwards() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("a/b")).unwrap();
        fs::write(place.path().join("a/.python-version"), "# ours\n\n 3.11 \n3.12\n").unwrap();
        assert_eq!(nearest_line(&place.path().join("a/b"), ".python-version").as_deref(), Some("3.11"));
        assert_eq!(nearest_line(&place.path().join("a/b"), ".nothing-of-that-name"), None);
    }
}
