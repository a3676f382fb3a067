//! Programs and libraries: the host's /usr and related directories, or a directory that holds a root file system. All
//! of it is read-only.

use std::{fs, path::Path};

use workden_core::{Error, sandbox::RootFiles};

use super::{
    errors::{errno_of, refused},
    etc::{self, EtcFiles},
    root::NewRoot,
    root_entry::RootEntry,
};

/// The names of the host's root that are shown, as the links or directories that they are.
const OF_HOST: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib64", "lib32", "libx32"];

/// The names of another root that are not shown: a sandbox has its own, or none.
const NOT_OF_DIRECTORY: [&str; 10] =
    ["proc", "sys", "dev", "run", "tmp", "home", "boot", "lost+found", "etc", "workspace"];

/// Programs and libraries, ready to be placed.
pub(super) struct Programs {
    parts: Vec<(String, RootEntry)>,
    etc: EtcFiles,
}

/// Gathers the entries, while the host can still be seen.
pub(super) fn gather(root: &RootFiles) -> Result<Programs, Error> {
    let mut parts = Vec::new();
    let etc = match root {
        RootFiles::Host => {
            for name in OF_HOST {
                if let Some(part) = RootEntry::of(&Path::new("/").join(name))? {
                    parts.push((name.to_owned(), part));
                }
            }
            etc::of_host(Path::new("/etc"))?
        }
        RootFiles::Directory(directory) => {
            let entries = fs::read_dir(directory).map_err(|error| refused("read the root files", errno_of(&error)))?;
            for entry in entries.flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
                if NOT_OF_DIRECTORY.contains(&name.as_str()) {
                    continue;
                }
                if let Some(part) = RootEntry::of(&entry.path())? {
                    parts.push((name, part));
                }
            }
            etc::of_directory(&directory.join("etc"))?
        }
    };
    Ok(Programs { parts, etc })
}

impl Programs {
    /// Puts the entries into the new root.
    pub(super) fn place(self, root: &NewRoot, files: &etc::SyntheticFiles) -> Result<(), Error> {
        let placed = self.parts.into_iter().try_for_each(|(name, part)| part.place(root, &name));
        placed.and_then(|()| self.etc.place(root, files)).map_err(|errno| refused("mount the root files", errno))
    }
}
