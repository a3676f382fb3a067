//! `UserSessions`: the sessions of one user, which outlive the programs that use them. Their records are in a directory
//! of the user, so that any program finds a session by its id.

#[cfg(feature = "docker")]
use std::sync::Arc;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use workden_core::{Error, ErrorKind, Result, VirtualPath, parse_size, sandbox::Network, type_size};
#[cfg(feature = "docker")]
use workden_sandboxes::docker::{BuildProgress, DockerLauncher, DockerSandbox, DockerSandboxBuilder};
use workden_sandboxes::{HostEnvironment, LinuxLauncher, LinuxSandbox, SandboxOptions, SessionId};
use workden_sessions::{DirectoryStore, Session, SessionManager, SessionManagerBuilder, SessionOptions, SessionRecord};

/// How long a session lives without a connection by default.
const IDLE: Duration = Duration::from_secs(3600);
/// How long a session may take to start: an image may have to be built.
const START: Duration = Duration::from_secs(4 * 3600);
/// How long a daemon has to answer when it may not run.
const PATIENCE: Duration = Duration::from_secs(5);
/// The directory of commands, unless a runtime names another.
const WORKSPACE: &str = "/workspace";
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

/// The kind of sandbox of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionKind {
    /// Isolated on this Linux machine.
    #[default]
    Linux,
    /// In a container of a Docker or Podman daemon.
    Docker,
}

/// Options of a session; an absent one keeps the value of the session, or is the default.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SessionSpec {
    /// The kind of its sandbox.
    pub kind: SessionKind,
    /// The image of a container.
    pub image: Option<String>,
    /// A runtime instead: its name, or the path of a `.toml` file.
    pub runtime: Option<String>,
    /// The directory of the host to work in, instead of a new one for the session.
    pub root: Option<PathBuf>,
    /// `none`, `host`, or the name of a network of the daemon.
    pub network: Option<String>,
    /// Bytes of memory for all commands together.
    pub memory: Option<u64>,
    /// Processors.
    pub cpus: Option<f64>,
    /// Processes and threads of all commands together.
    pub pids: Option<u64>,
    /// Toolchains of this machine, for a session on it.
    pub toolchains: Vec<String>,
    /// Variables of all its commands.
    pub environment: BTreeMap<String, String>,
    /// How long it lives without a connection; an hour by default.
    pub idle: Option<Duration>,
}

/// The managers that can find the sandbox of a session.
#[derive(Debug)]
pub struct SessionManagers {
    /// One for each kind that the session may have.
    pub all: Vec<SessionManager>,
    /// Why it is unknown whether the session has a container.
    pub missing: Option<Error>,
}

impl SessionKind {
    /// Its name in options and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Docker => "docker",
        }
    }
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
        let options = self.options(spec)?;
        let (workspace, directory) = match (&there, &spec.root) {
            (Some(there), _) => (there.workspace.clone(), there.directory.clone()),
            (None, named) => {
                let inside = match (spec.kind, &spec.runtime) {
                    (SessionKind::Docker, Some(runtime)) => runtime_named(runtime)?.work_dir,
                    _ => WORKSPACE.to_owned(),
                };
                let workspace = match named {
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

    /// Returns the manager of the sessions of a kind, to find and end them.
    ///
    /// # Errors
    ///
    /// When the kind is not supported here, or the environment names no daemon.
    pub async fn manager(&self, kind: &str) -> Result<SessionManager> {
        let builder = match kind {
            #[cfg(feature = "docker")]
            "docker" => {
                let template = DockerSandbox::builder().environment_of(self.host.clone());
                SessionManager::builder(DockerLauncher::new(template, &self.store.owner()?)?)
            }
            #[cfg(not(feature = "docker"))]
            "docker" => return Err(without_docker()),
            _ => SessionManager::builder(LinuxLauncher::new(LinuxSandbox::builder(), self.store.leases())),
        };
        self.with_store(builder).start().await
    }

    /// Returns the managers that can find the sandbox of a session: of all kinds, if no record names one.
    ///
    /// # Errors
    ///
    /// As [`manager`](Self::manager).
    pub async fn managers(&self, id: &SessionId) -> Result<SessionManagers> {
        let record = self.store.record(id);
        if let Ok(Some(record)) = &record
            && [SessionKind::Linux, SessionKind::Docker].iter().any(|kind| kind.name() == record.kind)
        {
            return Ok(SessionManagers { all: vec![self.manager(&record.kind).await?], missing: None });
        }
        let mut found = SessionManagers { all: vec![self.manager(SessionKind::Linux.name()).await?], missing: None };
        let docker = async {
            let docker = self.manager(SessionKind::Docker.name()).await?;
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

    /// Returns the manager that creates the sandbox of this session.
    fn maker(&self, record: &SessionRecord) -> Result<SessionManagerBuilder> {
        let builder = if record.kind == SessionKind::Docker.name() {
            self.docker_maker(record)?
        } else {
            let named = record.options.get("--net").map(String::as_str);
            let network = match named {
                None | Some("none") => Network::None,
                Some("host") => Network::Host,
                Some(name) => return Err(not_a_network(name)),
            };
            let template = LinuxSandbox::builder().environment_of(self.host.clone()).network(network);
            let named = record.options.get(TOOLCHAIN).map_or("", String::as_str);
            let named = named.split(',').filter(|name| !name.is_empty());
            let template = named.fold(template, |template, name| template.toolchain(name));
            let template =
                template.with(set_options(record)?).mask(record.masked.clone()).hold(record.read_only.clone());
            SessionManager::builder(LinuxLauncher::new(template, self.store.leases()))
        };
        Ok(self.with_store(builder))
    }

    #[cfg(feature = "docker")]
    fn docker_maker(&self, record: &SessionRecord) -> Result<SessionManagerBuilder> {
        let said = |name: &str| record.options.get(name);
        let mut template: DockerSandboxBuilder = DockerSandbox::builder().environment_of(self.host.clone());
        if let Some(image) = said("--image") {
            template = template.image(image);
        }
        if let Some(runtime) = said("--runtime") {
            template = template.runtime(runtime_named(runtime)?);
        }
        if let Some(name) = said("--net") {
            template = template.network_name(name);
        }
        if let Some(progress) = self.progress.clone() {
            template = template.on_progress(move |news| progress(news));
        }
        template = template.with(set_options(record)?).mask(record.masked.clone()).hold(record.read_only.clone());
        template.check()?;
        Ok(SessionManager::builder(DockerLauncher::new(template, &self.store.owner()?)?))
    }

    #[cfg(not(feature = "docker"))]
    fn docker_maker(&self, _: &SessionRecord) -> Result<SessionManagerBuilder> {
        Err(without_docker())
    }

    /// The given options, under their command-line names.
    fn options(&self, spec: &SessionSpec) -> Result<BTreeMap<String, String>> {
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
        Ok(named.chain(variables).collect())
    }

    /// Returns the names of the toolchains, in order and separated by commas.
    fn toolchains(&self, spec: &SessionSpec) -> Result<Option<String>> {
        let mut names = spec.toolchains.clone();
        names.sort();
        names.dedup();
        match (names.is_empty(), spec.kind) {
            (true, _) => Ok(None),
            (false, SessionKind::Linux) => Ok(Some(names.join(","))),
            (false, SessionKind::Docker) => {
                let sentence = "`--toolchain` is not supported with `--sandbox docker`, which has what its image has \
                                installed";
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

/// Returns a change of the options of a sandbox to the limits and variables of a record.
fn set_options(record: &SessionRecord) -> Result<impl FnOnce(&mut SandboxOptions) + use<>> {
    let limits = Limits::of(record)?;
    let variable = |(name, value): (&String, &String)| Some((name.strip_prefix(ENV)?.to_owned(), value.clone()));
    let variables: Vec<(String, String)> = record.options.iter().filter_map(variable).collect();
    Ok(move |options: &mut SandboxOptions| {
        limits.set(options);
        variables.into_iter().for_each(|(name, value)| options.set_env(name, value));
    })
}

/// The limits of a record.
struct Limits {
    memory: Option<u64>,
    cpus: Option<f64>,
    pids: Option<u64>,
}

impl Limits {
    /// Reads them. A sandbox does not start without a limit that its record names.
    fn of(record: &SessionRecord) -> Result<Self> {
        let said = |name: &str| record.options.get(name).map(String::as_str);
        let invalid = |name: &'static str| {
            let text = said(name).unwrap_or_default();
            Error::new(
                ErrorKind::InvalidArgument,
                format!("invalid limit `{name} {text}` in the record of the session"),
            )
            .hint("end the session with `workden sessions release`, which keeps its files")
        };
        Ok(Self {
            memory: said("--memory").map(parse_size).transpose().map_err(|_| invalid("--memory"))?,
            cpus: said("--cpus").map(str::parse).transpose().map_err(|_| invalid("--cpus"))?,
            pids: said("--pids").map(str::parse).transpose().map_err(|_| invalid("--pids"))?,
        })
    }

    fn set(&self, options: &mut SandboxOptions) {
        (options.memory, options.cpus, options.pids) = (self.memory, self.cpus, self.pids);
    }
}

fn not_a_network(name: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("`--net {name}` would be a network of a Docker daemon"))
        .hint("`none` or `host`, or `--sandbox docker` as well")
}

#[cfg(not(feature = "docker"))]
fn without_docker() -> Error {
    Error::new(ErrorKind::Unsupported, "this program was built without the feature `docker`")
}

fn is_file(typed: &str) -> bool {
    Path::new(typed).extension().is_some_and(|ending| ending == "toml")
}

/// Returns the runtime of this name, or the one in this `.toml` file.
///
/// # Errors
///
/// When there is no runtime of this name, or the file cannot be read or is invalid.
pub fn runtime_named(typed: &str) -> Result<workden_sandboxes::runtimes::RuntimeConfig> {
    use workden_sandboxes::runtimes::{RuntimeConfig, builtin};

    if !is_file(typed) {
        return builtin(typed);
    }
    let invalid = |sentence: String| Error::new(ErrorKind::InvalidArgument, sentence);
    let text = std::fs::read_to_string(typed).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, format!("runtime file `{typed}` not found")),
        kind => invalid(format!("cannot read the runtime file `{typed}`: {kind}")),
    })?;
    let runtime: RuntimeConfig = toml::from_str(&text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        invalid(format!("{typed}: line {line}, column {column}: {}", error.message().trim_end()))
    })?;
    runtime.check().map_err(|error| invalid(format!("{typed}: {error}")))?;
    Ok(runtime)
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

    #[test]
    fn a_runtime_is_a_name_or_a_file() {
        assert_eq!(runtime_named("python-web").unwrap().name, "python-web");
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("mine.toml");
        let typed = file.to_str().unwrap();
        std::fs::write(&file, "name = \"mine\"\nbase_image = \"debian:12\"\npackage_manager = \"apt\"\n").unwrap();
        assert_eq!(runtime_named(typed).unwrap().name, "mine");
        for (text, expected) in [
            ("name = \"mine\"\npackage = []\n", "line 2, column 1: unknown field `package`"),
            (
                "name = \"mine\"\nbase_image = \"x\"\npackage_manager = \"dnf\"\n",
                "line 3, column 19: unknown variant `dnf`",
            ),
            ("name = \"mine\"\n", "invalid runtime `mine`: it has neither"),
            ("image = \"x\"\n", "a runtime has no name"),
        ] {
            std::fs::write(&file, text).unwrap();
            let failure = runtime_named(typed).unwrap_err().to_string();
            assert!(failure.starts_with(&format!("{typed}: {expected}")), "{failure}");
        }
        let missing = runtime_named("no-such-file.toml").unwrap_err().to_string();
        assert_eq!(missing, "runtime file `no-such-file.toml` not found");
        assert!(runtime_named("ruby").unwrap_err().to_string().starts_with("Unknown runtime 'ruby'. Available: "));
    }
}
