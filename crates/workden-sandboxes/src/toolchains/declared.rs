//! The Pythons that the host itself declares: those of the system, of pyenv, uv and conda, and on the search path. A
//! virtual environment may select one of them; no other directory that it names is shown.
//!
//! Invariant: nothing in a directory that commands can write to declares anything.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{Search, places::is_system};
use crate::host_environment::is_program;

/// Where conda is installed below a home directory or in `/opt`.
const CONDA: [&str; 6] = ["miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", "conda"];

/// The Pythons of the host.
pub(super) struct DeclaredPythons {
    /// Their prefixes, without links.
    prefixes: BTreeSet<PathBuf>,
    /// Directories of the search path with a Python.
    programs: Vec<PathBuf>,
}

impl DeclaredPythons {
    pub(super) fn of(search: &Search<'_>) -> Self {
        let host = search.host;
        let mut declared = Self { prefixes: BTreeSet::new(), programs: Vec::new() };
        let on_path = host.variable("PATH").unwrap_or_default().split(':').map(Path::new);
        for directory in on_path.filter(|directory| directory.is_absolute() && !search.is_writable(directory)) {
            // The shims of pyenv are in its root.
            if directory.ends_with("shims") {
                declared.add_all_in(directory.parent().map(|root| root.join("versions")));
            }
            let python =
                ["python3", "python"].map(|name| directory.join(name)).into_iter().find(|file| is_program(file));
            if let Some(real) = python.and_then(|python| python.canonicalize().ok()) {
                declared.add(real.parent().and_then(Path::parent).map(Path::to_path_buf));
                declared.programs.push(directory.to_path_buf());
            }
        }
        declared.add_all_in(host.place_or_home("PYENV_ROOT", ".pyenv").map(|root| root.join("versions")));
        declared.add_all_in(uv_directory(search));
        declared.add(host.place("CONDA_PREFIX"));
        let conda = host.place("CONDA_EXE").and_then(|program| Some(program.parent()?.parent()?.to_path_buf()));
        let usual = host.home().into_iter().chain([PathBuf::from("/opt")]);
        let usual = usual.flat_map(|above| CONDA.map(|name| above.join(name)));
        for root in conda.into_iter().chain(usual) {
            declared.add_all_in(Some(root.join("envs")));
            declared.add(Some(root));
        }
        declared.prefixes.retain(|prefix| !search.is_writable(prefix));
        declared
    }

    fn add(&mut self, prefix: Option<PathBuf>) {
        let real = prefix.and_then(|prefix| prefix.canonicalize().ok());
        self.prefixes.extend(real.filter(|real| is_python(real)));
    }

    fn add_all_in(&mut self, directory: Option<PathBuf>) {
        let entries = directory.and_then(|directory| std::fs::read_dir(directory).ok());
        for entry in entries.into_iter().flatten().flatten() {
            self.add(Some(entry.path()));
        }
    }

    /// Returns the directories to show for an interpreter in the directory `programs`, or `None` if the host does not
    /// declare it.
    pub(super) fn select(&self, programs: &Path, search: &Search<'_>) -> Option<Vec<PathBuf>> {
        let real = programs.canonicalize().ok()?;
        if is_system(&real) {
            return Some(vec![programs.to_path_buf()]);
        }
        if real.file_name().is_some_and(|name| name == "bin")
            && let Some(prefix) = real.parent()
            && self.prefixes.contains(prefix)
        {
            // Under the given name only if that is a name of the Python itself, and not of a directory with a link to
            // it; and not through a directory in which commands could exchange it.
            let named = programs.parent()?;
            let is_itself = named.canonicalize().is_ok_and(|named| named == prefix);
            let is_given = is_itself && !search.names_writable(programs);
            return Some(vec![if is_given { named.to_path_buf() } else { prefix.to_path_buf() }]);
        }
        // A directory of programs, like `~/.local/bin`: not what it is in.
        if !self.programs.iter().any(|directory| directory == programs) {
            return None;
        }
        let python = ["python3", "python"].map(|name| programs.join(name)).into_iter().find(|file| is_program(file))?;
        let prefix = python.canonicalize().ok()?.parent()?.parent()?.to_path_buf();
        (is_system(&prefix) || self.prefixes.contains(&prefix)).then(|| vec![programs.to_path_buf(), prefix])
    }
}

/// Returns the directory in which uv installs Pythons.
pub(super) fn uv_directory(search: &Search<'_>) -> Option<PathBuf> {
    let data = search.host.place_or_home("XDG_DATA_HOME", ".local/share").map(|data| data.join("uv/python"));
    search.host.place("UV_PYTHON_INSTALL_DIR").or(data)
}

/// Whether this is the prefix of an installed Python: an interpreter and its library.
fn is_python(prefix: &Path) -> bool {
    let has_program = ["bin/python3", "bin/python"].iter().any(|name| is_program(&prefix.join(name)));
    let mut libraries = std::fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    has_program
        && libraries.any(|entry| entry.file_name().to_string_lossy().starts_with("python") && entry.path().is_dir())
}
