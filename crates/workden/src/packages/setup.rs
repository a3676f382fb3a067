//! The setup of a project: commands of its configuration that run once, in a sandbox, until a file of its key changes.

use std::path::{Path, PathBuf};

use workden_core::{
    Error, ErrorKind, Result, VersionHasher,
    sandbox::{Command, MountAccess, Network},
};
use workden_sandboxes::LinuxSandboxBuilder;
use workden_sessions::state_files::{Lock, read};

use super::{
    Packages, ProjectPath, has_own_home,
    store::{BeforeSetup, ProjectStore},
};
use crate::SetupConfig;

/// Runs each argument as a command, and stops at the first that fails.
const SCRIPT: &str = "n=0; for command; do n=$((n + 1)); printf 'setup %s/%s: %s\\n' \"$n\" \"$#\" \"$command\" >&2; \
                      sh -c \"$command\" || exit; done";

/// Most bytes of all files of a key.
const MOST_BYTES: usize = 64 << 20;

/// Whether the setup of a project has to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupState {
    /// It has run, and nothing that its key names has changed since.
    Done,
    /// It has not run, or failed.
    NotRun,
    /// Its commands, or a file of its key, have changed since it ran.
    Changed,
}

/// What a setup starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetupStart {
    /// From the caches and tools that are there.
    #[default]
    Kept,
    /// From nothing: caches and tools are removed first.
    Fresh,
}

/// A setup that can run. No other process uses the packages of the project until this is dropped.
#[derive(Debug)]
pub struct SetupRun {
    builder: LinuxSandboxBuilder,
    config: SetupConfig,
    project: PathBuf,
    store: ProjectStore,
    lock: Lock,
}

impl SetupState {
    /// Returns the sentence that tells the user what to do, if there is something to do.
    #[must_use]
    pub fn note(self) -> Option<&'static str> {
        match self {
            Self::Done => None,
            Self::NotRun => Some("the `[setup]` of this project has not run; run `workden setup`"),
            Self::Changed => Some("the `[setup]` of this project has changed since it ran; run `workden setup`"),
        }
    }
}

impl Packages {
    /// Returns whether the setup of a project has to run.
    ///
    /// # Errors
    ///
    /// When the state directory cannot be used, or a file of the key cannot be read.
    pub fn setup_state(&self, project: &Path, config: &SetupConfig) -> Result<SetupState> {
        let Some(store) = self.store(project)? else { return Ok(SetupState::NotRun) };
        Ok(match store.setup_key()? {
            None => SetupState::NotRun,
            Some(last) if last == key(project, config)? => SetupState::Done,
            Some(_) => SetupState::Changed,
        })
    }

    /// Prepares the setup of a project in this sandbox. The project is at its own path, so that what is installed in it
    /// also works on the host, unless a path is set.
    ///
    /// # Errors
    ///
    /// `Busy` while another process uses the packages of the project; `Unsupported` without namespaces; when the state
    /// directory cannot be used.
    pub fn setup(
        &self,
        builder: LinuxSandboxBuilder,
        project: &Path,
        config: &SetupConfig,
        start: SetupStart,
    ) -> Result<SetupRun> {
        if !has_own_home(&builder) {
            return Err(Error::new(ErrorKind::Unsupported, "a setup is not supported at the level `landlock`"));
        }
        let network = if config.network { Network::Host } else { Network::None };
        let placed = match self.path {
            ProjectPath::Auto => match self.clone().path(ProjectPath::Own).place(builder.clone(), project) {
                Err(error) if error.kind() == ErrorKind::Unsupported => self.place(builder, project)?,
                placed => placed?,
            },
            ProjectPath::Own | ProjectPath::Workspace => self.place(builder, project)?,
        };
        let store = self.needed_store(project)?;
        store.check_outside(&placed.shown_files())?;
        let lock = store.begin(match start {
            SetupStart::Kept => BeforeSetup::Keep,
            SetupStart::Fresh => BeforeSetup::RemoveAll,
        })?;
        let access = if config.network { MountAccess::ReadWrite } else { MountAccess::ReadOnly };
        let builder = placed.network(network).kept(store.writable(access)?);
        Ok(SetupRun { builder, config: config.clone(), project: project.to_path_buf(), store, lock })
    }
}

impl SetupRun {
    /// Returns the sandbox in which the setup runs.
    pub fn sandbox(&self) -> &LinuxSandboxBuilder {
        &self.builder
    }

    /// Returns the command that runs the setup. It prints each of its commands to standard error, and ends with the exit
    /// code of the first that fails.
    #[must_use]
    pub fn command(&self) -> Command {
        let words = ["sh", "-c", SCRIPT, "setup"].map(str::to_owned);
        Command::Program(words.into_iter().chain(self.config.commands.iter().cloned()).collect())
    }

    /// Records that the command has succeeded: later sandboxes show what it installed.
    ///
    /// # Errors
    ///
    /// When a file of the key cannot be read, or the record cannot be written.
    pub fn finish(self) -> Result<()> {
        // After it ran: a package manager may have written a file of the key.
        self.store.set_setup_key(&self.lock, &key(&self.project, &self.config)?)
    }
}

/// Returns what decides whether a setup runs again.
fn key(project: &Path, config: &SetupConfig) -> Result<Vec<u8>> {
    let mut hasher = VersionHasher::default();
    let mut add = |piece: &[u8]| {
        hasher.update(&(piece.len() as u64).to_le_bytes());
        hasher.update(piece);
    };
    config.commands.iter().for_each(|command| add(command.as_bytes()));
    add(if config.network { b"network" } else { b"" });
    let mut left = MOST_BYTES;
    for name in &config.cache_key {
        let content = read(&project.join(name)).map_err(|_| {
            let sentence = format!("cannot read `{name}`, a file of `cache_key`");
            Error::new(ErrorKind::InvalidArgument, sentence).hint("use a regular file of the project")
        })?;
        // The file may be a command's, and every start of a sandbox reads it.
        let size = content.as_ref().map_or(0, Vec::len);
        left = left.checked_sub(size).ok_or_else(|| {
            let sentence = format!("the files of `cache_key` have more than {} MiB", MOST_BYTES >> 20);
            Error::new(ErrorKind::TooLarge, sentence)
                .hint("name the files that list packages, like `package-lock.json`")
        })?;
        add(name.as_bytes());
        match content {
            Some(content) => add(&content),
            None => add(b"missing\0"),
        }
    }
    Ok(hasher.finish().to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_changes_with_commands_network_and_files_and_with_nothing_else() {
        let project = tempfile::tempdir().unwrap();
        let config = SetupConfig {
            commands: vec!["make".to_owned(), "true".to_owned()],
            network: true,
            cache_key: vec!["a".to_owned(), "b".to_owned()],
        };
        let of = |config: &SetupConfig| key(project.path(), config).unwrap();
        let first = of(&config);
        std::fs::write(project.path().join("other"), "x").unwrap();
        assert_eq!(of(&config), first);
        let joined = SetupConfig { commands: vec!["maketrue".to_owned()], ..config.clone() };
        assert_ne!(of(&joined), first);
        assert_ne!(of(&SetupConfig { network: false, ..config.clone() }), first);
        std::fs::write(project.path().join("a"), "").unwrap();
        let empty = of(&config);
        assert_ne!(empty, first);
        std::fs::rename(project.path().join("a"), project.path().join("b")).unwrap();
        assert!(![first, empty].contains(&of(&config)));
        std::os::unix::fs::symlink("/etc/hostname", project.path().join("a")).unwrap();
        assert!(key(project.path(), &config).is_err());
        std::fs::remove_file(project.path().join("a")).unwrap();
        for name in ["a", "b"] {
            std::fs::File::create(project.path().join(name)).unwrap().set_len(40 << 20).unwrap();
        }
        assert_eq!(key(project.path(), &config).unwrap_err().kind(), ErrorKind::TooLarge);
    }
}
