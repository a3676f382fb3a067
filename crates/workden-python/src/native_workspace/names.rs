//! Spelling of paths in host directories under their own names.

use std::path::PathBuf;

use workden_core::{Error, Refusal, Result, VirtualPath};

/// Directories under their host names. Without any, every path is taken as typed.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The directories.
    pub(super) directories: Vec<VirtualPath>,
    /// Other spellings of them, through links, and their targets.
    pub(super) also: Vec<(VirtualPath, VirtualPath)>,
}

impl Names {
    /// Resolves the directories at these paths.
    pub(super) fn of(directories: &[(PathBuf, PathBuf)]) -> Result<Self> {
        let mut names = Self::default();
        for (given, real) in directories {
            let (given, real) = (host_name(given)?, host_name(real)?);
            if given != real {
                names.also.push((given, real.clone()));
            }
            if !names.directories.contains(&real) {
                names.directories.push(real);
            }
        }
        Ok(names)
    }

    /// Returns the path in the workspace for typed text, relative to this directory.
    ///
    /// # Errors
    ///
    /// `Outside` if it is in none of the directories.
    pub(super) fn find(&self, from: &VirtualPath, typed: &str) -> Result<VirtualPath> {
        let path = VirtualPath::parse_from(from, typed)?;
        if self.directories.is_empty() {
            return Ok(path);
        }
        let is_in = |path: &VirtualPath| self.directories.iter().any(|directory| path.is_within(directory));
        let respelled = || {
            let one = |(given, real): &(VirtualPath, VirtualPath)| Some(path.strip_prefix(given)?.below(real));
            self.also.iter().find_map(one)
        };
        match is_in(&path) {
            true => Ok(path),
            false => respelled().ok_or_else(|| {
                Error::from(Refusal::Outside { path: path.clone(), readable: self.directories.clone() })
            }),
        }
    }
}

/// Returns the path of a host directory as a path in a workspace.
pub(super) fn host_name(directory: &std::path::Path) -> Result<VirtualPath> {
    VirtualPath::parse_bytes(directory.as_os_str().as_encoded_bytes())
}
