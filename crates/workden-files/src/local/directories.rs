//! Making the missing parents of a path, and removing them again if the change fails.

use std::os::fd::{AsFd, OwnedFd};

use rustix::{
    fs::{self, AtFlags, Mode},
    io::Errno,
};
use workden_core::{Result, VirtualPath};

use super::{Durability, errors::refused, root::Root};

/// Directories that were made for a change; they are removed again unless it is kept.
#[derive(Debug, Default)]
pub(super) struct Made {
    made: Vec<(OwnedFd, String)>,
}

impl Made {
    /// Opens a directory, and makes it and its parents if they are missing; errors name the requested path.
    pub(super) fn open(
        &mut self,
        root: &Root,
        verb: &str,
        real: &VirtualPath,
        asked: &VirtualPath,
        durability: Durability,
    ) -> Result<OwnedFd> {
        root.check_new(verb, asked)?;
        match root.directory(real) {
            Err(Errno::NOENT) => self.make(root, real, durability).map_err(|errno| refused(verb, asked, errno)),
            opened => opened.map_err(|errno| refused(verb, asked, errno)),
        }
    }

    fn make(&mut self, root: &Root, real: &VirtualPath, durability: Durability) -> Result<OwnedFd, Errno> {
        let mut at = root.directory(&VirtualPath::root())?;
        let mut path = VirtualPath::root();
        for name in real.components() {
            path = path.child_unchecked(name);
            let below = match root.step_into(at.as_fd(), &path) {
                Err(Errno::NOENT) => {
                    match fs::mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) => self.made.push((at.try_clone().map_err(|_| Errno::MFILE)?, name.to_owned())),
                        Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno),
                    }
                    durability.sync_names(at.as_fd())?;
                    root.step_into(at.as_fd(), &path)?
                }
                opened => opened?,
            };
            at = below;
        }
        Ok(at)
    }

    /// Keeps the new directories.
    pub(super) fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for (above, name) in self.made.drain(..).rev() {
            // Fails, as it should, if the directory is no longer empty.
            let _ = fs::unlinkat(above, name, AtFlags::REMOVEDIR);
        }
    }
}

pub(super) fn make_dir(root: &Root, real: &VirtualPath, durability: Durability) -> Result<()> {
    let mut made = Made::default();
    match made.open(root, "make", real, real, durability) {
        Ok(_) => made.keep(),
        // The one error with another message for a directory call: a file has the last name of the path.
        Err(error) => {
            let in_the_way = root
                .parent(real)
                .ok()
                .flatten()
                .is_some_and(|(directory, name)| fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok());
            return Err(if in_the_way && error.kind() == workden_core::ErrorKind::NotDirectory {
                workden_core::Error::already_exists("make", real)
            } else {
                error
            });
        }
    }
    Ok(())
}
