//! `LinuxLauncher`: Linux sandboxes for sessions. Each has a lease and a private directory below one of the host's,
//! by which a later process finds it again.
//!
//! Invariant: a process that creates a sandbox locks its directory, and processes that search skip locked ones. A
//! directory without a lock and without a running keeper is dead.

use std::{
    num::NonZero,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use rustix::{
    fs::{CWD, FlockOperation, Mode, OFlags, flock, openat},
    process::geteuid,
};
use tokio::sync::Semaphore;
use workden_core::{Error, ErrorKind, Result, Sandbox};

use super::{LinuxSandbox, LinuxSandboxBuilder, plan};
use crate::{
    keeper::LeaseDirectory,
    launcher::{ExistingSandbox, LaunchRequest, Launched, Launcher},
    runtimes::RuntimeConfig,
    session_id::SessionId,
    token,
};

/// The file with the session id of a sandbox.
const SESSION: &str = "session";
/// The suffix of the file that marks a sandbox in creation.
const MAKING: &str = ".making";
/// Random bytes of a name, which has twice as many digits: paths of sockets are short.
const NAME_BYTES: usize = 6;
/// Default lease of a sandbox.
const LEASE: Duration = Duration::from_secs(3600);
/// The longest that a start waits for a permit.
const TURN: Duration = Duration::from_secs(2);
/// How long a sandbox that is removed may take to stop its processes.
const STOP: Duration = Duration::from_secs(5);

/// Creates the sandboxes of sessions from one template, and keeps their leases in a directory.
#[derive(Clone, Debug)]
pub struct LinuxLauncher {
    template: LinuxSandboxBuilder,
    state: PathBuf,
    /// Permits to start: more at a time than processors are not ready sooner, and starve other tasks.
    turns: Arc<Semaphore>,
}

impl LinuxLauncher {
    /// Creates sandboxes from this template, each with a directory in `state`, which is created if necessary and must
    /// be private to this user. Only one manager at a time may use `state`, and its path may have at most 87 bytes.
    pub fn new(template: LinuxSandboxBuilder, state: impl Into<PathBuf>) -> Self {
        let state = state.into();
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let turns = Arc::new(Semaphore::new(processors));
        Self { template, state: std::path::absolute(&state).unwrap_or(state), turns }
    }

    fn directory(&self, name: &str) -> Result<LeaseDirectory> {
        if name.len() != NAME_BYTES * 2 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::new(ErrorKind::InvalidArgument, "invalid sandbox name"));
        }
        Ok(LeaseDirectory::at(self.state.join(name)))
    }

    /// Lists the sandboxes in the directory, except those that a process is creating.
    fn look(&self) -> Result<Vec<ExistingSandbox>> {
        let entries = match std::fs::read_dir(&self.state) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| no_state(&error))?,
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let file = entry.file_name();
            let Some((name, is_made)) = file.to_str().map(|file| match file.strip_suffix(MAKING) {
                Some(name) => (name, !self.state.join(name).exists()),
                None => (file, true),
            }) else {
                continue;
            };
            let Ok(directory) = self.directory(name) else { continue };
            if !is_made || Making::is_held(&self.state, name) {
                continue;
            }
            let whose = directory.read(SESSION).or_else(|| std::fs::read_to_string(making(&self.state, name)).ok());
            found.push(ExistingSandbox {
                name: name.to_owned(),
                session: whose.and_then(|whose| whose.parse().ok()),
                running: directory.keeper().is_some(),
                age: directory.age(),
            });
        }
        Ok(found)
    }

    /// Returns the builder for a request.
    fn ordered(&self, order: &LaunchRequest) -> Result<LinuxSandboxBuilder> {
        let mut sandbox = self.template.clone();
        if let Some(runtime) = &order.runtime {
            check_runtime(runtime)?;
            for (name, value) in &runtime.env_vars {
                sandbox = sandbox.env(name, value);
            }
        }
        Ok(match &order.workspace {
            Some(workspace) => sandbox.root(workspace),
            None => sandbox,
        })
    }
}

#[async_trait]
impl Launcher for LinuxLauncher {
    async fn create(&self, order: &LaunchRequest) -> Result<Launched> {
        let sandbox = self.ordered(order)?;
        let name = token::random_digits(NAME_BYTES)?;
        let directory = self.directory(&name)?;
        let (state, of_name, session) = (self.state.clone(), name.clone(), order.session.clone());
        // Locked until the sandbox is complete.
        let making = blocking(move || {
            make_state(&state)?;
            Making::begin(&state, &of_name, session.as_ref())
        });
        let making = making.await?;
        // Limited, so that a start that hangs does not block others.
        let _turn = tokio::time::timeout(TURN, self.turns.acquire()).await;
        let leased = sandbox.lease(order.idle.unwrap_or(LEASE)).lease_directory(directory.path());
        let started = leased.start().await?;
        if let Some(session) = &order.session {
            directory.write(SESSION, session.as_str())?;
        }
        making.done();
        Ok(Launched { sandbox: Arc::new(started), name })
    }

    async fn assign(&self, spare: Launched, session: &SessionId) -> Result<Launched> {
        let (directory, session) = (self.directory(&spare.name)?, session.clone());
        blocking(move || directory.write(SESSION, session.as_str())).await?;
        Ok(spare)
    }

    async fn find(&self) -> Result<Vec<ExistingSandbox>> {
        let this = self.clone();
        blocking(move || this.look()).await
    }

    async fn adopt(&self, found: &ExistingSandbox) -> Result<Launched> {
        let directory = self.directory(&found.name)?;
        let sandbox = LinuxSandbox::attach(directory.path()).await?;
        Ok(Launched { sandbox: Arc::new(sandbox), name: found.name.clone() })
    }

    async fn remove(&self, name: &str) -> Result<()> {
        let directory = self.directory(name)?;
        if let Ok(sandbox) = LinuxSandbox::attach(directory.path()).await {
            let _ = tokio::time::timeout(STOP, sandbox.stop()).await;
        }
        if let Some(keeper) = directory.keeper() {
            keeper.end(Duration::ZERO).await;
        }
        let making = making(&self.state, name);
        blocking(move || {
            directory.remove()?;
            let _ = std::fs::remove_file(making);
            Ok(())
        })
        .await
    }
}

/// A locked file beside the directory of a sandbox in creation. If its process is killed, the file still records the
/// session.
struct Making {
    path: PathBuf,
    _lock: OwnedFd,
}

impl Making {
    fn begin(state: &Path, name: &str, session: Option<&SessionId>) -> Result<Self> {
        let path = making(state, name);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let lock = openat(CWD, &path, flags, Mode::RUSR | Mode::WUSR).map_err(|errno| no_state(&errno.into()))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|errno| no_state(&errno.into()))?;
        let whose = session.map_or("", SessionId::as_str);
        rustix::io::write(&lock, whose.as_bytes()).map_err(|errno| no_state(&errno.into()))?;
        Ok(Self { path, _lock: lock })
    }

    /// Marks the sandbox as complete.
    fn done(self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// Whether a process is creating this sandbox.
    fn is_held(state: &Path, name: &str) -> bool {
        let file = openat(CWD, making(state, name), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
    }
}

fn making(state: &Path, name: &str) -> PathBuf {
    state.join(format!("{name}{MAKING}"))
}

/// Creates the directory for all sandboxes, owned by this user and not writable for others.
fn make_state(state: &Path) -> Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(|error| no_state(&error))?;
    let there = std::fs::metadata(state).map_err(|error| no_state(&error))?;
    if there.uid() != geteuid().as_raw() || there.mode() & 0o022 != 0 {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            "the directory of the sandboxes is writable for other users",
        )
        .hint("make it private: `chmod 700`, owned by this user"));
    }
    Ok(())
}

fn check_runtime(runtime: &RuntimeConfig) -> Result<()> {
    let name = &runtime.name;
    let installs = runtime.image.is_some()
        || runtime.base_image.is_some()
        || runtime.user.is_some()
        || !runtime.packages.is_empty()
        || !runtime.setup_commands.is_empty();
    if installs {
        let why = format!(
            "the runtime `{name}` is not supported with a Linux sandbox: it has an image, packages, a setup or a user"
        );
        return Err(
            Error::new(ErrorKind::Unsupported, why).hint("use a Docker sandbox, or a runtime that only sets variables")
        );
    }
    if runtime.work_dir != plan::DIRECTORY {
        let why =
            format!("the runtime `{name}` uses `{}`, but this sandbox supports only `/workspace`", runtime.work_dir);
        return Err(Error::new(ErrorKind::Unsupported, why));
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "cannot use the directory of the sandboxes")))
}

fn no_state(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot use the directory of the sandboxes: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_that_install_something_are_refused_and_variables_are_not() {
        let factory = LinuxLauncher::new(LinuxSandbox::builder(), "/run/x");
        let with = |runtime| LaunchRequest { runtime: Some(runtime), ..LaunchRequest::default() };
        let plain = RuntimeConfig { name: "r".to_owned(), ..RuntimeConfig::default() };
        for refused in [
            RuntimeConfig { image: Some("debian".to_owned()), ..plain.clone() },
            RuntimeConfig { packages: vec!["x".to_owned()], ..plain.clone() },
            RuntimeConfig { work_dir: "/app".to_owned(), ..plain.clone() },
        ] {
            assert_eq!(factory.ordered(&with(refused)).unwrap_err().kind(), ErrorKind::Unsupported);
        }
        let variables = RuntimeConfig { env_vars: [("K".to_owned(), "V".to_owned())].into(), ..plain };
        let plan = factory.ordered(&with(variables)).unwrap().confinement().unwrap();
        assert_eq!(plan.environment["K"], "V");
    }

    #[test]
    fn what_is_being_made_is_passed_over_and_what_was_given_up_is_found_with_its_session() {
        let place = tempfile::tempdir().unwrap();
        let factory = LinuxLauncher::new(LinuxSandbox::builder(), place.path());
        let (name, session) = ("0123456789ab", "a".parse().unwrap());
        let making = Making::begin(place.path(), name, Some(&session)).unwrap();
        LeaseDirectory::at(place.path().join(name)).make().unwrap();
        std::fs::create_dir(place.path().join("unrelated")).unwrap();
        assert_eq!(factory.look().unwrap(), []);
        drop(making);
        let found = ExistingSandbox { name: name.to_owned(), session: Some(session), running: false, age: None };
        assert_eq!(factory.look().unwrap(), [found]);
    }

    #[tokio::test]
    async fn names_lead_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        let factory = LinuxLauncher::new(LinuxSandbox::builder(), place.path().join("state"));
        std::fs::create_dir(place.path().join("mine")).unwrap();
        for name in ["../mine", "", ".", "..", "/", "0123456789a/", "0123456789abc"] {
            assert_eq!(factory.remove(name).await.unwrap_err().kind(), ErrorKind::InvalidArgument, "{name}");
        }
        factory.remove("0123456789ab").await.unwrap();
        assert!(place.path().join("mine").exists());
    }
}
