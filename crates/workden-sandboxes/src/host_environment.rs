//! `HostEnvironment`: the variables and the directory of the caller, passed in as a value. Only
//! [`HostEnvironment::from_process`] reads the environment of the process.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use workden_core::sandbox::Shell;

/// The variables and the directory of the process that starts a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostEnvironment {
    /// The variables, without those that are not UTF-8.
    pub variables: BTreeMap<String, String>,
    /// The base of relative paths, and where projects look for their toolchains.
    pub directory: PathBuf,
}

impl HostEnvironment {
    /// Reads the environment of this process.
    #[must_use]
    pub fn from_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self {
            variables: std::env::vars_os().filter_map(text).collect(),
            directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        }
    }

    /// Returns the environment without the user's identity in git, for sandboxes that belong to others.
    #[must_use]
    pub fn without_git_identity(mut self) -> Self {
        self.variables.insert("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned());
        self
    }

    /// Returns a variable that is set and not empty.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns a variable that holds an absolute path.
    pub(crate) fn place(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Returns the home directory.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.place("HOME")
    }

    /// Returns the path in a variable, or a path below the home directory.
    pub(crate) fn place_or_home(&self, name: &str, below_home: &str) -> Option<PathBuf> {
        self.place(name).or_else(|| Some(self.home()?.join(below_home)))
    }

    /// Returns the first program of this name on the search path that satisfies `fits`.
    pub(crate) fn program(&self, name: &str, fits: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let directories = self.variable("PATH")?.split(':').map(Path::new);
        directories
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(name))
            .find(|program| is_program(program) && fits(program))
    }

    /// Returns a path for display, with `~` for the home directory.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let below_home = self.home().and_then(|home| path.strip_prefix(&home).ok().map(Path::to_path_buf));
        match below_home {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }
}

/// Returns the shell that commands find on this machine.
pub(crate) fn shell() -> Shell {
    Shell::find(|file| is_program(Path::new(file))).0
}

/// Whether this is an executable file.
pub(crate) fn is_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> HostEnvironment {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        HostEnvironment { variables: owned.collect(), directory: "/".into() }
    }

    #[test]
    fn the_home_directory_is_shown_as_a_tilde() {
        let host = with(&[("HOME", "/srv/me")]);
        for (path, shown) in
            [("/srv/me", "~"), ("/srv/me/.nvm", "~/.nvm"), ("/srv/meme", "/srv/meme"), ("/usr", "/usr")]
        {
            assert_eq!(host.shown(Path::new(path)), shown);
        }
        assert_eq!(with(&[]).shown(Path::new("/home/me")), "/home/me");
    }

    #[test]
    fn what_is_set_to_nothing_is_not_set_and_relative_places_are_none() {
        let host = with(&[("HOME", ""), ("GOROOT", "go"), ("A", "/a")]);
        assert_eq!((host.variable("HOME"), host.home(), host.place("GOROOT")), (None, None, None));
        assert_eq!(host.place_or_home("A", "b"), Some("/a".into()));
        assert_eq!(host.place_or_home("B", "b"), None);
    }

    #[test]
    fn programs_are_looked_for_in_order_and_only_those_that_run() {
        let place = tempfile::tempdir().unwrap();
        let (first, second) = (place.path().join("first"), place.path().join("second"));
        for directory in [&first, &second] {
            std::fs::create_dir(directory).unwrap();
        }
        std::fs::write(first.join("tool"), "").unwrap();
        std::os::unix::fs::symlink("/bin/sh", second.join("tool")).unwrap();
        let path = format!(":relative:{}:{}", first.display(), second.display());
        let host = with(&[("PATH", &path)]);
        assert_eq!(host.program("tool", |_| true), Some(second.join("tool")));
        assert_eq!(host.program("tool", |program| !program.starts_with(&second)), None);
    }
}
