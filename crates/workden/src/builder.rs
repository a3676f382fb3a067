//! Building a workspace: where its files are, what may be done with them, and who is asked.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use workden_core::{Audit, Backend, Error, ErrorKind, Result, Sandbox, VirtualPath};
use workden_files::{CompositeBackend, LocalBackend, memory};
use workden_policy::{PathScope, Policy, PolicyLayer, Preset, Ruleset, approvals::Approvals};

use crate::{
    ApprovalMode, Config, FixedNames, MountConfig, Workspace, blocking, read_only::ReadOnlyPlaces, stack::Parts,
};

/// A workspace to be. Nothing is opened or checked before [`WorkspaceBuilder::build`].
///
/// Without places it is in memory, without rules it refuses nothing, and without approvals what would
/// have to be asked is refused.
#[derive(Debug, Default)]
pub struct WorkspaceBuilder {
    places: Vec<(String, Place)>,
    /// Those of a configuration.
    configured: Vec<(String, Place)>,
    layers: Vec<Layer>,
    approvals: Option<Approvals>,
    /// What each configuration says of approvals.
    modes: Vec<ApprovalMode>,
    audits: Vec<Arc<dyn Audit>>,
    sandbox: Option<Arc<dyn Sandbox>>,
    directory: Option<String>,
    read_only: Vec<String>,
    fixed_names: Vec<(String, FixedNames)>,
}

#[derive(Debug)]
enum Place {
    Directory(PathBuf),
    Backend(Arc<dyn Backend>),
}

#[derive(Debug)]
enum Layer {
    Preset(Preset),
    Rules(Box<Ruleset>),
    Policy(Policy),
    Config(Box<Config>),
}

impl WorkspaceBuilder {
    /// A directory of the host is the whole workspace.
    #[must_use]
    pub fn root(self, directory: impl AsRef<Path>) -> Self {
        self.directory_at("/", directory)
    }

    /// A directory of the host at a place.
    #[must_use]
    pub fn directory_at(mut self, at: &str, directory: impl AsRef<Path>) -> Self {
        self.places.push((at.to_owned(), Place::Directory(directory.as_ref().to_owned())));
        self
    }

    /// Any backend at a place.
    #[must_use]
    pub fn mount(mut self, at: &str, backend: impl Backend + 'static) -> Self {
        self.places.push((at.to_owned(), Place::Backend(Arc::new(backend))));
        self
    }

    /// A sandbox is the whole workspace: its files, and where commands run. What is mounted besides
    /// covers its files for file calls only; commands see what the sandbox itself was given.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// The rules of a preset: for files, or for a whole machine where there is a sandbox.
    #[must_use]
    pub fn preset(mut self, preset: Preset) -> Self {
        self.layers.push(Layer::Preset(preset));
        self
    }

    /// Rules. Of everything that is said the strictest wins.
    #[must_use]
    pub fn rules(mut self, rules: Ruleset) -> Self {
        self.layers.push(Layer::Rules(Box::new(rules)));
        self
    }

    /// A policy. Of everything that is said the strictest wins.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.layers.push(Layer::Policy(policy));
        self
    }

    /// What a `workden.toml` says; its relative directories count from `base`. Where it has mounts, they
    /// are all the places there are.
    #[must_use]
    pub fn config(mut self, config: Config, base: impl AsRef<Path>) -> Self {
        let place = |mount: &MountConfig| {
            (mount.at.as_str().to_owned(), Place::Directory(base.as_ref().join(&mount.directory)))
        };
        self.configured.extend(config.mounts.iter().map(place));
        self.modes.push(config.approvals.mode);
        self.layers.push(Layer::Config(Box::new(config)));
        self
    }

    /// Reads a `workden.toml`; its relative directories count from where it is.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, and as [`Config::parse`], with the name of the file.
    pub fn config_file(self, file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        // Its name, not where it is: errors may be shown to an agent.
        let name = file.file_name().unwrap_or_default().display();
        let text = std::fs::read_to_string(file).map_err(|error| {
            let (kind, why) = match error.kind() {
                io::ErrorKind::NotFound => (ErrorKind::NotFound, "there is no such file"),
                io::ErrorKind::PermissionDenied => (ErrorKind::PermissionDenied, "the system does not allow it"),
                io::ErrorKind::InvalidData => (ErrorKind::NotText, "it is not UTF-8"),
                _ => (ErrorKind::Io, "it cannot be read"),
            };
            Error::new(kind, format!("cannot read the configuration `{name}`: {why}"))
        })?;
        let config = Config::parse(&text).map_err(|error| {
            let named = Error::new(error.kind(), format!("{name}: {}", error.sentence()));
            error.hint_text().map_or(named.clone(), |hint| named.clone().hint(hint))
        })?;
        Ok(self.config(config, file.parent().unwrap_or(Path::new(""))))
    }

    /// Who is asked when the policy asks.
    #[must_use]
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = Some(approvals);
        self
    }

    /// Somebody who keeps records of all calls.
    #[must_use]
    pub fn audit(mut self, audit: Arc<dyn Audit>) -> Self {
        self.audits.push(audit);
        self
    }

    /// Where relative paths start, and where commands run; if nothing is said the directory of the
    /// sandbox, or `/` where there is none.
    #[must_use]
    pub fn working_directory(mut self, directory: &str) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    /// A place that file calls may read and not change, whatever the policy says and whoever approves. It
    /// does not speak of commands: give it to their sandbox as well.
    #[must_use]
    pub fn read_only(mut self, at: &str) -> Self {
        self.read_only.push(at.to_owned());
        self
    }

    /// Names that file calls may not change in any directory below a place, whatever the policy says and
    /// whoever approves: neither what has such a name, nor what would come to have it, by a move of what is
    /// above it either. [`FixedNames::host_executed`] is for directories of the host. It does not speak of
    /// commands: their sandbox holds what is there when it starts.
    #[must_use]
    pub fn fixed_names(mut self, below: &str, names: FixedNames) -> Self {
        self.fixed_names.push((below.to_owned(), names));
        self
    }

    /// Opens the directories and checks the rules.
    ///
    /// # Errors
    ///
    /// When a directory cannot be opened, two places are the same, or a rule is wrong.
    pub fn build(self) -> Result<Workspace> {
        let surroundings = match &self.sandbox {
            Some(_) => PathScope::Machine,
            None => PathScope::FilesOnly,
        };
        let mut policy = Policy::new();
        for layer in self.layers {
            let next = match layer {
                Layer::Preset(preset) => Policy::new().with_rules(&preset.ruleset_in(surroundings))?,
                Layer::Rules(rules) => Policy::new().with_rules(&rules)?,
                Layer::Policy(policy) => policy,
                Layer::Config(config) => config.policy(surroundings)?,
            };
            let layers: &[PolicyLayer] = next.layers();
            policy = layers.iter().cloned().fold(policy, Policy::with);
        }
        let approvals = answering(self.approvals, &self.modes);
        let places = match (self.places.is_empty(), self.configured.is_empty()) {
            (_, true) => self.places,
            (true, false) => self.configured,
            (false, false) => {
                let sentence = "the configuration has mounts of its own, and the builder was given places as well";
                return Err(Error::new(ErrorKind::InvalidArgument, sentence)
                    .hint("leave out `root`, `directory_at` and `mount`, or the mounts of the configuration"));
            }
        };
        let directory = match (self.directory, &self.sandbox) {
            (Some(directory), _) => Some(VirtualPath::parse(&directory)?),
            (None, Some(_)) => None,
            (None, None) => Some(VirtualPath::root()),
        };
        let mut places = places;
        if let Some(sandbox) = &self.sandbox {
            if places.iter().any(|(at, _)| VirtualPath::parse(at).is_ok_and(|at| at.is_root())) {
                let sentence = "the sandbox is at `/`, and so is another place";
                return Err(Error::new(ErrorKind::InvalidArgument, sentence)
                    .hint("give the directory to the sandbox, or mount it elsewhere"));
            }
            places.insert(0, ("/".to_owned(), Place::Backend(Arc::new(Arc::clone(sandbox)))));
        }
        let names = self.fixed_names.into_iter().map(|(below, names)| Ok((VirtualPath::parse(&below)?, names)));
        Ok(Workspace::of(Parts {
            backend: opened(places)?,
            sandbox: self.sandbox,
            policy: Arc::new(policy),
            read_only: ReadOnlyPlaces {
                places: self.read_only.iter().map(|at| VirtualPath::parse(at)).collect::<Result<_>>()?,
                names: names.collect::<Result<_>>()?,
            },
            approvals,
            audits: self.audits,
            directory,
        }))
    }

    /// As [`WorkspaceBuilder::build`], for programs that do not use async.
    ///
    /// # Errors
    ///
    /// As there, and as [`blocking::Workspace::new`].
    pub fn build_blocking(self) -> Result<blocking::Workspace> {
        blocking::Workspace::new(self.build()?)
    }
}

/// Who answers: whoever the program names, unless a configuration refuses everything. That everything
/// is approved holds only where nobody is named and no configuration objects.
fn answering(named: Option<Approvals>, modes: &[ApprovalMode]) -> Approvals {
    let all_approve = !modes.is_empty() && modes.iter().all(|mode| *mode == ApprovalMode::ApproveAll);
    match named {
        _ if modes.contains(&ApprovalMode::Strict) => Approvals::strict(),
        Some(named) => named,
        None if all_approve => Approvals::approve_all(),
        None => Approvals::none(),
    }
}

/// The places as one backend; one that is all there is stands for itself.
fn opened(places: Vec<(String, Place)>) -> Result<Arc<dyn Backend>> {
    if places.is_empty() {
        return Ok(Arc::new(memory()));
    }
    let mut mounts = CompositeBackend::builder();
    let is_all = places.len() == 1;
    for (at, place) in places {
        let backend: Arc<dyn Backend> = match place {
            Place::Directory(directory) if is_all && at == "/" => Arc::new(LocalBackend::open(directory)?),
            Place::Directory(directory) => {
                Arc::new(LocalBackend::options().open_for(&VirtualPath::parse(&at)?, directory)?)
            }
            Place::Backend(backend) => backend,
        };
        if is_all && VirtualPath::parse(&at)?.is_root() {
            return Ok(backend);
        }
        mounts = mounts.mount(&at, backend)?;
    }
    Ok(Arc::new(mounts.build()))
}
