//! `Root`: the directory that callers see as `/`, and the only two ways to open anything below it.
//!
//! Invariant: nothing outside the root is ever opened. `openat2` is told to stay beneath the root and to meet no link;
//! on kernels without `openat2`, each component is opened from its parent without following links. All paths are
//! resolved before, so a link in a path means that something was swapped, and the open fails with `LOOP`. Excluded
//! paths do not exist for any of these calls.

use std::{
    ffi::CStr,
    ops::ControlFlow,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{self, AtFlags, FileType, Mode, OFlags, Stat},
    io::Errno,
};
use workden_core::{FileId, Result, VirtualPath, names};

use super::{file_id::file_id, left_out::LeftOut, names_in::for_each_name};
use crate::open_mounts::OpenMount;

/// How paths below the root are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathOpening {
    /// With `openat2` if the kernel has it, otherwise step by step.
    #[default]
    Detect,
    /// Step by step, without following links.
    StepByStep,
}

/// Longer paths are opened step by step, because the kernel accepts no longer ones at once.
const LONGEST_AT_ONCE: usize = 4000;

#[derive(Debug)]
pub(super) struct Root {
    fd: OwnedFd,
    id: FileId,
    host_path: PathBuf,
    at_once: bool,
    /// Whether cached facts can be read from the kernel without waiting.
    answers_at_once: bool,
    left_out: LeftOut,
}

/// The flags for a directory, for I/O on the names in it.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Root {
    /// Opens the host directory, following links: a link stands for its target.
    pub(super) fn open(directory: &Path, opening: PathOpening, left_out: LeftOut) -> Result<Self, Errno> {
        Self::of(fs::open(directory, DIRECTORY, Mode::empty())?, directory, opening, left_out)
    }

    /// Opens a directory that is open already, for I/O on the names in it.
    pub(super) fn of_open(mount: &OpenMount, opening: PathOpening, left_out: LeftOut) -> Result<Self, Errno> {
        Self::of(fs::openat(mount, ".", DIRECTORY, Mode::empty())?, mount.source(), opening, left_out)
    }

    fn of(fd: OwnedFd, directory: &Path, opening: PathOpening, left_out: LeftOut) -> Result<Self, Errno> {
        let host_path = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
        let at_once = opening == PathOpening::Detect && at_once::is_supported(fd.as_fd());
        let answers_at_once = at_once && at_once::keeps_all_in_memory(fd.as_fd());
        let id = file_id(&fs::fstat(&fd)?);
        Ok(Self { fd, id, host_path, at_once, answers_at_once, left_out })
    }

    /// Returns the host path of the root. It is used only to read link targets, and never opened again.
    pub(super) fn host_path(&self) -> &Path {
        &self.host_path
    }

    /// Returns the identity of the root.
    pub(super) fn id(&self) -> FileId {
        self.id
    }

    /// Opens a directory, to list it or to act on the names in it.
    pub(super) fn directory(&self, real: &VirtualPath) -> Result<OwnedFd, Errno> {
        if real.is_root() {
            return fs::openat(&self.fd, ".", DIRECTORY, Mode::empty());
        }
        if self.left_out.covers(real) {
            return Err(Errno::NOENT);
        }
        if self.at_once && real.relative().len() <= LONGEST_AT_ONCE {
            return at_once::open(self.fd.as_fd(), real.relative(), DIRECTORY);
        }
        let mut at = fs::openat(&self.fd, ".", DIRECTORY, Mode::empty())?;
        for name in real.components() {
            at = step_into_unchecked(at.as_fd(), name)?;
        }
        Ok(at)
    }

    /// Opens the parent directory of a path; `None` for the root itself.
    pub(super) fn parent<'p>(&self, real: &'p VirtualPath) -> Result<Option<(OwnedFd, &'p str)>, Errno> {
        if self.left_out.covers(real) {
            return Err(Errno::NOENT);
        }
        match (real.parent(), real.name()) {
            (Some(parent), Some(name)) => Ok(Some((self.directory(&parent)?, name))),
            _ => Ok(None),
        }
    }

    /// Opens the parent directory of a path for lookups, but not for listing, if that is possible without waiting.
    pub(super) fn parent_at_hand<'p>(&self, real: &'p VirtualPath) -> Option<(OwnedFd, &'p str)> {
        if !self.answers_at_once || self.left_out.covers(real) || real.relative().len() > LONGEST_AT_ONCE {
            return None;
        }
        let (parent, name) = (real.parent()?, real.name()?);
        let relative = if parent.is_root() { "." } else { parent.relative() };
        Some((at_once::look_at_hand(self.fd.as_fd(), relative)?, name))
    }

    /// Opens the file or link `name` in a directory of `parent_at_hand`, if that is possible without waiting.
    pub(super) fn name_at_hand(&self, directory: BorrowedFd<'_>, name: &str) -> Option<OwnedFd> {
        at_once::look_at_hand(directory, name)
    }

    /// Opens a known regular file for reading, under the same conditions.
    pub(super) fn file_at_hand(&self, directory: BorrowedFd<'_>, name: &str) -> Option<OwnedFd> {
        at_once::open_at_hand(directory, name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
    }

    /// Opens a directory from its parent, unless it is a link.
    pub(super) fn step_into(&self, above: BorrowedFd<'_>, real: &VirtualPath) -> Result<OwnedFd, Errno> {
        match real.name() {
            Some(name) if !self.left_out.covers(real) => step_into_unchecked(above, name),
            _ => Err(Errno::NOENT),
        }
    }

    /// Whether a path is excluded.
    pub(super) fn lacks(&self, real: &VirtualPath) -> bool {
        self.left_out.covers(real)
    }

    /// Refuses a path at which nothing can be made.
    pub(super) fn check_new(&self, verb: &str, real: &VirtualPath) -> Result<()> {
        names::check_names(verb, real)?;
        self.left_out.check_new(verb, real)
    }

    /// Refuses to move or remove a directory that contains an excluded path.
    pub(super) fn check_gone(&self, verb: &str, real: &VirtualPath) -> Result<()> {
        self.left_out.check_gone(verb, real)
    }

    /// Calls `take` with every visible name in an open directory, until it breaks off. The type may be `Unknown`.
    pub(super) fn for_each_name_in(
        &self,
        real: &VirtualPath,
        directory: impl AsFd,
        mut take: impl FnMut(&CStr, FileType) -> ControlFlow<()>,
    ) -> Result<(), Errno> {
        let left_out = self.left_out.names_in(real);
        for_each_name(directory, |name, kind| match left_out.contains(name) {
            true => ControlFlow::Continue(()),
            false => take(name, kind),
        })
    }

    /// Returns the first component of a path that is not a directory, if there is one.
    pub(super) fn file_above(&self, real: &VirtualPath) -> Option<VirtualPath> {
        let mut at = self.directory(&VirtualPath::root()).ok()?;
        let mut above = VirtualPath::root();
        for name in real.parent()?.components() {
            above = above.child(name).ok()?;
            match self.step_into(at.as_fd(), &above) {
                Ok(below) => at = below,
                Err(Errno::NOTDIR) => return Some(above),
                Err(_) => return None,
            }
        }
        None
    }

    /// Whether a path contains no link, determined in one system call; `None` if that is not possible.
    pub(super) fn has_no_link(&self, typed: &VirtualPath, keep_last: bool) -> Option<bool> {
        if self.left_out.covers(typed) {
            return Some(true);
        }
        if !self.at_once || typed.is_root() || typed.relative().len() > LONGEST_AT_ONCE {
            return typed.is_root().then_some(true);
        }
        match at_once::look(self.fd.as_fd(), typed.relative(), keep_last) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => Some(true),
            Err(Errno::LOOP) => Some(false),
            Err(_) => None,
        }
    }
}

/// Opens the directory `name` in `at`, unless it is a link, even if it is excluded.
fn step_into_unchecked(at: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    fs::openat(at, name, DIRECTORY.union(OFlags::NOFOLLOW), Mode::empty()).map_err(|errno| match errno {
        // A link is reported as "not a directory" here; the difference decides about a retry.
        Errno::NOTDIR if is_link(at, name) => Errno::LOOP,
        other => other,
    })
}

fn is_link(at: BorrowedFd<'_>, name: &str) -> bool {
    fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| kind(&stat) == FileType::Symlink)
}

/// Returns the file type in a stat.
pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

#[cfg(target_os = "linux")]
mod at_once {
    //! `openat2`: one call that cannot leave the root.

    use std::os::fd::{BorrowedFd, OwnedFd};

    use rustix::{
        fs::{Mode, OFlags, ResolveFlags, fstatfs, openat2},
        io::Errno,
    };

    const CONFINED: ResolveFlags =
        ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);

    pub(super) fn is_supported(root: BorrowedFd<'_>) -> bool {
        open(root, ".", OFlags::PATH | OFlags::CLOEXEC).is_ok()
    }

    pub(super) fn open(root: BorrowedFd<'_>, relative: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        openat2(root, relative, flags, Mode::empty(), CONFINED)
    }

    /// Opens a file, if the caches of the kernel lead to it and it is on the same mount.
    pub(super) fn open_at_hand(at: BorrowedFd<'_>, relative: &str, how: OFlags) -> Option<OwnedFd> {
        let cached = CONFINED | ResolveFlags::CACHED | ResolveFlags::NO_XDEV;
        openat2(at, relative, how | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty(), cached).ok()
    }

    /// Like `open_at_hand`, for lookups but not for reading.
    pub(super) fn look_at_hand(at: BorrowedFd<'_>, relative: &str) -> Option<OwnedFd> {
        open_at_hand(at, relative, OFlags::PATH)
    }

    /// Whether this is a local file system that keeps the metadata of an open file in memory.
    pub(super) fn keeps_all_in_memory(root: BorrowedFd<'_>) -> bool {
        const EXT: u32 = 0xEF53;
        const TMPFS: u32 = 0x0102_1994;
        const XFS: u32 = 0x5846_5342;
        const BTRFS: u32 = 0x9123_683E;
        const F2FS: u32 = 0xF2F5_2010;
        // These numbers have 32 bits, whatever the type of the field.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only these bits are meant")]
        fstatfs(root).is_ok_and(|found| [EXT, TMPFS, XFS, BTRFS, F2FS].contains(&(found.f_type as u32)))
    }

    /// Checks whether the path can be walked without meeting a link.
    pub(super) fn look(root: BorrowedFd<'_>, relative: &str, keep_last: bool) -> Result<(), Errno> {
        let last = if keep_last { OFlags::NOFOLLOW } else { OFlags::empty() };
        open(root, relative, OFlags::PATH | OFlags::CLOEXEC | last).map(drop)
    }
}

#[cfg(not(target_os = "linux"))]
mod at_once {
    //! Other systems have no `openat2`: every path is opened step by step.

    use std::os::fd::{BorrowedFd, OwnedFd};

    use rustix::{fs::OFlags, io::Errno};

    pub(super) fn is_supported(_: BorrowedFd<'_>) -> bool {
        false
    }

    pub(super) fn open(_: BorrowedFd<'_>, _: &str, _: OFlags) -> Result<OwnedFd, Errno> {
        Err(Errno::NOSYS)
    }

    pub(super) fn open_at_hand(_: BorrowedFd<'_>, _: &str, _: OFlags) -> Option<OwnedFd> {
        None
    }

    pub(super) fn look_at_hand(_: BorrowedFd<'_>, _: &str) -> Option<OwnedFd> {
        None
    }

    pub(super) fn keeps_all_in_memory(_: BorrowedFd<'_>) -> bool {
        false
    }

    pub(super) fn look(_: BorrowedFd<'_>, _: &str, _: bool) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }
}
