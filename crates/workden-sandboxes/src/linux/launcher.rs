//! `LinuxLauncher`: Linux sandboxes for sessions. Each has a lease and a directory of its own below one of the
//! host's, by which a later process finds it again.
//!
//! Invariant: a directory that is being made is locked by whoever makes it, and is passed over by whoever looks;
//! one that nobody holds and whose keeper does not run is dead.

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

/// The file that says whose a sandbox is.
const SESSION: &str = "session";
/// How the name of a file ends that says that a sandbox is being made.
const MAKING: &str = ".making";
/// Random bytes of a name, which is twice as long: paths of sockets are short.
const NAME_BYTES: usize = 6;
/// How long a sandbox lives without anybody, when the order does not say.
const LEASE: Duration = Duration::from_secs(3600);
/// The longest that a start waits for its turn.
const TURN: Duration = Duration::from_secs(2);
/// How long one that is removed has to stop what runs in it.
const STOP: Duration = Duration::from_secs(5);

/// Makes the sandboxes of sessions like one that it was shown, and keeps how to come back to them in a directory.
#[derive(Clone, Debug)]
pub struct LinuxLauncher {
    template: LinuxSandboxBuilder,
    state: PathBuf,
    /// Turns to start: more at a time than there are processors are no sooner ready, and leave none to others.
    turns: Arc<Semaphore>,
}

impl LinuxLauncher {
    /// Sandboxes like this one, each with a directory of its own in `state`, which is made when it is not there
    /// and has to be this user's alone. One manager at a time may have it, and its path has to be short: 87 bytes
    /// at most.
    pub fn new(template: LinuxSandboxBuilder, state: impl Into<PathBuf>) -> Self {
        let state = state.into();
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let turns = Arc::new(Semaphore::new(processors));
        Self { template, state: std::path::absolute(&state).unwrap_or(state), turns }
    }

    fn directory(&self, name: &str) -> Result<LeaseDirectory> {
        if name.len() != NAME_BYTES * 2 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::new(ErrorKind::InvalidArgument, "there is no sandbox of this name"));
        }
        Ok(LeaseDirectory::at(self.state.join(name)))
    }

    /// All that there is in the directory, but for what somebody is making.
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

    /// The sandbox that an order asks for.
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
        // Held until all of it is there.
        let making = blocking(move || {
            make_state(&state)?;
            Making::begin(&state, &of_name, session.as_ref())
        });
        let making = making.await?;
        // Nobody waits long for one that hangs.
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

/// A file beside the directory of a sandbox that is being made, locked by whoever makes it. When they are killed
/// it says whose the sandbox was to be.
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

    /// All of the sandbox is there.
    fn done(self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// Whether somebody is making this one.
    fn is_held(state: &Path, name: &str) -> bool {
        let file = openat(CWD, making(state, name), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
    }
}

fn making(state: &Path, name: &str) -> PathBuf {
    state.join(format!("{name}{MAKING}"))
}

/// The directory for all of them: this user's, and writable for nobody else.
fn make_state(state: &Path) -> Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(|error| no_state(&error))?;
    let there = std::fs::metadata(state).map_err(|error| no_state(&error))?;
    if there.uid() != geteuid().as_raw() || there.mode() & 0o022 != 0 {
        return Err(Error::new(ErrorKind::PermissionDenied, "the directory of the sandboxes can be changed by others")
            .hint("it has to belong to this user, and be writable for nobody else"));
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
        let why = format!("the runtime `{name}` needs containers: it has an image, packages, a setup or a user");
        return Err(Error::new(ErrorKind::Unsupported, why)
            .hint("use a Docker sandbox, or a runtime with nothing but variables"));
    }
    if runtime.work_dir != plan::DIRECTORY {
        let why =
            format!("the runtime `{name}` works in `{}`, and this sandbox only in `/workspace`", runtime.work_dir);
        return Err(Error::new(ErrorKind::Unsupported, why));
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "the directory of the sandboxes could not be used")))
}

fn no_state(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the directory of the sandboxes cannot be used: {}", error.kind()))
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
        std::fs::create_dir(place.path().join("somebody-elses")).unwrap();
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
