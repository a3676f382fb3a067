//! The options about packages of a project, which `run`, `tool`, `mcp` and `setup` share, and the notes about a
//! configuration in it: its setup has to run, or its rules do not apply.

use std::{io::Write, path::Path};

use clap::{Args, ValueEnum};
use workden::{Config, HostEnvironment, Packages, ProjectPath, ProjectToolchains, SetupConfig, sessions::state_files};

use crate::command_options::{CommandOptions, Named};

/// The usual name of a configuration.
pub(crate) const CONFIG_FILE: &str = "workden.toml";

/// Most bytes of a configuration that is only looked at.
const LONGEST: u64 = 1024 * 1024;

/// Where commands see the directory.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct PathOption {
    /// Where commands see the directory, with `--sandbox linux` [default: own if it has a `.venv` made for its path,
    /// otherwise workspace].
    #[arg(long, value_name = "PATH", value_enum)]
    path: Option<PathChoice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PathChoice {
    /// At the path that it has on this machine.
    Own,
    /// At `/workspace`.
    Workspace,
}

impl PathOption {
    /// Returns whether it is named.
    pub(crate) fn named(self) -> Named {
        ("--path", self.path.is_some())
    }

    /// Returns the value as it is typed.
    pub(crate) fn typed(self) -> Option<&'static str> {
        self.path.map(|path| match path {
            PathChoice::Own => "own",
            PathChoice::Workspace => "workspace",
        })
    }

    /// Returns the packages of projects, with these options.
    pub(crate) fn packages(self, options: &CommandOptions, host: &HostEnvironment) -> Packages {
        let path = match self.path {
            None => ProjectPath::Auto,
            Some(PathChoice::Own) => ProjectPath::Own,
            Some(PathChoice::Workspace) => ProjectPath::Workspace,
        };
        let toolchains = match options.leaves_out_toolchains() {
            true => ProjectToolchains::Named,
            false => ProjectToolchains::Found,
        };
        Packages::of_user(host).path(path).toolchains(toolchains)
    }
}

/// Says that the setup of a project has to run. It is that of the configuration, or else of the file in the project.
pub(crate) fn mention_setup(packages: &Packages, project: &Path, config: Option<&SetupConfig>) {
    let in_project = || config_in(&project.join(CONFIG_FILE))?.setup;
    let Some(setup) = config.cloned().or_else(in_project) else { return };
    if let Ok(state) = packages.setup_state(project, &setup)
        && let Some(note) = state.note()
    {
        tell(note);
    }
}

/// Prints a note.
pub(crate) fn tell(note: &str) {
    let _ = writeln!(anstream::stderr(), "note: {note}");
}

/// Says that a configuration lies in the directory and does not apply: a file of the workspace decides nothing by
/// itself. Its `[setup]` needs no mention.
pub(crate) fn mention_unused(directory: &Path) {
    let file = directory.join(CONFIG_FILE);
    let only_setup = || config_in(&file).is_some_and(|config| Config { setup: None, ..config } == Config::default());
    if file.symlink_metadata().is_ok() && !only_setup() {
        tell(&format!("`{CONFIG_FILE}` is not used; to apply it, pass `--config {CONFIG_FILE}`"));
    }
}

/// Returns the configuration in a file of the project. Commands may have written it: nothing but notes come of it.
fn config_in(file: &Path) -> Option<Config> {
    file.symlink_metadata().ok().filter(|there| there.is_file() && there.len() <= LONGEST)?;
    let text = String::from_utf8(state_files::read(file).ok()??).ok()?;
    Config::parse(&text).ok()
}
