//! The toolchains of a project: which it needs, by the files that it has, and which of the host's it selects.
//!
//! Invariant: a project names no directory. Its files are looked at and not followed, and what they select is found as
//! every toolchain is.

use std::path::{Path, PathBuf};

use workden_core::{Error, ErrorKind, Result};

use super::Toolchain;
use crate::{HostEnvironment, small_file};

/// The toolchains, and the files that show that a project needs them.
const SIGNS: [(&str, &[&str]); 4] = [
    ("python", &[ENVIRONMENT, "pyproject.toml", "requirements.txt", "setup.py", ".python-version"]),
    ("node", &["package.json"]),
    ("rust", &["Cargo.toml"]),
    ("go", &["go.mod"]),
];
/// The virtual environment of a project.
const ENVIRONMENT: &str = ".venv";
/// Where every sandbox looks for programs.
const SEARCHED: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Most bytes of a script that activates an environment.
const LONGEST_SCRIPT: u64 = 64 * 1024;

/// Returns the names of the toolchains that a project needs, by the files in its directory.
#[must_use]
pub fn needed_by(project: &Path) -> Vec<&'static str> {
    let has = |sign: &&str| project.join(sign).symlink_metadata().is_ok_and(|there| !there.is_symlink());
    SIGNS.into_iter().filter(|(_, signs)| signs.iter().any(&has)).map(|(name, _)| name).collect()
}

/// Returns whether a project has a virtual environment that was made for its path, so that its programs work at that
/// path only.
#[must_use]
pub fn has_environment_for_its_path(project: &Path) -> bool {
    let environment = project.join(ENVIRONMENT);
    let Some(path) = environment.to_str().filter(|_| is_directory(&environment)) else { return false };
    // Every tool that makes environments writes this script, with the path in it.
    small_file::read(&environment.join("bin/activate"), LONGEST_SCRIPT).is_ok_and(|script| script.contains(path))
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| there.is_dir())
}

impl Toolchain {
    /// Finds a toolchain as a project selects it. Its own virtual environment comes before an active one.
    ///
    /// # Errors
    ///
    /// As [`Toolchain::find`].
    pub fn of_project(name: &str, host: &HostEnvironment, project: &Path, writable: &[PathBuf]) -> Result<Self> {
        let mut host = HostEnvironment { directory: project.to_path_buf(), ..host.clone() };
        if is_directory(&project.join(ENVIRONMENT)) {
            ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().for_each(|name| drop(host.variables.remove(*name)));
        }
        let found = Self::find(name, &host, writable)?;
        // Where the project is a home directory, its commands could have put a link in the place of a toolchain.
        let real = project.canonicalize().unwrap_or_else(|_| project.to_path_buf());
        let is_inside = |path: &Path| path.starts_with(project) || path.starts_with(&real);
        if found.shown.iter().any(|shown| is_inside(&shown.at) && !is_inside(&shown.real)) {
            let sentence = format!("the toolchain `{name}` is behind a link in the project, which is not followed");
            return Err(Error::new(ErrorKind::Denied, sentence).hint(format!("name it: `--toolchain {name}`")));
        }
        Ok(found)
    }

    /// Returns the toolchain as a sandbox sees it that has the project at the path `inside`: parts of it in the project
    /// are there and not shown again. Directories that every sandbox searches are not searched twice.
    pub(crate) fn seen_in(mut self, project: &Path, inside: &Path) -> Self {
        let moved = |path: &Path| path.strip_prefix(project).map(|below| inside.join(below)).ok();
        self.shown.retain(|shown| !shown.at.starts_with(project));
        self.programs.retain(|programs| !SEARCHED.iter().any(|searched| programs == Path::new(searched)));
        self.programs.iter_mut().for_each(|programs| *programs = moved(programs).unwrap_or_else(|| programs.clone()));
        for value in self.environment.values_mut() {
            if let Some(moved) = moved(Path::new(value)) {
                *value = moved.display().to_string();
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_project_shows_what_it_needs_and_a_link_shows_nothing() {
        for (name, expected) in [
            ("pyproject.toml", vec!["python"]),
            ("package.json", vec!["node"]),
            ("Cargo.toml", vec!["rust"]),
            ("go.mod", vec!["go"]),
            ("README.md", vec![]),
        ] {
            let project = tempfile::tempdir().unwrap();
            fs::write(project.path().join(name), "").unwrap();
            assert_eq!(needed_by(project.path()), expected, "{name}");
        }
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join(".venv")).unwrap();
        symlink("/etc/hostname", project.path().join("go.mod")).unwrap();
        assert_eq!(needed_by(project.path()), ["python"]);
    }

    #[test]
    fn a_link_in_a_project_that_is_a_home_leads_to_no_toolchain() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        let (home, private) = (base.join("home"), base.join("private"));
        for directory in [home.join(".nvm/versions/node"), private.join("bin")] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::copy("/bin/true", private.join("bin/node")).unwrap();
        let variables = [("HOME".to_owned(), home.display().to_string())].into();
        let host = HostEnvironment { variables, directory: base.clone() };
        let find = || Toolchain::of_project("node", &host, &home, std::slice::from_ref(&home));
        symlink(&private, home.join(".nvm/versions/node/v99.0.0")).unwrap();
        assert_eq!(find().unwrap_err().kind(), ErrorKind::Denied);
        fs::remove_file(home.join(".nvm/versions/node/v99.0.0")).unwrap();
        fs::rename(&private, home.join(".nvm/versions/node/v20.0.0")).unwrap();
        let seen = find().unwrap().seen_in(&home, Path::new("/workspace"));
        assert_eq!((seen.shown.len(), seen.programs), (0, vec!["/workspace/.nvm/versions/node/v20.0.0/bin".into()]));
    }

    #[test]
    fn an_environment_belongs_to_the_path_in_its_script() {
        let place = tempfile::tempdir().unwrap();
        let project = place.path().canonicalize().unwrap();
        assert!(!has_environment_for_its_path(&project));
        fs::create_dir_all(project.join(".venv/bin")).unwrap();
        assert!(!has_environment_for_its_path(&project));
        let script = project.join(".venv/bin/activate");
        fs::write(&script, "VIRTUAL_ENV=\"/workspace/.venv\"\n").unwrap();
        assert!(!has_environment_for_its_path(&project));
        fs::write(&script, format!("VIRTUAL_ENV=\"{}/.venv\"\n", project.display())).unwrap();
        assert!(has_environment_for_its_path(&project));
        fs::rename(project.join(".venv"), project.join("real")).unwrap();
        symlink("real", project.join(".venv")).unwrap();
        assert!(!has_environment_for_its_path(&project));
    }
}
