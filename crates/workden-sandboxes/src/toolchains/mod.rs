//! Finds the host's Python, Node, Rust or Go by name, and the directories that a sandbox must show, read-only and at
//! the same path, so that it works inside.
//!
//! Invariant: a home directory, or a directory above one, is never shown as a whole, whatever a configuration file or
//! a variable claims. A file in a directory that commands can write to selects among the toolchains of the host, and
//! names no other directory.

mod declared;
mod go;
mod node;
mod places;
mod project;
mod python;
mod rust;
mod versions;

use std::{
    collections::BTreeMap,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use places::Places;
pub use project::{has_environment_for_its_path, needed_by};
use workden_core::{Error, ErrorKind, Result};

use crate::HostEnvironment;

/// A toolchain of the host, and what a sandbox needs for it to work inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchain {
    /// Its name for display: `pyenv 3.11.7`.
    pub what: String,
    /// Directories to show read-only.
    pub shown: Vec<Shown>,
    /// Directories to put first on the search path.
    pub programs: Vec<PathBuf>,
    /// Additional variables. `~` at the start of a value is the sandbox's home.
    pub environment: BTreeMap<String, String>,
    /// Whether parts of it are in the host's `/usr`, which only a sandbox with the host's root has.
    pub system: SystemParts,
}

/// A directory of the host, which the sandbox shows at the same path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shown {
    /// The path.
    pub at: PathBuf,
    /// The same directory by its path without links.
    pub real: PathBuf,
}

/// Whether a toolchain needs the host's `/usr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemParts {
    /// It does not: all of it is in the directories that are shown.
    #[default]
    None,
    /// It does.
    Needed,
}

/// The supported toolchains.
pub const TOOLCHAINS: [&str; 4] = ["python", "node", "rust", "go"];

impl Toolchain {
    /// Finds a toolchain by its name. `writable` are the directories of the host that commands can write to: programs
    /// there are not the host's.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a name that is not in [`TOOLCHAINS`], `NotFound` for a toolchain that the host does not
    /// have: the hint lists the searched locations.
    pub fn find(name: &str, host: &HostEnvironment, writable: &[PathBuf]) -> Result<Self> {
        let mut looked = Search::new(host, writable);
        let found = match name {
            "python" => python::find(&mut looked)?,
            "node" => node::find(&mut looked)?,
            "rust" => rust::find(&mut looked)?,
            "go" => go::find(&mut looked)?,
            _ => {
                return Err(Error::new(ErrorKind::InvalidArgument, format!("there is no toolchain `{name}`"))
                    .hint(format!("toolchains: {}", TOOLCHAINS.join(", "))));
            }
        };
        found.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("the toolchain `{name}` is not on this machine"))
                .hint(format!("looked for: {}", looked.places.join("; ")))
        })
    }
}

/// A search for a toolchain.
struct Search<'h> {
    host: &'h HostEnvironment,
    /// The directories that commands can write to, by device and inode.
    writable: Vec<(u64, u64)>,
    /// The locations searched so far, for the hint of the error.
    places: Vec<String>,
}

impl<'h> Search<'h> {
    fn new(host: &'h HostEnvironment, writable: &[PathBuf]) -> Self {
        let writable = writable.iter().filter_map(|directory| id(directory)).collect();
        Self { host, writable, places: Vec::new() }
    }

    /// Whether commands can write to a path, under any of its names.
    fn is_writable(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        real.ancestors().filter_map(id).any(|above| self.writable.contains(&above))
    }

    /// Whether a path as written goes through a directory that commands can write to.
    fn names_writable(&self, path: &Path) -> bool {
        path.ancestors().filter_map(id).any(|above| self.writable.contains(&above))
    }

    /// Returns the first program of this name on the search path that commands cannot have put there.
    fn program(&self, name: &str, fits: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let is_of_host = |program: &Path| !program.parent().is_none_or(|directory| self.is_writable(directory));
        self.host.program(name, |program| is_of_host(program) && fits(program))
    }

    /// Adds a variable that is not set.
    fn unset(&mut self, name: &str) {
        self.places.push(format!("{name} (not set)"));
    }

    /// Adds a directory without the toolchain.
    fn at(&mut self, path: &Path, why: &str) {
        let shown = self.host.shown(path);
        self.places.push(format!("{shown} ({why})"));
    }

    /// Adds a program on the search path.
    fn on_path(&mut self, program: &str) {
        self.places.push(format!("`{program}` on the search path"));
    }
}

fn id(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// Returns the toolchain of a program on the search path: its prefix is the parent of its directory.
fn of_program(program: &Path, what: &str, host: &HostEnvironment) -> Result<Toolchain> {
    let mut places = Places::new(host);
    places.add_program(program)?;
    let directory = program.parent().map(Path::to_path_buf);
    Ok(places.into_toolchain(format!("{what} of {}", host.shown(program)), directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_toolchain_names_those_there_are() {
        let error = Toolchain::find("cobol", &HostEnvironment::default(), &[]).unwrap_err();
        assert_eq!(error.to_string(), "there is no toolchain `cobol`\nhint: toolchains: python, node, rust, go");
    }

    #[test]
    fn a_machine_without_anything_is_told_where_it_was_looked() {
        let home = tempfile::tempdir().unwrap();
        let variables = BTreeMap::from([("HOME".to_owned(), home.path().display().to_string())]);
        let host = HostEnvironment { variables, directory: home.path().to_path_buf() };
        for (name, places) in [
            (
                "python",
                "VIRTUAL_ENV (not set); CONDA_PREFIX (not set); ~/.venv (no bin/python); ~/.pyenv (not there); \
                 ~/.local/share/uv/python (no cpython-*); `python3` on the search path",
            ),
            ("node", "NVM_BIN (not set); ~/.nvm (not there); ~/.volta (not there); `node` on the search path"),
            ("rust", "~/.rustup (no toolchains); `rustc` on the search path"),
            ("go", "GOROOT (not set); `go` on the search path; /usr/local/go"),
        ] {
            if name == "go" && Path::new("/usr/local/go/bin/go").exists() {
                continue;
            }
            let error = Toolchain::find(name, &host, &[]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert_eq!(error.sentence(), format!("the toolchain `{name}` is not on this machine"));
            assert_eq!(error.hint_text().unwrap(), format!("looked for: {places}"));
        }
    }
}
