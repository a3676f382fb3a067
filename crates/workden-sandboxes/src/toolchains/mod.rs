//! Finds the host's Python, Node, Rust or Go by name, and the directories that a sandbox must show, read-only and at
//! the same path, so that it works inside.
//!
//! Invariant: a home directory, or a directory above one, is never shown as a whole, whatever a configuration file or
//! a variable claims.

mod go;
mod node;
mod places;
mod python;
mod rust;
mod versions;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use places::Places;
use workden_core::{Error, ErrorKind, Result};

use crate::HostEnvironment;

/// A toolchain of the host, and what a sandbox needs for it to work inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchain {
    /// Its name for display: `pyenv 3.11.7`.
    pub what: String,
    /// Directories to show read-only: where they are, and at which path.
    pub shown: Vec<Shown>,
    /// Directories to put first on the search path.
    pub programs: Vec<PathBuf>,
    /// Additional variables. `~` at the start of a value is the sandbox's home.
    pub environment: BTreeMap<String, String>,
    /// Whether parts of it are in the host's `/usr`, which only a sandbox with the host's root has.
    pub system: SystemParts,
}

/// A directory of the host, and its path in the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shown {
    /// The path in the sandbox.
    pub at: PathBuf,
    /// The directory on the host, without links.
    pub source: PathBuf,
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
    /// Finds a toolchain by its name.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a name that is not in [`TOOLCHAINS`], `NotFound` for a toolchain that the host does not
    /// have: the hint lists the searched locations.
    pub fn find(name: &str, host: &HostEnvironment) -> Result<Self> {
        let mut looked = Looked { host, places: Vec::new() };
        let found = match name {
            "python" => python::find(host, &mut looked)?,
            "node" => node::find(host, &mut looked)?,
            "rust" => rust::find(host, &mut looked)?,
            "go" => go::find(host, &mut looked)?,
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

/// The locations searched so far, for the hint of the error.
struct Looked<'h> {
    host: &'h HostEnvironment,
    places: Vec<String>,
}

impl Looked<'_> {
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
        let error = Toolchain::find("cobol", &HostEnvironment::default()).unwrap_err();
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
            let error = Toolchain::find(name, &host).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert_eq!(error.sentence(), format!("the toolchain `{name}` is not on this machine"));
            assert_eq!(error.hint_text().unwrap(), format!("looked for: {places}"));
        }
    }
}
