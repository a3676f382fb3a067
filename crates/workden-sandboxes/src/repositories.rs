//! Finds the git repositories in a directory of the host, where git reads hooks and settings when its owner runs it.
//!
//! Invariant: the search is bounded, and never leaves the directory. Repositories that are deeper, created later, or
//! in directories of dependencies and build products are not found.

use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    path::{Path, PathBuf},
};

use workden_core::{
    VirtualPath,
    host_executed::{GIT_DIRECTORY, GIT_HEAD},
};

use crate::small_file;

/// Deepest level of directories that is searched.
pub const DEEPEST: usize = 6;
/// Most directories that are searched, those near the top first.
pub const MOST_DIRECTORIES: usize = 1_000;
/// Most git directories that are found.
pub const MOST_REPOSITORIES: usize = 64;
/// Directories of dependencies and build products: large, and not edited.
const PASSED_OVER: [&str; 5] = ["node_modules", "target", ".venv", "venv", "__pycache__"];
/// Most bytes of a file that names a git directory.
const LONGEST_NAME: u64 = 4_096;
/// Longest chain of links that is followed.
const MOST_LINKS: usize = 8;

/// The repositories of a directory, as paths in it: `/` is the directory itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repositories {
    /// Git directories of any name: `.git`, the target of a `.git` that is a link or a file, those of submodules and
    /// linked worktrees, and bare repositories.
    pub directories: BTreeSet<VirtualPath>,
    /// Files that name a git directory.
    pub files: BTreeSet<VirtualPath>,
    /// Links that lead to a git directory, or to another such link.
    pub links: BTreeSet<VirtualPath>,
}

impl Repositories {
    /// Searches a directory.
    #[must_use]
    pub fn in_directory(top: &Path) -> Self {
        let Ok(top) = top.canonicalize() else { return Self::default() };
        let mut search = Search { top, found: Self::default(), waiting: VecDeque::new() };
        search.waiting.push_back((VirtualPath::root(), 0));
        for _ in 0..MOST_DIRECTORIES {
            let Some((directory, depth)) = search.waiting.pop_front() else { break };
            search.look_into(&directory, depth);
        }
        search.found
    }
}

struct Search {
    top: PathBuf,
    found: Repositories,
    waiting: VecDeque<(VirtualPath, usize)>,
}

impl Search {
    fn look_into(&mut self, directory: &VirtualPath, depth: usize) {
        let mut below = Vec::new();
        // Entries of a git directory seen so far.
        let mut parts = BTreeSet::new();
        for (name, kind) in self.entries(directory) {
            let path = directory.child_unchecked(&name);
            if [GIT_HEAD, "objects", "refs"].contains(&name.as_str()) {
                parts.insert(name.clone());
            }
            if name == GIT_DIRECTORY {
                match kind {
                    kind if kind.is_dir() => self.git_directory(&path, depth),
                    kind if kind.is_symlink() => self.link(&path, depth),
                    _ => self.file(&path, depth),
                }
            } else if kind.is_dir() && !PASSED_OVER.contains(&name.as_str()) {
                below.push(path);
            }
        }
        if parts.len() == 3 {
            self.git_directory(directory, depth);
        } else if depth < DEEPEST {
            let room = MOST_DIRECTORIES.saturating_sub(self.waiting.len());
            self.waiting.extend(below.into_iter().take(room).map(|path| (path, depth + 1)));
        }
    }

    fn entries(&self, directory: &VirtualPath) -> Vec<(String, fs::FileType)> {
        let entries = fs::read_dir(self.on_host(directory)).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?))).collect()
    }

    fn git_directory(&mut self, path: &VirtualPath, depth: usize) {
        let directories = &mut self.found.directories;
        if directories.len() >= MOST_REPOSITORIES || !directories.insert(path.clone()) {
            return;
        }
        self.named_in(&path.child_unchecked("commondir"), path, "", depth);
        // Submodules have complete git directories, at any depth because their names may have several parts.
        self.waiting.push_back((path.child_unchecked("modules"), depth));
        let worktrees = path.child_unchecked("worktrees");
        for (name, kind) in self.entries(&worktrees) {
            if kind.is_dir() {
                self.git_directory(&worktrees.child_unchecked(&name), depth);
            }
        }
    }

    fn file(&mut self, path: &VirtualPath, depth: usize) {
        self.found.files.insert(path.clone());
        let Some(directory) = path.parent() else { return };
        self.named_in(path, &directory, "gitdir:", depth);
    }

    fn link(&mut self, path: &VirtualPath, depth: usize) {
        let mut here = path.clone();
        for _ in 0..MOST_LINKS {
            let on_host = self.on_host(&here);
            let Ok(target) = fs::read_link(&on_host) else { break };
            self.found.links.insert(here);
            let target = on_host.parent().unwrap_or(&self.top).join(target);
            // The last component is not resolved, since it may be another link.
            let (Some(directory), Some(name)) = (target.parent(), target.file_name().and_then(|name| name.to_str()))
            else {
                break;
            };
            let Some(directory) = self.inside(directory) else { break };
            here = directory.child_unchecked(name);
        }
        let Some(place) = self.inside(&self.on_host(path)) else { return };
        match self.on_host(&place).is_dir() {
            true => self.git_directory(&place, depth),
            false => self.file(&place, depth),
        }
    }

    /// Adds the git directory that a file names, relative to a directory.
    fn named_in(&mut self, file: &VirtualPath, from: &VirtualPath, before: &str, depth: usize) {
        let Ok(content) = small_file::read(&self.on_host(file), LONGEST_NAME) else { return };
        let Some(named) = content.strip_prefix(before) else { return };
        if let Some(place) = self.inside(&self.on_host(from).join(named.trim())) {
            self.git_directory(&place, depth);
        }
    }

    fn on_host(&self, path: &VirtualPath) -> PathBuf {
        self.top.join(path.relative())
    }

    /// Resolves a path of the host; `None` if it leads outside of the directory.
    fn inside(&self, path: &Path) -> Option<VirtualPath> {
        let real = path.canonicalize().ok()?;
        VirtualPath::parse(real.strip_prefix(&self.top).ok()?.to_str()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn shown(paths: &BTreeSet<VirtualPath>) -> Vec<&str> {
        paths.iter().map(VirtualPath::as_str).collect()
    }

    fn place(directories: &[&str], files: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for directory in directories {
            fs::create_dir_all(place.path().join(directory)).unwrap();
        }
        for (file, content) in files {
            fs::write(place.path().join(file), content).unwrap();
        }
        place
    }

    #[test]
    fn repositories_are_found_wherever_git_would_find_them() {
        let directories = [
            ".git/modules/a/b/objects",
            ".git/modules/a/b/refs",
            ".git/worktrees/tree",
            "deep/down/.git",
            "bare/objects",
            "bare/refs",
            "tree",
            "by-link",
            "real",
            "node_modules/x/.git",
            "no/objects",
        ];
        let files = [
            (".git/modules/a/b/HEAD", ""),
            (".git/worktrees/tree/commondir", "../..\n"),
            ("bare/HEAD", ""),
            ("tree/.git", "gitdir: ../.git/worktrees/tree\n"),
            ("no/HEAD", ""),
        ];
        let place = place(&directories, &files);
        symlink("../second", place.path().join("by-link/.git")).unwrap();
        symlink("real", place.path().join("second")).unwrap();
        let found = Repositories::in_directory(place.path());
        let expected = ["/.git", "/.git/modules/a/b", "/.git/worktrees/tree", "/bare", "/deep/down/.git", "/real"];
        assert_eq!(shown(&found.directories), expected);
        assert_eq!(shown(&found.files), ["/tree/.git"]);
        assert_eq!(shown(&found.links), ["/by-link/.git", "/second"]);
    }

    #[test]
    fn nothing_outside_is_found_and_nothing_is_followed_for_ever() {
        let outside = place(&["hooks"], &[]);
        let place = place(&["a", "b", "c"], &[("b/.git", &format!("gitdir: {}", outside.path().display()))]);
        symlink(outside.path(), place.path().join("a/.git")).unwrap();
        symlink(".git", place.path().join("c/.git")).unwrap();
        symlink(place.path(), place.path().join("round")).unwrap();
        let found = Repositories::in_directory(place.path());
        assert!(found.directories.is_empty(), "{found:?}");
        assert_eq!(shown(&found.files), ["/b/.git"]);
        assert_eq!(shown(&found.links), ["/a/.git", "/c/.git"]);
    }

    #[test]
    fn looking_ends() {
        let many: Vec<String> = (0..MOST_REPOSITORIES + 10).map(|number| format!("{number}/.git")).collect();
        let place = place(&many.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
        assert_eq!(Repositories::in_directory(place.path()).directories.len(), MOST_REPOSITORIES);
    }

    #[test]
    fn what_never_ends_is_not_waited_for() {
        let place = place(&["a/.git"], &[]);
        for name in ["a/.git/commondir", ".git"] {
            let fifo = place.path().join(name);
            rustix::fs::mknodat(
                rustix::fs::CWD,
                fifo,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o600),
                0,
            )
            .unwrap();
        }
        let found = Repositories::in_directory(place.path());
        assert_eq!((shown(&found.directories), shown(&found.files)), (vec!["/a/.git"], vec!["/.git"]));
    }
}
