//! What is kept for one project, in a directory of the user: caches that package managers fill, and tools that a setup
//! installed.
//!
//! Invariant: the directory belongs to one project, by its path and its inode; that of another project at the same path
//! is removed first. Every sandbox that shows a part of it holds the shared lock, and what removes or replaces a part
//! holds the exclusive one.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use workden_core::{
    Error, ErrorKind, Result, Version, VirtualPath,
    sandbox::{Mount, MountAccess},
};
use workden_sandboxes::KeptDirectories;
use workden_sessions::state_files::{Lock, check, is_mappable, prepare, read, remove_tree, unusable, write};

use super::{Cleared, is_writable, tree};

/// The caches: their name here, and the directory of the package manager in the sandbox.
const CACHES: [(&str, &str); 4] = [
    ("pip", "/home/agent/.cache/pip"),
    ("npm", "/home/agent/.npm/_cacache"),
    ("cargo", "/home/agent/.cargo"),
    ("go", "/home/agent/go/pkg/mod"),
];
/// Where installers put programs and their libraries.
const TOOLS_INSIDE: &str = "/home/agent/.local";
/// The parts of the directory of a project.
const CACHE: &str = "cache";
const TOOLS: &str = "tools";
const SETUP: &str = "setup";
const IDENTITY: &str = "project";
/// The most that caches hold: larger ones are emptied before the next command with a network.
const MOST_BYTES: u64 = 10 << 30;
const MOST_FILES: usize = 1_000_000;
/// How often and how long a process waits for one that creates the directory.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// The directory of a project.
#[derive(Debug)]
pub(super) struct ProjectStore {
    state: PathBuf,
    name: String,
    identity: Vec<u8>,
}

impl ProjectStore {
    pub(super) fn of(state: &Path, project: &Path) -> Result<Self> {
        let missing = |_| Error::new(ErrorKind::NotFound, "the directory of the project was not found");
        let real = project.canonicalize().map_err(missing)?;
        let inode = real.metadata().map_err(missing)?.ino();
        let path = real.as_os_str().as_encoded_bytes();
        Ok(Self { state: state.to_path_buf(), name: Version::of(path).to_string(), identity: identity(inode, path) })
    }

    fn projects(&self) -> PathBuf {
        self.state.join("projects")
    }

    fn directory(&self) -> PathBuf {
        self.projects().join(&self.name)
    }

    fn lock_file(&self) -> PathBuf {
        self.projects().join(format!("{}.lock", self.name))
    }

    /// Whether something is kept for this project, in a directory that no other user could have changed.
    pub(super) fn is_there(&self) -> Result<bool> {
        for directory in [&self.state, &self.projects(), &self.directory()] {
            check(directory)?;
        }
        Ok(read(&self.directory().join(IDENTITY))?.is_some_and(|identity| identity == self.identity))
    }

    /// Whether commands could write to the state directory, because one of these mounts shows it.
    pub(super) fn is_in(&self, mounts: &[Mount]) -> bool {
        let id = |path: &Path| path.metadata().ok().map(|there| (there.dev(), there.ino()));
        let writable: Vec<_> =
            mounts.iter().filter(|mount| is_writable(mount)).map(|mount| id(&mount.source)).collect();
        let existing = self.state.ancestors().find_map(|above| above.canonicalize().ok());
        let above = existing.iter().flat_map(|existing| existing.ancestors()).filter_map(id);
        above.into_iter().any(|above| writable.contains(&Some(above)))
    }

    /// Rejects a state directory that commands could write to: they could exchange what later sandboxes are given.
    pub(super) fn check_outside(&self, mounts: &[Mount]) -> Result<()> {
        if !self.is_in(mounts) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidArgument, "the state directory is in the workspace, where commands can write")
            .hint("work in a directory below your home, or set XDG_STATE_HOME to a directory outside"))
    }

    /// Creates the directory if it does not exist.
    pub(super) fn create(&self) -> Result<()> {
        self.prepare()?;
        if self.is_there()? && self.is_complete() {
            return Ok(());
        }
        let Some(lock) = self.alone(TRIES)? else {
            // Another process uses it, so that it is there, or is about to be.
            return if self.is_there()? { Ok(()) } else { Err(busy()) };
        };
        self.create_alone(&lock)
    }

    /// Creates the directory of all projects, where sandboxes can write.
    fn prepare(&self) -> Result<()> {
        prepare(&self.state)?;
        prepare(&self.projects())?;
        if is_mappable(&self.projects()) {
            return Ok(());
        }
        let sentence = "the file system of the state directory does not support id-mapped mounts";
        Err(Error::new(ErrorKind::Unsupported, sentence)
            .hint("set XDG_STATE_HOME to a directory on ext4, xfs, btrfs or tmpfs"))
    }

    fn is_complete(&self) -> bool {
        CACHES.iter().all(|(name, _)| is_directory(&self.directory().join(CACHE).join(name)))
    }

    /// Creates it, and removes what is kept there for another project.
    fn create_alone(&self, _: &Lock) -> Result<()> {
        if self.directory().symlink_metadata().is_ok() && !self.is_there()? {
            self.remove_part(&self.directory())?;
        }
        prepare(&self.directory())?;
        for (name, _) in CACHES {
            prepare(&self.directory().join(CACHE))?;
            self.make(&self.directory().join(CACHE).join(name))?;
        }
        write(&self.directory().join(IDENTITY), &self.identity)
    }

    /// Creates a directory that commands may write to.
    fn make(&self, directory: &Path) -> Result<()> {
        match std::fs::create_dir(directory) {
            Err(_) if is_directory(directory) => Ok(()),
            made => made.map_err(|error| unusable(&error)),
        }
    }

    /// Empties caches that have become too large, unless another process uses them.
    pub(super) fn bound(&self) -> Result<()> {
        self.bound_to(MOST_BYTES, MOST_FILES)
    }

    fn bound_to(&self, most_bytes: u64, most_files: usize) -> Result<()> {
        let Some(lock) = self.alone(1)? else { return Ok(()) };
        if tree::is_larger(&self.directory().join(CACHE), most_bytes, most_files) {
            self.remove_part(&self.directory().join(CACHE))?;
            self.create_alone(&lock)?;
        }
        Ok(())
    }

    /// Removes what is kept for projects whose directory does not exist any more. What cannot be removed stays.
    pub(super) fn forget_missing(&self) {
        for entry in std::fs::read_dir(self.projects()).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let other = Self { state: self.state.clone(), name, identity: Vec::new() };
            let is_name =
                other.name.len() == self.name.len() && other.name.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_name
                && other.name != self.name
                && other.is_forgotten()
                && let Ok(Some(lock)) = other.alone(1)
                && other.is_forgotten()
                && other.remove_part(&other.directory()).is_ok()
            {
                lock.remove();
            }
        }
    }

    /// Whether the project of this directory is not at its path any more.
    fn is_forgotten(&self) -> bool {
        use std::os::unix::ffi::OsStrExt;

        let Ok(Some(text)) = read(&self.directory().join(IDENTITY)) else { return false };
        let Some(end) = text.iter().position(|byte| *byte == b'\n') else { return false };
        let path = &text[end + 1..];
        match std::ffi::OsStr::from_bytes(path) {
            path if !Path::new(path).is_absolute() => false,
            path => match Path::new(path).metadata() {
                Ok(there) => identity(there.ino(), path.as_bytes()) != text,
                Err(error) => error.kind() == std::io::ErrorKind::NotFound,
            },
        }
    }

    /// Takes the shared lock.
    pub(super) fn use_together(&self) -> Result<Lock> {
        for _ in 0..TRIES {
            if let Some(lock) = Lock::together_now(&self.lock_file())? {
                return Ok(lock);
            }
            std::thread::sleep(PAUSE);
        }
        Err(busy())
    }

    /// Takes the exclusive lock, if it is free soon.
    fn alone(&self, tries: usize) -> Result<Option<Lock>> {
        for attempt in 0..tries {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            if let Some(lock) = Lock::alone_now(&self.lock_file())? {
                return Ok(Some(lock));
            }
        }
        Ok(None)
    }

    /// Takes the exclusive lock for a setup, and prepares the directory.
    pub(super) fn begin(&self, what: BeforeSetup) -> Result<Lock> {
        self.prepare()?;
        let lock = self.alone(TRIES)?.ok_or_else(busy)?;
        if what == BeforeSetup::RemoveAll && self.is_there()? {
            self.remove_part(&self.directory().join(CACHE))?;
            self.remove_part(&self.directory().join(TOOLS))?;
        }
        self.create_alone(&lock)?;
        self.make(&self.directory().join(TOOLS))?;
        // A setup that fails leaves none.
        self.remove_part(&self.directory().join(SETUP))?;
        Ok(lock)
    }

    /// Returns the key of the last setup.
    pub(super) fn setup_key(&self) -> Result<Option<Vec<u8>>> {
        if !self.is_there()? {
            return Ok(None);
        }
        read(&self.directory().join(SETUP))
    }

    /// Stores the key of a setup that has succeeded.
    pub(super) fn set_setup_key(&self, _: &Lock, key: &[u8]) -> Result<()> {
        write(&self.directory().join(SETUP), key)
    }

    /// Removes everything that is kept for the project.
    pub(super) fn remove(&self) -> Result<Cleared> {
        for directory in [&self.state, &self.projects(), &self.directory()] {
            check(directory)?;
        }
        if self.directory().symlink_metadata().is_err() {
            return Ok(Cleared::Nothing);
        }
        let lock = self.alone(TRIES)?.ok_or_else(busy)?;
        self.remove_part(&self.directory())?;
        lock.remove();
        Ok(Cleared::Removed)
    }

    fn remove_part(&self, part: &Path) -> Result<()> {
        remove_tree(part).map_err(|error| unusable(&error))
    }

    /// Returns the caches with this access, and the tools of a setup that has succeeded.
    pub(super) fn shown(&self, access: MountAccess) -> Result<KeptDirectories> {
        let mut kept = KeptDirectories { mounts: self.caches(access)?, ..KeptDirectories::default() };
        let tools = self.directory().join(TOOLS);
        if read(&self.directory().join(SETUP))?.is_some() && !is_empty(&tools) {
            kept.mounts.push(mount(tools, TOOLS_INSIDE, MountAccess::ReadOnly)?);
            kept.programs.push(VirtualPath::parse(&format!("{TOOLS_INSIDE}/bin"))?);
        }
        Ok(kept)
    }

    /// Returns what a setup writes to: the tools, and the caches with this access.
    pub(super) fn writable(&self, access: MountAccess) -> Result<KeptDirectories> {
        let mut kept = KeptDirectories { mounts: self.caches(access)?, ..KeptDirectories::default() };
        kept.mounts.push(mount(self.directory().join(TOOLS), TOOLS_INSIDE, MountAccess::ReadWrite)?);
        kept.programs.push(VirtualPath::parse(&format!("{TOOLS_INSIDE}/bin"))?);
        let installers = [
            ("CARGO_INSTALL_ROOT", TOOLS_INSIDE.to_owned()),
            ("GOBIN", format!("{TOOLS_INSIDE}/bin")),
            ("npm_config_prefix", TOOLS_INSIDE.to_owned()),
        ];
        kept.environment.extend(installers.map(|(name, value)| (name.to_owned(), value)));
        Ok(kept)
    }

    fn caches(&self, access: MountAccess) -> Result<Vec<Mount>> {
        let here = CACHES.iter().map(|(name, at)| (self.directory().join(CACHE).join(name), at));
        // An empty cache that cannot be written only disturbs.
        let is_shown = |cache: &Path| match access {
            MountAccess::ReadWrite => is_directory(cache),
            MountAccess::ReadOnly => !is_empty(cache),
        };
        here.filter(|(cache, _)| is_shown(cache)).map(|(cache, at)| mount(cache, at, access)).collect()
    }
}

/// What happens to earlier packages before a setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BeforeSetup {
    /// They are used.
    Keep,
    /// They are removed.
    RemoveAll,
}

fn identity(inode: u64, path: &[u8]) -> Vec<u8> {
    [format!("{inode}\n").as_bytes(), path].concat()
}

fn mount(source: PathBuf, at: &str, access: MountAccess) -> Result<Mount> {
    Ok(Mount { source, at: VirtualPath::parse(at)?, access })
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| there.is_dir())
}

/// Whether this is no directory with content. One that its owner may not read counts as empty.
fn is_empty(path: &Path) -> bool {
    !is_directory(path) || !std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
}

fn busy() -> Error {
    Error::new(ErrorKind::Busy, "the packages of this project are in use by another workden process")
        .hint("wait until its commands have ended, or stop it")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            std::fs::create_dir(place.path().join("project")).unwrap();
            Self(place)
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn store(&self) -> ProjectStore {
            ProjectStore::of(&self.at("state"), &self.at("project")).unwrap()
        }
    }

    #[test]
    fn an_empty_cache_is_shown_to_commands_that_can_fill_it() {
        let place = Place::new();
        let store = place.store();
        assert!(!store.is_there().unwrap() && !place.at("state").exists());
        store.create().unwrap();
        assert_eq!(store.shown(MountAccess::ReadWrite).unwrap().mounts.len(), CACHES.len());
        assert_eq!(store.shown(MountAccess::ReadOnly).unwrap(), KeptDirectories::default());
        std::fs::write(store.directory().join("cache/pip/wheel"), "").unwrap();
        let shown = store.shown(MountAccess::ReadOnly).unwrap();
        let pip = mount(store.directory().join("cache/pip"), "/home/agent/.cache/pip", MountAccess::ReadOnly).unwrap();
        assert_eq!(shown.mounts, [pip]);
    }

    #[test]
    fn another_project_at_the_same_path_starts_from_nothing() {
        let place = Place::new();
        let store = place.store();
        store.create().unwrap();
        std::fs::write(store.directory().join("cache/cargo/config.toml"), "").unwrap();
        std::fs::rename(place.at("project"), place.at("moved")).unwrap();
        std::fs::create_dir(place.at("project")).unwrap();
        let other = place.store();
        assert_eq!(other.directory(), store.directory());
        assert!(!other.is_there().unwrap());
        other.create().unwrap();
        assert!(!other.directory().join("cache/cargo/config.toml").exists());
    }

    #[test]
    fn projects_that_are_gone_are_forgotten_unless_they_are_in_use() {
        let place = Place::new();
        let store = place.store();
        store.create().unwrap();
        std::fs::create_dir(place.at("other")).unwrap();
        let other = ProjectStore::of(&place.at("state"), &place.at("other")).unwrap();
        other.create().unwrap();
        other.forget_missing();
        assert!(store.is_there().unwrap());
        std::fs::remove_dir(place.at("project")).unwrap();
        let used = store.use_together().unwrap();
        other.forget_missing();
        assert!(store.is_there().unwrap());
        drop(used);
        other.forget_missing();
        assert!(!store.directory().exists() && !store.lock_file().exists());
        assert!(other.is_there().unwrap());
    }

    #[test]
    fn caches_are_bounded_and_those_in_use_are_left_alone() {
        let place = Place::new();
        let store = place.store();
        store.create().unwrap();
        let file = store.directory().join("cache/npm/large");
        std::fs::write(&file, vec![0; 1 << 20]).unwrap();
        store.bound_to(1 << 30, 1000).unwrap();
        let used = store.use_together().unwrap();
        store.bound_to(1 << 16, 1000).unwrap();
        assert!(file.exists());
        drop(used);
        store.bound_to(1 << 16, 1000).unwrap();
        assert!(!file.exists() && store.is_complete());
    }

    #[test]
    fn what_is_in_use_is_not_removed_and_what_another_user_could_change_is_not_used() {
        let place = Place::new();
        let store = place.store();
        assert_eq!(store.remove().unwrap(), Cleared::Nothing);
        store.create().unwrap();
        let used = store.use_together().unwrap();
        assert_eq!(store.remove().unwrap_err().kind(), ErrorKind::Busy);
        assert_eq!(store.begin(BeforeSetup::Keep).unwrap_err().kind(), ErrorKind::Busy);
        drop(used);
        let real = store.directory().with_extension("real");
        std::fs::rename(store.directory(), &real).unwrap();
        symlink(&real, store.directory()).unwrap();
        assert_eq!(store.is_there().unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(store.create().unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(store.remove().unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert!(real.join("cache/pip").exists());
    }

    #[test]
    fn a_state_directory_in_the_workspace_is_not_used() {
        let place = Place::new();
        let shown =
            |source: PathBuf, access| vec![Mount { source, at: VirtualPath::parse("/workspace").unwrap(), access }];
        let store = place.store();
        assert!(store.is_in(&shown(place.at(""), MountAccess::ReadWrite)));
        assert!(!store.is_in(&shown(place.at(""), MountAccess::ReadOnly)));
        assert!(!store.is_in(&shown(place.at("project"), MountAccess::ReadWrite)));
        // Before and after it exists, and by another name.
        store.create().unwrap();
        symlink(place.at(""), place.at("project/link")).unwrap();
        assert!(store.is_in(&shown(place.at("project/link"), MountAccess::ReadWrite)));
    }
}
