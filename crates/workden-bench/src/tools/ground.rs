//! The test data of the servers: a tree of 20,000 files, and a text of 4 KiB beside it. Created once, identical
//! everywhere, and kept below `target`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Failure, material::Text, random::Random};

/// Files in the tree.
pub(super) const FILES: usize = 20_000;
/// The number of files that the search by name finds, few enough that both servers show all.
pub(super) const FOUND: usize = 40;
/// The pattern of the search by name.
pub(super) const PATTERN: &str = "**/*_ledger.py";
/// The text of the search by content, in the same number of files.
pub(super) const WORD: &str = "zyzzyva_quorum";
/// The file to read, beside the tree.
pub(super) const READ: &str = "notes.txt";
/// Its size.
pub(super) const READ_BYTES: usize = 4096;

/// Changes with the generated data, so that an old tree is generated again.
const EDITION: &str = "2";
const DIRECTORIES: usize = 500;

/// The directory of both servers.
pub(super) fn provide(target: &Path) -> Result<PathBuf, Failure> {
    let home = target.join("bench-tools");
    let (root, stamp) = (home.join("root"), home.join("stamp"));
    if fs::read_to_string(&stamp).is_ok_and(|edition| edition == EDITION) {
        return Ok(root);
    }
    eprintln!("creating {FILES} files in {}", root.display());
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    make(&root)?;
    fs::write(stamp, EDITION)?;
    Ok(root)
}

fn make(root: &Path) -> Result<(), Failure> {
    let random = &mut Random::new(4);
    let text = Text::new(random);
    for number in 0..FILES {
        let file = root.join(path(number));
        if let Some(directory) = file.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut content = text.source(500 + random.below(4_000), random);
        if is_found(number) {
            content.push_str(&format!("    return {WORD}\n"));
        }
        fs::write(file, content)?;
    }
    Ok(fs::write(root.join(READ), notes())?)
}

fn path(number: usize) -> String {
    let directory = number % DIRECTORIES;
    let kind = if is_found(number) { "ledger" } else { "module" };
    format!("tree/package_{:02}/part_{directory:03}/{number:05}_{kind}.py", directory % 20)
}

/// Returns whether the searches find this file: few do, each in another directory.
fn is_found(number: usize) -> bool {
    const EACH: usize = FILES / FOUND;
    number % EACH == number / EACH
}

/// The paths that the search by name finds, relative to the root and in order.
pub(super) fn found() -> Vec<String> {
    let mut all: Vec<String> = (0..FILES).filter(|number| is_found(*number)).map(path).collect();
    all.sort();
    all
}

/// The text to read: 4 KiB in lines.
pub(super) fn notes() -> String {
    const LINE: &str = "Remember that the ledger is closed on Friday, and never before.\n";
    LINE.repeat(READ_BYTES / LINE.len())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_file_that_is_read_has_its_size_and_ends_with_a_line() {
        assert_eq!(notes().len(), READ_BYTES);
        assert!(notes().ends_with('\n'));
    }

    #[test]
    fn a_search_by_name_finds_what_it_says() {
        assert_eq!(found().len(), FOUND);
        let directories: HashSet<String> = found().iter().map(|path| path[..path.len() - 10].to_owned()).collect();
        assert!(directories.len() == FOUND, "{directories:?}");
    }
}
