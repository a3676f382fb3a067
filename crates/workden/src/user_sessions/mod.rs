//! `UserSessions`: the sessions of one user, which outlive the programs that use them. Their records are in a directory
//! of the user, so that any program finds a session by its id.

mod cluster;
mod daytona;
mod kinds;
mod limits;
mod makers;
mod runtime_names;

#[cfg(feature = "docker")]
use std::sync::Arc;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

pub use cluster::ClusterSpec;
pub use daytona::DaytonaSpec;
pub use kinds::{SessionKind, SessionPlace, SessionSpec};
use runtime_names::is_file;
pub use runtime_names::runtime_named;
use workden_core::{Error, ErrorKind, Result, VirtualPath, type_size};
#[cfg(feature = "docker")]
use workden_sandboxes::docker::BuildProgress;
use workden_sandboxes::{HostEnvironment, SessionId};
use workden_sessions::{DirectoryStore, Session, SessionManager, SessionManagerBuilder, SessionOptions, SessionRecord};

/// How long a session lives without a connection by default.
const IDLE: Duration = Duration::from_secs(3600);
/// How long a session may take to start: an image may have to be built.
const START: Duration = Duration::from_secs(4 * 3600);
/// How long a daemon has to answer when it may not run.
const PATIENCE: Duration = Duration::from_secs(5);
/// The directory of commands, unless a runtime names another.
const WORKSPACE: &str = "/workspace";
/// The directory of commands at Daytona: the home of its user.
const DAYTONA_HOME: &str = "/home/daytona";
/// The name of the option with toolchains in a record.
const TOOLCHAIN: &str = "--toolchain";
/// The beginning of the name of an option that is a variable: `--env A`.
const ENV: &str = "--env ";

/// The sessions of one user.
#[derive(Clone)]
pub struct UserSessions {
    store: DirectoryStore,
    host: HostEnvironment,
    #[cfg(feature = "docker")]
    progress: Option<Arc<dyn Fn(BuildProgress) + Send + Sync>>,
}

/// The managers that can find the sandbox of a session.
#[derive(Debug)]
pub struct SessionManagers {
    /// One for each kind that the session may have.
    pub all: Vec<SessionManager>,
    /// Why it is unknown whether the session has a container.
    pub missing: Option<Error>,
}

impl UserSessions {
    /// Returns the sessions in `$XDG_STATE_HOME/workden`, or in `~/.local/state/workden`.
    ///
    /// # Errors
    ///
    /// `NotFound` when neither variable names a directory.
    pub fn of_user(host: HostEnvironment) -> Result<Self> {
        let state = state_directory(&host).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "directory for sessions not found")
                .hint("set HOME or XDG_STATE_HOME to a directory that you own")
        })?;
        Ok(Self::at(state, host))
    }

    /// Returns the sessions whose records are in this directory.
    pub fn at(directory: impl Into<PathBuf>, host: HostEnvironment) -> Self {
        Self {
            store: DirectoryStore::at(directory),
            host,
            #[cfg(feature = "docker")]
            progress: None,
        }
    }

    /// Reports the progress of images that have to be pulled or built first.
    #[cfg(feature = "docker")]
    #[must_use]
    pub fn on_progress(mut self, told: impl Fn(BuildProgress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(told));
        self
    }

    /// Returns the store of the records.
    #[must_use]
    pub fn store(&self) -> &DirectoryStore {
        &self.store
    }

    /// Returns the record of a session, or for a new one the record that these options give.
    ///
    /// # Errors
    ///
    /// When the record cannot be read, or a directory or runtime does not exist.
    pub fn planned(&self, id: &SessionId, spec: &SessionSpec) -> Result<SessionRecord> {
        let there = self.store.record(id)?;
        Self::refuse(spec)?;
        let options = self.options(spec, there.as_ref())?;
        let (workspace, directory) = match (&there, &spec.root) {
            (Some(there), _) => (there.workspace.clone(), there.directory.clone()),
            (None, named) => {
                let inside = match (spec.kind, &spec.runtime) {
                    (SessionKind::Linux | SessionKind::Docker, None) => {
                        spec.directory.clone().unwrap_or_else(|| WORKSPACE.to_owned())
                    }
                    (SessionKind::Docker | SessionKind::Kubernetes, Some(runtime)) => runtime_named(runtime)?.work_dir,
                    (SessionKind::Daytona, _) => DAYTONA_HOME.to_owned(),
                    _ => WORKSPACE.to_owned(),
                };
                let workspace = match named {
                    None if spec.kind.has_own_files() => PathBuf::new(),
                    Some(named) => self.directory(named)?,
                    None => self.store.workspace(id)?,
                };
                (workspace, VirtualPath::parse(&inside)?)
            }
        };
        let idle = spec.idle.or(there.as_ref().map(|there| there.idle)).unwrap_or(IDLE);
        let (masked, read_only) = there.map(|there| (there.masked, there.read_only)).unwrap_or_default();
        let kind = spec.kind.name().to_owned();
        Ok(SessionRecord { kind, options, workspace, directory, masked, read_only, idle })
    }

    /// Returns the record of a session.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none.
    pub fn known(&self, id: &SessionId) -> Result<SessionRecord> {
        self.store.record(id)?.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("session `{id}` not found"))
                .hint(format!("`workden sessions open {id}` creates it, and `workden sessions list` shows all"))
        })
    }

    /// Opens a session: finds it, or starts it. It goes on when the value is dropped.
    ///
    /// # Errors
    ///
    /// `Conflict` when the session has other options, and why it cannot start.
    pub async fn open(&self, id: &SessionId, wanted: SessionRecord) -> Result<Session> {
        let there = self.store.record(id)?;
        if let Some(there) = &there
            && there.kind != wanted.kind
        {
            there.fits(id, &wanted)?;
        }
        // A session that has ended is created again from its record.
        let options = there.as_ref().map_or_else(|| wanted.options.clone(), |there| there.options.clone());
        let manager = self.maker(&SessionRecord { options, ..wanted.clone() })?.start().await?;
        let options = SessionOptions { idle: Some(wanted.idle), record: Some(wanted), ..SessionOptions::default() };
        manager.get_or_create_with(id, options).await
    }

    /// Returns the manager of the sessions of a place, to find and end them.
    ///
    /// # Errors
    ///
    /// When the kind is not supported here, or the environment names no daemon.
    pub async fn manager(&self, place: &SessionPlace) -> Result<SessionManager> {
        self.finder(place)?.start().await
    }

    /// Returns the managers that can find the sandbox of a session: of all kinds on this machine, if no record names
    /// one.
    ///
    /// # Errors
    ///
    /// As [`manager`](Self::manager).
    pub async fn managers(&self, id: &SessionId) -> Result<SessionManagers> {
        let record = self.store.record(id);
        if let Ok(Some(record)) = &record
            && SessionKind::ALL.iter().any(|kind| kind.name() == record.kind)
        {
            let all = vec![self.manager(&SessionPlace::of(record)).await?];
            return Ok(SessionManagers { all, missing: None });
        }
        let mut found = SessionManagers { all: vec![self.manager(&SessionKind::Linux.into()).await?], missing: None };
        let docker = async {
            let docker = self.manager(&SessionKind::Docker.into()).await?;
            docker.check().await.map(|()| docker)
        };
        let silent = |_| Err(Error::new(ErrorKind::Unreachable, "the Docker daemon does not answer"));
        match tokio::time::timeout(PATIENCE, docker).await.unwrap_or_else(silent) {
            Ok(docker) => found.all.push(docker),
            Err(error) if matches!(error.kind(), ErrorKind::Unreachable | ErrorKind::Unsupported) => {
                found.missing = record.is_err().then_some(error);
            }
            Err(error) => return Err(error),
        }
        Ok(found)
    }

    fn with_store(&self, builder: SessionManagerBuilder) -> SessionManagerBuilder {
        builder.store(self.store.clone()).start_deadline(START)
    }

    /// Rejects options that only other kinds have.
    fn refuse(spec: &SessionSpec) -> Result<()> {
        for (kind, named) in
            [(SessionKind::Kubernetes, spec.cluster.named()), (SessionKind::Daytona, spec.daytona.named())]
        {
            if let Some((option, _)) = named.first().filter(|_| spec.kind != kind) {
                let kind = kind.name();
                return Err(Error::new(ErrorKind::Unsupported, format!("`{option}` requires `--sandbox {kind}`"))
                    .hint(format!("add `--sandbox {kind}`, or leave it out")));
            }
        }
        let named = [("--root", spec.root.is_some()), ("--pids", spec.pids.is_some())];
        match named.iter().find(|(_, is_named)| *is_named && spec.kind.has_own_files()) {
            Some((name, _)) => {
                let sentence = format!("`{name}` is not supported with `--sandbox {}`", spec.kind.name());
                let hint = "leave it out: the sandbox has its own files, to which `workden sessions files` copies";
                Err(Error::new(ErrorKind::Unsupported, sentence).hint(hint))
            }
            None => Ok(()),
        }
    }

    /// The given options, under their command-line names. The record of a new session names its cluster.
    fn options(&self, spec: &SessionSpec, there: Option<&SessionRecord>) -> Result<BTreeMap<String, String>> {
        let mut cluster = spec.cluster.clone();
        cluster.pod_template = cluster.pod_template.map(|file| self.host.directory.join(file));
        if there.is_none() && spec.kind == SessionKind::Kubernetes {
            cluster = self.pinned(&cluster)?;
        }
        let runtime = spec.runtime.as_ref().map(|typed| match is_file(typed) {
            true => self.host.directory.join(typed).display().to_string(),
            false => typed.clone(),
        });
        let root = spec.root.as_deref().map(|root| self.directory(root)).transpose()?;
        let named = [
            ("--image", spec.image.clone()),
            ("--runtime", runtime),
            ("--root", root.map(|root| root.display().to_string())),
            ("--net", spec.network.clone()),
            ("--memory", spec.memory.map(type_size)),
            ("--cpus", spec.cpus.map(|cpus| cpus.to_string())),
            ("--pids", spec.pids.map(|most| most.to_string())),
            (TOOLCHAIN, self.toolchains(spec)?),
        ];
        let variables = spec.environment.iter().map(|(name, value)| (format!("{ENV}{name}"), value.clone()));
        let named = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let of_kind = cluster.named().into_iter().chain(spec.daytona.named());
        let of_kind = of_kind.map(|(name, value)| (name.to_owned(), value));
        Ok(named.chain(of_kind).chain(variables).collect())
    }

    #[cfg(feature = "kubernetes")]
    fn pinned(&self, cluster: &ClusterSpec) -> Result<ClusterSpec> {
        cluster.pinned(&self.host)
    }

    #[cfg(not(feature = "kubernetes"))]
    fn pinned(&self, _: &ClusterSpec) -> Result<ClusterSpec> {
        Err(makers::without("kubernetes"))
    }

    /// Returns the names of the toolchains, in order and separated by commas.
    fn toolchains(&self, spec: &SessionSpec) -> Result<Option<String>> {
        let mut names = spec.toolchains.clone();
        names.sort();
        names.dedup();
        match (names.is_empty(), spec.kind) {
            (true, _) => Ok(None),
            (false, SessionKind::Linux) => Ok(Some(names.join(","))),
            (false, kind @ (SessionKind::Docker | SessionKind::Kubernetes | SessionKind::Daytona)) => {
                let kind = kind.name();
                let sentence = format!(
                    "`--toolchain` is not supported with `--sandbox {kind}`, which has what its image has installed"
                );
                Err(Error::new(ErrorKind::Unsupported, sentence).hint("leave one of them out"))
            }
        }
    }

    /// Returns the real path of a named directory.
    fn directory(&self, typed: &Path) -> Result<PathBuf> {
        let there = self.host.directory.join(typed).canonicalize().ok().filter(|path| path.is_dir());
        let shown = typed.display();
        there.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no directory `{shown}` to work in")))
    }
}

impl std::fmt::Debug for UserSessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserSessions").field("store", &self.store).finish_non_exhaustive()
    }
}

/// Returns the directory for what is kept for a user, if the environment names one.
pub(crate) fn state_directory(host: &HostEnvironment) -> Option<PathBuf> {
    let of = |name: &str| host.variable(name).map(Path::new).filter(|path| path.is_absolute());
    let state = of("XDG_STATE_HOME").map(Path::to_path_buf);
    Some(state.or_else(|| Some(of("HOME")?.join(".local/state")))?.join("workden"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_with_an_unreadable_limit_starts_no_sandbox() {
        let sessions = UserSessions::at("state", HostEnvironment::default());
        for name in ["--memory", "--cpus", "--pids"] {
            let mut record = SessionRecord::new("work".into(), std::time::Duration::ZERO).unwrap();
            record.options.insert(name.to_owned(), "lots".to_owned());
            let refused = sessions.maker(&record).map(drop).unwrap_err();
            assert!(refused.sentence().starts_with(&format!("invalid limit `{name} lots`")), "{refused}");
        }
    }
}
