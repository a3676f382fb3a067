//! The directories of a toolchain, under their given and their real paths, each once, without any that would show
//! more than a toolchain.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use workden_core::{Error, ErrorKind, Result};

use super::{Shown, SystemParts, Toolchain};
use crate::HostEnvironment;

/// Directories that a sandbox with the host's root has anyway.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"];

/// Directories that are larger than one toolchain.
const TOO_MUCH: [&str; 16] = [
    "/", "/home", "/root", "/etc", "/var", "/opt", "/tmp", "/srv", "/mnt", "/media", "/run", "/proc", "/sys", "/dev",
    "/boot", "/Users",
];

/// Longest chain of links of a program.
const MOST_LINKS: usize = 16;

pub(super) struct Places<'h> {
    host: &'h HostEnvironment,
    shown: Vec<Shown>,
    system: SystemParts,
}

impl<'h> Places<'h> {
    pub(super) fn new(host: &'h HostEnvironment) -> Self {
        Self { host, shown: Vec::new(), system: SystemParts::None }
    }

    /// Adds a directory under its given and its real path.
    pub(super) fn add(&mut self, directory: &Path) -> Result<()> {
        let Ok(real) = directory.canonicalize() else { return Ok(()) };
        for path in [directory, &real] {
            self.refuse_too_much(path)?;
            if is_system(path) {
                self.system = SystemParts::Needed;
            } else {
                self.shown.push(Shown { at: path.to_path_buf(), real: real.clone() });
            }
        }
        Ok(())
    }

    /// Adds a directory under its given path only.
    pub(super) fn add_given(&mut self, directory: &Path) -> Result<()> {
        self.refuse_too_much(directory)?;
        self.shown.push(Shown { at: directory.to_path_buf(), real: directory.to_path_buf() });
        Ok(())
    }

    /// Adds the prefix of a program, and of every program that it links to.
    pub(super) fn add_program(&mut self, program: &Path) -> Result<()> {
        let mut program = program.to_path_buf();
        for _ in 0..MOST_LINKS {
            let Some(directory) = program.parent() else { break };
            // `<prefix>/bin/python`; the prefix of a program outside of a `bin` is its own directory.
            let is_bin = directory.file_name().is_some_and(|name| name == "bin");
            let prefix = if is_bin { directory.parent().unwrap_or(directory) } else { directory };
            match is_system(directory) {
                // The prefix may be `/`.
                true => self.system = SystemParts::Needed,
                // `~/.local/bin`: not all of `~/.local`.
                false if self.is_hidden_in_home(prefix) => self.add(directory)?,
                false => self.add(prefix)?,
            }
            let Ok(target) = std::fs::read_link(&program) else { break };
            program = directory.join(target);
        }
        Ok(())
    }

    fn is_hidden_in_home(&self, path: &Path) -> bool {
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        is_hidden && path.parent().is_some_and(|above| Some(above) == self.host.home().as_deref())
    }

    fn refuse_too_much(&self, path: &Path) -> Result<()> {
        let home = self.host.home();
        let is_home = home
            .is_some_and(|home| home.starts_with(path) || home.canonicalize().is_ok_and(|home| home.starts_with(path)));
        if !is_home && !TOO_MUCH.iter().any(|much| path == Path::new(much)) {
            return Ok(());
        }
        let shown = self.host.shown(path);
        Err(Error::new(
            ErrorKind::Denied,
            format!("a toolchain is right in `{shown}`, which is not shown to a sandbox as a whole"),
        )
        .hint("activate one in a separate directory, like a virtual environment"))
    }

    /// Returns the toolchain of these directories, without those below another.
    pub(super) fn into_toolchain(self, what: String, programs: impl IntoIterator<Item = PathBuf>) -> Toolchain {
        let mut all = self.shown;
        all.sort();
        all.dedup();
        let mut shown: Vec<Shown> = Vec::new();
        for place in all {
            let is_part = shown
                .iter()
                .any(|above| place.at.strip_prefix(&above.at).is_ok_and(|rest| above.real.join(rest) == place.real));
            if !is_part {
                shown.push(place);
            }
        }
        let programs = programs.into_iter().collect();
        Toolchain { what, shown, programs, environment: BTreeMap::new(), system: self.system }
    }
}

pub(super) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn host(home: &Path) -> HostEnvironment {
        let variables = BTreeMap::from([("HOME".to_owned(), home.display().to_string())]);
        HostEnvironment { variables, directory: home.to_path_buf() }
    }

    #[test]
    fn a_link_is_shown_under_both_names_and_what_is_inside_only_once() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("py-3.12.1/bin")).unwrap();
        fs::create_dir_all(base.join("py-3.12.1/envs/a/bin")).unwrap();
        symlink("py-3.12.1", base.join("py-3.12")).unwrap();
        let host = host(&base.join("home"));
        let mut places = Places::new(&host);
        places.add(&base.join("py-3.12")).unwrap();
        places.add(&base.join("py-3.12.1/envs/a")).unwrap();
        places.add(&base.join("not-there")).unwrap();
        let shown = |at: &str| Shown { at: base.join(at), real: base.join("py-3.12.1") };
        assert_eq!(places.into_toolchain(String::new(), []).shown, [shown("py-3.12"), shown("py-3.12.1")]);
    }

    #[test]
    fn every_link_of_a_program_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for directory in ["venv/bin", "base/bin", "usr"] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        symlink("../../base/bin/python3", base.join("venv/bin/python")).unwrap();
        symlink("/usr/bin/python3", base.join("base/bin/python3")).unwrap();
        let host = host(&base.join("home"));
        let mut places = Places::new(&host);
        places.add_program(&base.join("venv/bin/python")).unwrap();
        let found = places.into_toolchain(String::new(), []);
        let sources: Vec<PathBuf> = found.shown.iter().map(|shown| shown.real.clone()).collect();
        assert!(sources.contains(&base.join("base")) && sources.contains(&base.join("venv")), "{sources:?}");
        assert_eq!(found.system, SystemParts::Needed);
    }

    #[test]
    fn a_home_or_what_is_above_it_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("me");
        fs::create_dir_all(home.join("bin")).unwrap();
        let host = host(&home);
        for directory in [home.as_path(), place.path(), Path::new("/"), Path::new("/etc")] {
            let error = Places::new(&host).add(directory).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{}", directory.display());
        }
        assert!(Places::new(&host).add_program(&home.join("bin/python")).is_err());
        fs::create_dir_all(home.join(".local/bin")).unwrap();
        let mut places = Places::new(&host);
        places.add_program(&home.join(".local/bin/node")).unwrap();
        assert_eq!(places.into_toolchain(String::new(), []).shown[0].at, home.join(".local/bin"));
        assert!(Places::new(&host).add(&home.join("bin")).is_ok());
    }
}
