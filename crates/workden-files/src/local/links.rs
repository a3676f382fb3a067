//! Following symbolic links inside the root: from a typed path to the real path that I/O may open.
//!
//! The result is only a path. The open that uses it meets no link, or fails; so a link that is swapped meanwhile can
//! make the result useless, but never dangerous.

use std::os::{
    fd::{AsFd, OwnedFd},
    unix::ffi::OsStrExt,
};

use rustix::{fs, io::Errno};
use workden_core::{Error, ErrorKind, Result, Symlink, VirtualPath, limits};

use super::{errors::refused, root::Root};

/// Follows the links in a path.
pub(super) fn resolve(root: &Root, typed: &VirtualPath, symlink: Symlink) -> Result<VirtualPath> {
    match root.has_no_link(typed, symlink == Symlink::NoFollow) {
        Some(true) => Ok(typed.clone()),
        Some(false) | None => Follow::new(root, typed)?.run(symlink),
    }
}

struct Follow<'a> {
    root: &'a Root,
    typed: &'a VirtualPath,
    /// The remaining names, the next one last.
    pending: Vec<String>,
    /// The result of the names so far: a path without links, and its descriptor while it is a directory.
    real: VirtualPath,
    at: Option<OwnedFd>,
    followed: usize,
    /// How many names the followed links had.
    named: usize,
}

impl<'a> Follow<'a> {
    fn new(root: &'a Root, typed: &'a VirtualPath) -> Result<Self> {
        let pending = typed.components().rev().map(str::to_owned).collect();
        let mut follow = Self { root, typed, pending, real: VirtualPath::root(), at: None, followed: 0, named: 0 };
        follow.go_to(VirtualPath::root())?;
        Ok(follow)
    }

    fn run(mut self, symlink: Symlink) -> Result<VirtualPath> {
        while let Some(name) = self.pending.pop() {
            match name.as_str() {
                "" | "." => {}
                ".." => match self.real.parent() {
                    Some(parent) => self.go_to(parent)?,
                    None => return Err(self.leaves()),
                },
                name => {
                    let keep = self.pending.is_empty() && symlink == Symlink::NoFollow;
                    self.enter(name, keep)?;
                }
            }
        }
        Ok(self.real)
    }

    fn enter(&mut self, name: &str, keep: bool) -> Result<()> {
        let Some(at) = &self.at else {
            // Below a missing path or a file, there are no links to follow.
            self.real = self.real.child(name)?;
            return Ok(());
        };
        let below = self.real.child(name)?;
        if self.root.lacks(&below) {
            // An excluded path is not even read as a link.
            (self.real, self.at) = (below, None);
            return Ok(());
        }
        let target = if keep { Err(Errno::INVAL) } else { fs::readlinkat(at, name, Vec::new()) };
        match target {
            Ok(target) => self.follow(target.as_bytes()),
            // Not a link.
            Err(Errno::INVAL) => {
                let next = if self.pending.is_empty() { None } else { self.root.step_into(at.as_fd(), &below).ok() };
                (self.real, self.at) = (below, next);
                Ok(())
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => {
                (self.real, self.at) = (below, None);
                Ok(())
            }
            Err(errno) => Err(refused("open", self.typed, errno)),
        }
    }

    fn follow(&mut self, target: &[u8]) -> Result<()> {
        self.followed += 1;
        self.named += target.split(|byte| *byte == b'/').count();
        if self.followed > limits::LINK_DEPTH || self.named > limits::LINK_NAMES {
            return Err(Error::link_loop(self.typed));
        }
        let target = match target.strip_prefix(b"/") {
            None => target,
            Some(from_root) => {
                self.go_to(VirtualPath::root())?;
                // Links made by host tools may contain the host path of the root; those made by the agent contain
                // workspace paths. Both stay inside the root.
                let host_root = self.root.host_path().as_os_str().as_bytes();
                match target.strip_prefix(host_root) {
                    Some(inside) if inside.is_empty() || inside.starts_with(b"/") => inside,
                    _ => from_root,
                }
            }
        };
        let target = std::str::from_utf8(target).map_err(|_| {
            Error::new(
                ErrorKind::NotFound,
                format!("cannot open `{}`: a link leads to a name that is not UTF-8", self.typed),
            )
        })?;
        self.pending.extend(target.split('/').rev().map(str::to_owned));
        Ok(())
    }

    fn go_to(&mut self, real: VirtualPath) -> Result<()> {
        self.at = match self.root.directory(&real) {
            Ok(directory) => Some(directory),
            Err(Errno::NOENT | Errno::NOTDIR) => None,
            Err(errno) => return Err(refused("open", self.typed, errno)),
        };
        self.real = real;
        Ok(())
    }

    fn leaves(&self) -> Error {
        Error::new(
            ErrorKind::Escapes,
            format!("cannot open `{}`: a link on the way leads out of the workspace", self.typed),
        )
        .hint("links are followed inside the workspace only")
    }
}
