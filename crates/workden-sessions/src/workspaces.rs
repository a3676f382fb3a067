//! The files of sessions at `{root}/{id}/workspace`, which outlive the sandboxes.
//!
//! Invariant: below the root nothing is created, entered or chowned through a symbolic link: each step is opened
//! relative to the descriptor of the previous one.

use std::{
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::DirBuilderExt,
    },
    path::PathBuf,
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fchown, fstat, mkdirat, openat, statat},
    io::Errno,
    process::geteuid,
};
use workden_core::{Error, ErrorKind, Result};

use crate::{SessionId, removal::remove_tree};

/// The workspace of a session, below the session's directory. There is room for more beside it.
const WORKSPACE: &str = "workspace";

/// The directory with the files of sessions.
#[derive(Clone, Debug)]
pub struct Workspaces {
    root: PathBuf,
}

impl Workspaces {
    /// Uses this directory, which is created when it is needed.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root: std::path::absolute(&root).unwrap_or(root) }
    }

    /// The path of a session's workspace, whether or not it exists.
    pub(super) fn path(&self, id: &SessionId) -> PathBuf {
        self.root.join(id.as_str()).join(WORKSPACE)
    }

    /// Creates the workspace of a session if it does not exist, with mode 0700 and the owner of the root, and returns
    /// its path.
    ///
    /// # Errors
    ///
    /// `Escapes` when something other than a directory is at its path, and what the system refuses.
    pub fn prepare(&self, id: &SessionId) -> Result<PathBuf> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.root).map_err(|error| {
            Error::new(ErrorKind::Io, format!("cannot create the directory for sessions: {}", error.kind()))
        })?;
        let root = openat(CWD, &self.root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| refused(id, errno))?;
        let owner = fstat(&root).map_err(|errno| refused(id, errno))?;
        let session = self.step(&root, id.as_str(), id, &owner)?;
        self.step(&session, WORKSPACE, id, &owner)?;
        Ok(self.path(id))
    }

    /// Removes the directory of a session. Returns whether there was one.
    pub(super) fn purge(&self, id: &SessionId) -> Result<bool> {
        let directory = self.root.join(id.as_str());
        match statat(CWD, &directory, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(false),
            Err(errno) => return Err(refused(id, errno)),
            Ok(there) if FileType::from_raw_mode(there.st_mode) != FileType::Directory => return Err(foreign(id)),
            Ok(_) => {}
        }
        remove_tree(&directory).map(|()| true).map_err(|error| {
            Error::new(ErrorKind::Io, format!("cannot remove all files of the session `{id}`: {}", error.kind()))
        })
    }

    fn step(&self, parent: impl AsFd, name: &str, id: &SessionId, owner: &Stat) -> Result<OwnedFd> {
        let made = match mkdirat(&parent, name, Mode::RWXU) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(errno) => return Err(refused(id, errno)),
        };
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(&parent, name, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR | Errno::MLINK => foreign(id),
            errno => refused(id, errno),
        })?;
        if made && geteuid().is_root() {
            let (user, group) = (rustix::fs::Uid::from_raw(owner.st_uid), rustix::fs::Gid::from_raw(owner.st_gid));
            fchown(&directory, Some(user), Some(group)).map_err(|errno| refused(id, errno))?;
        }
        Ok(directory)
    }
}

fn foreign(id: &SessionId) -> Error {
    Error::new(ErrorKind::Escapes, format!("the directory of the session `{id}` is not a directory"))
        .hint("a file or a symbolic link is at its path: remove it, or use another id")
}

fn refused(id: &SessionId, errno: Errno) -> Error {
    let kind = match errno {
        Errno::NOSPC | Errno::DQUOT => ErrorKind::NoSpace,
        Errno::ACCESS | Errno::PERM => ErrorKind::PermissionDenied,
        Errno::ROFS => ErrorKind::ReadOnly,
        _ => ErrorKind::Io,
    };
    let why = std::io::Error::from(errno).kind();
    Error::new(kind, format!("cannot use the directory of the session `{id}`: {why}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn id(text: &str) -> SessionId {
        text.parse().unwrap()
    }

    #[test]
    fn files_have_a_directory_of_their_own_that_stays() {
        let place = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::new(place.path().join("deep/root"));
        let workspace = workspaces.prepare(&id("one")).unwrap();
        assert_eq!(workspace, place.path().join("deep/root/one/workspace"));
        for directory in [&workspace, &place.path().join("deep/root/one")] {
            assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        std::fs::write(workspace.join("kept"), "yes").unwrap();
        assert_eq!(workspaces.prepare(&id("one")).unwrap(), workspace);
        assert_eq!(std::fs::read(workspace.join("kept")).unwrap(), b"yes");
        assert!(workspaces.purge(&id("one")).unwrap() && !workspaces.purge(&id("one")).unwrap());
        assert!(!place.path().join("deep/root/one").exists());
    }

    #[test]
    fn they_belong_to_the_owner_of_the_root() {
        if !geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(place.path(), Some(48_231), Some(48_232)).unwrap();
        let workspace = Workspaces::new(place.path().into()).prepare(&id("one")).unwrap();
        for directory in [workspace.as_path(), workspace.parent().unwrap()] {
            let there = directory.metadata().unwrap();
            assert_eq!((there.uid(), there.gid()), (48_231, 48_232));
        }
    }

    #[test]
    fn a_link_or_a_file_in_the_place_of_a_directory_is_refused_and_nothing_is_made_behind_it() {
        let (place, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let workspaces = Workspaces::new(place.path().into());
        symlink(outside.path(), place.path().join("linked")).unwrap();
        symlink("missing", place.path().join("dangling")).unwrap();
        std::fs::write(place.path().join("file"), "").unwrap();
        std::fs::create_dir(place.path().join("inner")).unwrap();
        symlink(outside.path(), place.path().join("inner/workspace")).unwrap();
        for attacked in ["linked", "dangling", "file", "inner"] {
            let error = workspaces.prepare(&id(attacked)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Escapes, "{attacked}: {error}");
        }
        for attacked in ["linked", "dangling", "file"] {
            assert_eq!(workspaces.purge(&id(attacked)).unwrap_err().kind(), ErrorKind::Escapes, "{attacked}");
        }
        std::fs::write(outside.path().join("mine"), "").unwrap();
        assert!(workspaces.purge(&id("inner")).unwrap());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "what a link leads to is left alone");
    }
}
