//! `OpenMount`: a file or directory of the host that a workspace shows, opened once.
//!
//! Invariant: nothing is looked up by name again. [`open_mounts`] rejects a source whose path goes through a link in a
//! directory that another mount lets commands change, since an earlier command may have put the link there. It judges
//! the links that were followed when the source was opened, so that nothing can be exchanged between check and use.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat},
    io::Errno,
};
use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    sandbox::{InodeId, Mount, MountAccess},
};

/// The longest chain of links, as in the kernel.
const MOST_LINKS: usize = 40;
/// How often a name is looked at again that is exchanged at that moment.
const TRIES: usize = 100;

/// A file or directory of the host that is open, and where a workspace shows it.
#[derive(Debug)]
pub struct OpenMount {
    source: PathBuf,
    at: VirtualPath,
    access: MountAccess,
    file: OwnedFd,
    stat: Stat,
    followed: Vec<FollowedLink>,
}

/// A file or directory below a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// Its identity on this machine.
    pub id: InodeId,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// A link on the path of a source.
#[derive(Debug)]
struct FollowedLink {
    name: OsString,
    /// The directory of the link, and all above it.
    inside: HashSet<InodeId>,
}

/// Opens the sources of all mounts of a workspace. Their paths must be absolute.
///
/// # Errors
///
/// `NotFound` and others for a source that cannot be opened; `InvalidArgument` for one that goes through a link where
/// commands can write.
pub fn open_mounts(mounts: &[Mount]) -> Result<Vec<OpenMount>> {
    let opened = mounts.iter().map(OpenMount::open).collect::<Result<Vec<_>>>()?;
    for (index, mount) in opened.iter().enumerate() {
        let writable = opened
            .iter()
            .enumerate()
            .filter(|(other, there)| *other != index && there.access == MountAccess::ReadWrite && there.is_directory());
        for (_, other) in writable {
            if let Some(link) = mount.followed.iter().find(|link| link.inside.contains(&other.id())) {
                return Err(planted(mount, link, other));
            }
        }
    }
    Ok(opened)
}

/// Returns the paths at which writable mounts show a file of the host, which the host runs or obeys, so that it can be
/// protected there.
#[must_use]
pub fn shown_at(file: &Path, mounts: &[Mount]) -> Vec<VirtualPath> {
    let Ok(file) = file.canonicalize() else { return Vec::new() };
    let shown = mounts.iter().filter(|mount| mount.access == MountAccess::ReadWrite).filter_map(|mount| {
        let below = file.strip_prefix(mount.source.canonicalize().ok()?).ok()?;
        Some(VirtualPath::parse(below.to_str()?).ok()?.below(&mount.at))
    });
    shown.collect()
}

fn planted(mount: &OpenMount, link: &FollowedLink, writable: &OpenMount) -> Error {
    let name = link.name.display().to_string();
    let sentence = format!(
        "cannot mount `{}`: its source goes through the link `{}` in `{}`, where commands can write",
        mount.at,
        name.escape_debug(),
        writable.at
    );
    Error::new(ErrorKind::InvalidArgument, sentence)
        .hint("check where the link leads, and use that path if it is the intended one")
}

impl OpenMount {
    fn open(mount: &Mount) -> Result<Self> {
        let opened = walk(&mount.source).and_then(|(file, followed)| {
            let stat = fstat(&file)?;
            Ok(Self { source: mount.source.clone(), at: mount.at.clone(), access: mount.access, file, stat, followed })
        });
        opened.map_err(|errno| cannot_mount(&mount.at, errno))
    }

    /// Returns the path at which the workspace shows it.
    pub fn at(&self) -> &VirtualPath {
        &self.at
    }

    /// Returns the allowed access.
    pub fn access(&self) -> MountAccess {
        self.access
    }

    /// Returns whether it is a directory.
    pub fn is_directory(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory
    }

    /// Returns its user and its group.
    pub fn owner(&self) -> (u32, u32) {
        (self.stat.st_uid, self.stat.st_gid)
    }

    /// Returns its identity on this machine.
    pub fn id(&self) -> InodeId {
        id_of(&self.stat)
    }

    /// Looks at a path below it, without following a link.
    ///
    /// # Errors
    ///
    /// `NotADirectory` or `FilesystemLoop` for a link on the way, and what the system reports.
    pub fn look_below(&self, path: &VirtualPath) -> std::io::Result<Looked> {
        let mut here = None;
        for name in path.components() {
            let directory = here.as_ref().map_or(self.file.as_fd(), AsFd::as_fd);
            here = Some(openat(directory, name, PLACE, Mode::empty())?);
        }
        let stat = here.map_or(Ok(self.stat), fstat)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Symlink {
            return Err(Errno::LOOP.into());
        }
        Ok(Looked { id: id_of(&stat), is_directory: kind == FileType::Directory })
    }

    /// Returns the path on the host by which it was opened, which may lead elsewhere by now.
    pub(crate) fn source(&self) -> &Path {
        &self.source
    }
}

impl AsFd for OpenMount {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[expect(clippy::useless_conversion, reason = "the types of these fields differ between systems")]
fn id_of(stat: &Stat) -> InodeId {
    InodeId { device: u64::try_from(stat.st_dev).unwrap_or_default(), inode: u64::from(stat.st_ino) }
}

/// Opens a path as the kernel would, and returns the links that it went through.
fn walk(path: &Path) -> Result<(OwnedFd, Vec<FollowedLink>), Errno> {
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    if let Ok(file) = without_links(path) {
        return Ok((file, Vec::new()));
    }
    let mut here = vec![openat(CWD, "/", PLACE, Mode::empty())?];
    let mut rest = reversed(path);
    let mut followed = Vec::new();
    while let Some(name) = rest.pop() {
        if name == ".." {
            // What was opened before, and not what is above by now.
            here.truncate(here.len().saturating_sub(1).max(1));
            continue;
        }
        let directory = here.last().ok_or(Errno::NOENT)?;
        match look_up(directory.as_fd(), &name)? {
            Found::File(file) => here.push(file),
            Found::Link(_) if followed.len() == MOST_LINKS => return Err(Errno::LOOP),
            Found::Link(target) => {
                let inside = here.iter().map(|above| fstat(above).map(|stat| id_of(&stat)));
                followed.push(FollowedLink { name, inside: inside.collect::<Result<_, _>>()? });
                if target.is_absolute() {
                    here.truncate(1);
                }
                rest.extend(reversed(&target));
            }
        }
    }
    here.pop().map(|file| (file, followed)).ok_or(Errno::NOENT)
}

/// The flags of a descriptor that stands for a file without giving access to its content.
#[cfg(target_os = "linux")]
const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Other systems have no such descriptors.
#[cfg(not(target_os = "linux"))]
const PLACE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a path that has no links, in one call.
#[cfg(target_os = "linux")]
fn without_links(path: &Path) -> Result<OwnedFd, Errno> {
    // With `NOFOLLOW`, a link at the end would be opened itself.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), rustix::fs::ResolveFlags::NO_SYMLINKS)
}

#[cfg(not(target_os = "linux"))]
fn without_links(_: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Returns the names of a path, the last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    let mut names: Vec<OsString> = path.components().filter_map(name).collect();
    names.reverse();
    names
}

enum Found {
    File(OwnedFd),
    Link(PathBuf),
}

fn look_up(directory: BorrowedFd<'_>, name: &OsStr) -> Result<Found, Errno> {
    for _ in 0..TRIES {
        match readlinkat(directory, name, Vec::new()) {
            Ok(target) => return Ok(Found::Link(PathBuf::from(OsString::from_vec(target.into_bytes())))),
            // Not a link.
            Err(Errno::INVAL) => {}
            Err(errno) => return Err(errno),
        }
        match openat(directory, name, PLACE, Mode::empty()) {
            Err(Errno::LOOP) => {}
            Err(errno) => return Err(errno),
            Ok(file) if FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::Symlink => {}
            Ok(file) => return Ok(Found::File(file)),
        }
    }
    Err(Errno::LOOP)
}

fn cannot_mount(at: &VirtualPath, errno: Errno) -> Error {
    let (kind, why) = match errno {
        Errno::NOENT => (ErrorKind::NotFound, "no such file or directory"),
        Errno::NOTDIR => (ErrorKind::NotDirectory, "not a directory"),
        Errno::ACCESS | Errno::PERM => (ErrorKind::PermissionDenied, "permission denied"),
        Errno::LOOP => (ErrorKind::LinkLoop, "too many symbolic links"),
        Errno::NAMETOOLONG | Errno::INVAL => (ErrorKind::InvalidPath, "invalid path"),
        Errno::MFILE | Errno::NFILE => (ErrorKind::Busy, "too many files are open"),
        _ => (ErrorKind::Io, "the system reported an error"),
    };
    Error::new(kind, format!("cannot mount `{at}`: {why}"))
        .hint("name a path of the host that exists and that you may read")
        .with_source(std::io::Error::from(errno))
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt, symlink},
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    struct Ground {
        place: tempfile::TempDir,
    }

    impl Ground {
        /// A workspace `proj` with a directory and two planted links, and a directory `outside`.
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            for directory in ["proj/data", "proj/zz", "outside/deep"] {
                fs::create_dir_all(place.path().join(directory)).unwrap();
            }
            let ground = Self { place };
            symlink("../outside", ground.at("proj/planted")).unwrap();
            symlink(ground.at("outside"), ground.at("proj/absolute")).unwrap();
            symlink("proj", ground.at("alias")).unwrap();
            symlink("outside", ground.at("of-user")).unwrap();
            ground
        }

        fn at(&self, below: &str) -> PathBuf {
            self.place.path().join(below)
        }

        fn open(&self, source: PathBuf, work: MountAccess) -> Result<OpenMount> {
            let mount = |source, at: &str, access| Mount { source, at: VirtualPath::parse(at).unwrap(), access };
            let mounts = [mount(self.at("proj"), "/workspace", work), mount(source, "/data", MountAccess::ReadOnly)];
            open_mounts(&mounts).map(|mut opened| opened.pop().unwrap())
        }
    }

    #[test]
    fn links_that_commands_could_have_planted_are_refused_under_every_name_of_the_workspace() {
        let ground = Ground::new();
        for below in [
            "proj/planted",
            "proj/planted/deep",
            "proj/absolute",
            "proj/zz/../planted",
            "outside/../proj/planted",
            "alias/planted",
            "alias/zz/../absolute/deep",
            "proj/../alias/planted",
        ] {
            let error = ground.open(ground.at(below), MountAccess::ReadWrite).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{below}: {error}");
            assert!(error.sentence().contains("in `/workspace`, where commands can write"), "{error}");
            ground.open(ground.at(below), MountAccess::ReadOnly).expect("commands cannot have put it there");
        }
    }

    #[test]
    fn what_is_opened_is_what_the_path_means() {
        let ground = Ground::new();
        for below in ["proj/data", "alias/data", "alias/zz/../data", "of-user/deep", "of-user/../proj/zz", "outside"] {
            let opened = ground.open(ground.at(below), MountAccess::ReadWrite).unwrap();
            let expected = fs::metadata(ground.at(below)).unwrap();
            assert_eq!(opened.id(), InodeId { device: expected.dev(), inode: expected.ino() }, "{below}");
            assert!(opened.is_directory());
            assert_eq!(opened.owner(), (expected.uid(), expected.gid()));
        }
        let top = ground.open("/../..".into(), MountAccess::ReadWrite).unwrap();
        assert_eq!(top.id().inode, fs::metadata("/").unwrap().ino());
    }

    #[test]
    fn what_cannot_be_opened_is_told_without_the_path_of_the_host() {
        let ground = Ground::new();
        symlink("round", ground.at("round")).unwrap();
        fs::write(ground.at("file"), "").unwrap();
        for (below, kind) in
            [("missing", ErrorKind::NotFound), ("round", ErrorKind::LinkLoop), ("file/below", ErrorKind::NotDirectory)]
        {
            let error = ground.open(ground.at(below), MountAccess::ReadWrite).unwrap_err();
            assert_eq!(error.kind(), kind, "{below}");
            assert!(error.sentence().starts_with("cannot mount `/data`: "), "{error}");
        }
        assert_eq!(ground.open("relative".into(), MountAccess::ReadWrite).unwrap_err().kind(), ErrorKind::InvalidPath);
    }

    #[test]
    fn below_a_mount_no_link_is_followed() {
        let ground = Ground::new();
        fs::write(ground.at("outside/deep/file"), "").unwrap();
        symlink("deep", ground.at("outside/link")).unwrap();
        let opened = ground.open(ground.at("outside"), MountAccess::ReadWrite).unwrap();
        let look = |path: &str| opened.look_below(&VirtualPath::parse(path).unwrap());
        let expected = fs::metadata(ground.at("outside/deep/file")).unwrap();
        let id = InodeId { device: expected.dev(), inode: expected.ino() };
        assert_eq!(look("/deep/file").unwrap(), Looked { id, is_directory: false });
        assert_eq!(look("/").unwrap(), Looked { id: opened.id(), is_directory: true });
        for path in ["/link", "/link/file", "/missing", "/deep/file/x"] {
            look(path).unwrap_err();
        }
    }

    /// A directory of the workspace and a link to the outside change places all the time. Looked up by name, the
    /// outside is reached; opened here, never.
    #[test]
    fn nothing_outside_is_opened_while_names_are_exchanged() {
        let ground = Ground::new();
        let outside = fs::metadata(ground.at("outside")).unwrap().ino();
        let (source, other, over) = (ground.at("proj/data"), ground.at("proj/planted"), AtomicBool::new(false));
        let (mut leaks, mut refused, mut of_control) = (0, 0, 0);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    exchange(&source, &other);
                }
            });
            // Until every outcome has been seen, which takes some hundred tries.
            for tried in 0..200_000 {
                match ground.open(source.clone(), MountAccess::ReadWrite) {
                    Ok(opened) if opened.id().inode == outside => leaks += 1,
                    Ok(_) => {}
                    Err(_) => refused += 1,
                }
                of_control += u32::from(fs::metadata(&source).is_ok_and(|found| found.ino() == outside));
                if tried > 2_000 && refused > 0 && of_control > 0 {
                    break;
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        assert_eq!(leaks, 0);
        assert!(refused > 0 && of_control > 0, "refused {refused}, the control reached the outside {of_control} times");
    }

    fn exchange(one: &Path, other: &Path) {
        #[cfg(target_os = "linux")]
        rustix::fs::renameat_with(CWD, one, CWD, other, rustix::fs::RenameFlags::EXCHANGE).unwrap();
        #[cfg(not(target_os = "linux"))]
        {
            let aside = one.with_extension("aside");
            fs::rename(one, &aside).unwrap();
            fs::rename(other, one).unwrap();
            fs::rename(&aside, other).unwrap();
        }
    }
}
