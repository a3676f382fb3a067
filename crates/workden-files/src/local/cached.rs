//! Lookups that never wait. A tool call looks at its path several times, and switching to another thread for each look
//! takes longer than the look; facts that the kernel has in memory are read on this thread instead, and so is the text
//! of a small file.
//!
//! Invariant: nothing here waits for a disk or a network, and nothing here answers "no". Paths are walked in the caches
//! of the kernel alone (`RESOLVE_CACHED`), as strictly confined as ever, on the root's own mount, and only if its file
//! system keeps the metadata of a file in memory. For uncached paths, links and missing paths the answer is `None`: the
//! caller then looks again, and may wait.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, FileType, Stat};
use workden_core::{
    Entry, FileIdentity, NameForm, Presence, Resolved, Symlink, VirtualPath,
    text::{Excerpt, TextWindow, scan},
};

use super::{
    entries,
    file_id::file_id,
    identity,
    root::{Root, kind},
};

/// The size up to which reading content takes no longer than waking another thread.
const SMALL_BYTES: usize = 32 * 1024;

/// Returns the path itself with its entry, if it exists and neither contains a link nor is one.
pub(super) fn resolve(root: &Root, typed: &VirtualPath, symlink: Symlink) -> Option<Resolved> {
    let (_, stat) = look(root, typed)?;
    let resolved = Resolved::literal(typed.clone());
    match (kind(&stat), symlink) {
        (FileType::Symlink, Symlink::Follow) => None,
        // The target of a link needs another look.
        (FileType::Symlink, Symlink::NoFollow) => Some(resolved),
        _ => {
            let entry = entries::entry(root, None, typed.clone(), NameForm::Exact, &stat);
            Some(resolved.with_presence(Presence::Present(entry)))
        }
    }
}

/// Returns the entry at a path.
pub(super) fn stat(root: &Root, real: &VirtualPath) -> Option<Entry> {
    let (_, stat) = look(root, real)?;
    // The target of a link needs another look.
    (kind(&stat) != FileType::Symlink).then(|| entries::entry(root, None, real.clone(), NameForm::Exact, &stat))
}

/// Returns the identity of a file, with all directories above it.
pub(super) fn identify(root: &Root, real: &VirtualPath) -> Option<FileIdentity> {
    let (directory, stat) = look(root, real)?;
    let above = identity::upwards_at_hand(directory.as_fd())?;
    Some(FileIdentity::new(file_id(&stat), above, entries::names(&stat)))
}

/// Returns a window of the text of a small file.
pub(super) fn read_text(root: &Root, real: &VirtualPath, window: TextWindow) -> Option<Excerpt> {
    let (directory, before) = look(root, real)?;
    // Opening a FIFO or a device has side effects.
    small_size(&before)?;
    let file = root.file_at_hand(directory.as_fd(), real.name()?)?;
    let mut content = vec![0; small_size(&fs::fstat(&file).ok()?)?];
    let filled = in_memory(file.as_fd(), &mut content)?;
    // The full read reports errors, with their messages.
    (filled == content.len()).then(|| scan::excerpt(real, &content.as_slice(), window).ok()).flatten()
}

/// Returns the size of a small regular file.
fn small_size(stat: &Stat) -> Option<usize> {
    let size = usize::try_from(entries::size(stat)).ok()?;
    (kind(stat) == FileType::RegularFile && size <= SMALL_BYTES).then_some(size)
}

/// Reads the part of a file that is in memory.
#[cfg(target_os = "linux")]
fn in_memory(file: BorrowedFd<'_>, content: &mut [u8]) -> Option<usize> {
    use rustix::io::{ReadWriteFlags, preadv2};

    preadv2(file, &mut [std::io::IoSliceMut::new(content)], 0, ReadWriteFlags::NOWAIT).ok()
}

#[cfg(not(target_os = "linux"))]
fn in_memory(_: BorrowedFd<'_>, _: &mut [u8]) -> Option<usize> {
    None
}

/// Whether a file is known to have one name.
pub(super) fn has_one_name(root: &Root, real: &VirtualPath) -> bool {
    look(root, real).is_some_and(|(_, stat)| entries::names(&stat) == 1)
}

/// Returns the parent directory of a path and the stat at the path; not for the root itself.
fn look(root: &Root, real: &VirtualPath) -> Option<(OwnedFd, Stat)> {
    let (directory, name) = root.parent_at_hand(real)?;
    let stat = at(root, directory.as_fd(), name)?;
    Some((directory, stat))
}

fn at(root: &Root, directory: BorrowedFd<'_>, name: &str) -> Option<Stat> {
    fs::fstat(root.name_at_hand(directory, name)?).ok()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{fs as host, os::unix::fs::symlink};

    use tempfile::TempDir;

    use super::{
        super::{PathOpening, left_out::LeftOut, links, read},
        *,
    };

    /// Returns a directory in memory, whose names are always cached: with a file, another name of it, and links.
    fn ground() -> TempDir {
        let place = tempfile::tempdir_in("/dev/shm").unwrap();
        host::create_dir_all(place.path().join("a/b")).unwrap();
        host::write(place.path().join("a/b/file"), "text").unwrap();
        host::write(place.path().join("a/twice"), "text").unwrap();
        host::hard_link(place.path().join("a/twice"), place.path().join("again")).unwrap();
        symlink("file", place.path().join("a/b/link")).unwrap();
        symlink("a", place.path().join("linked")).unwrap();
        place
    }

    fn open(place: &TempDir, opening: PathOpening, left_out: &[&str]) -> Root {
        let left_out = left_out.iter().map(|path| VirtualPath::parse(path).unwrap()).collect();
        Root::open(place.path(), opening, LeftOut::new(left_out).unwrap()).unwrap()
    }

    #[test]
    fn what_is_at_hand_is_what_a_proper_look_finds() {
        let place = ground();
        let root = open(&place, PathOpening::Detect, &[]);
        for path in ["/a", "/a/b", "/a/b/file", "/a/twice", "/again"] {
            let path = VirtualPath::parse(path).unwrap();
            assert_eq!(
                resolve(&root, &path, Symlink::Follow),
                links::resolve(&root, &path, Symlink::Follow).ok().map(|real| Resolved::new(path.clone(), real)),
                "{path}"
            );
            assert_eq!(stat(&root, &path), Some(entries::stat(&root, &path).unwrap()), "{path}");
            assert_eq!(identify(&root, &path), Some(identity::identify(&root, &path).unwrap()), "{path}");
            assert_eq!(has_one_name(&root, &path), !["/a/twice", "/again"].contains(&path.as_str()), "{path}");
        }
    }

    #[test]
    fn links_and_what_is_not_there_want_a_proper_look() {
        let place = ground();
        let root = open(&place, PathOpening::Detect, &["/a/b"]);
        for path in ["/", "/missing", "/a/missing/file", "/linked", "/linked/twice", "/again/file", "/a/b", "/a/b/file"]
        {
            let path = VirtualPath::parse(path).unwrap();
            assert_eq!(resolve(&root, &path, Symlink::Follow), None, "{path}");
            assert_eq!(stat(&root, &path), None, "{path}");
            assert!(!has_one_name(&root, &path) || path.as_str() == "/linked", "{path}");
        }
        let link = VirtualPath::parse("/linked").unwrap();
        assert_eq!(resolve(&root, &link, Symlink::NoFollow), Some(Resolved::literal(link)));
    }

    #[test]
    fn text_at_hand_is_what_a_proper_read_finds() {
        // Not every file system reports what it has in memory; the one of the tests usually does.
        let place = tempfile::tempdir().unwrap();
        let root = open(&place, PathOpening::Detect, &[]);
        for (name, content) in
            [("empty", String::new()), ("text", "a\nb\r\n\u{e4}".to_owned()), ("long", "line\n".repeat(SMALL_BYTES))]
        {
            host::write(place.path().join(name), &content).unwrap();
            let path = VirtualPath::parse(name).unwrap();
            for window in [TextWindow::lines(0, 2000), TextWindow::lines(1, 1)] {
                let proper = read::read_text(&root, &path, window).ok();
                let found = read_text(&root, &path, window);
                assert!(found.is_none() || found == proper, "{name}: {found:?}");
                assert!(name != "long" || found.is_none(), "a long file is not read on the spot");
            }
        }
        host::write(place.path().join("binary"), b"\0\x01").unwrap();
        symlink("text", place.path().join("link")).unwrap();
        for name in ["binary", "link", "missing"] {
            let path = VirtualPath::parse(name).unwrap();
            assert_eq!(read_text(&root, &path, TextWindow::lines(0, 10)), None, "{name}");
        }
    }

    #[test]
    fn step_by_step_nothing_is_at_hand() {
        let place = ground();
        let root = open(&place, PathOpening::StepByStep, &[]);
        let path = VirtualPath::parse("/a/twice").unwrap();
        assert_eq!((resolve(&root, &path, Symlink::NoFollow), stat(&root, &path)), (None, None));
    }

    #[test]
    fn a_directory_of_processes_is_not_looked_at_on_the_spot() {
        let root = Root::open("/proc/self".as_ref(), PathOpening::Detect, LeftOut::new(Vec::new()).unwrap()).unwrap();
        assert_eq!(stat(&root, &VirtualPath::parse("/status").unwrap()), None);
    }
}
