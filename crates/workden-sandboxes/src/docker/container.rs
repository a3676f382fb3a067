//! `Container`: the lifetime of one container. It is created when first needed, found again by its name, and served by
//! a keeper, which is reached through a program in the container.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bollard::{
    models::{ContainerInspectResponse, ContainerStateStatusEnum},
    query_parameters::{InspectContainerOptions, StopContainerOptions},
};
use tokio::{sync::OnceCell, time::timeout};
use workden_core::{Error, ErrorKind, Result, Sandbox, limits, sandbox::Isolation};
use workden_wire::RemoteSandbox;

use super::{
    BuildProgress, ContainerKeepers, Daemon, errors,
    foreign::Guest,
    keeper_volume::PROGRAM,
    plan::{Plan, SOCKET},
    program, removal, report,
    stream::ProgramStream,
};
use crate::reconnecting::Connector;

/// How long a keeper may take to stop its commands.
const STOP_TIME: Duration = limits::TERM_TIME.saturating_add(Duration::from_secs(3));
/// How long a keeper may take from the connection to its first answer.
const CONNECT_TIME: Duration = Duration::from_secs(15);

/// One container.
pub(super) struct Container {
    pub(super) daemon: Daemon,
    pub(super) keepers: ContainerKeepers,
    pub(super) images: ImageOptions,
    pub(super) plan: ContainerChoice,
    made: OnceCell<Made>,
    /// The connection from the start of the container, until the first call takes it.
    pub(super) first: Mutex<Option<RemoteSandbox>>,
}

/// How a missing image is pulled or built.
#[derive(Clone, Default)]
pub(super) struct ImageOptions {
    pub(super) build_network: Option<String>,
    pub(super) progress: Option<Arc<dyn Fn(BuildProgress) + Send + Sync>>,
}

impl fmt::Debug for ImageOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImageOptions").field("build_network", &self.build_network).finish_non_exhaustive()
    }
}

/// Which container to use.
pub(super) enum ContainerChoice {
    /// A new one, unless one of this name exists.
    New(Arc<Plan>),
    /// An existing one, by its name or id.
    Existing(String),
}

/// An existing container.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Created by workden, with the token of its keeper, and whether it is removed with the sandbox.
    Ours { token: String, removes: bool },
    /// Created by another program, with a keeper copied into it.
    Foreign(Guest),
}

impl Container {
    pub(super) fn new(daemon: Daemon, keepers: ContainerKeepers, images: ImageOptions, plan: ContainerChoice) -> Self {
        Self { daemon, keepers, images, plan, made: OnceCell::new(), first: Mutex::default() }
    }

    /// Returns the container, if it was created or found.
    pub(super) fn made(&self) -> Option<&Made> {
        self.made.get()
    }

    /// Returns the state that the daemon reports; `None` when the container does not exist.
    pub(super) async fn inspect(&self, name: &str) -> Result<Option<ContainerInspectResponse>> {
        match self.daemon.client().await?.inspect_container(name, None::<InspectContainerOptions>).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if errors::is_not_found(&error) => Ok(None),
            Err(error) => Err(self.daemon.failed(&format!("inspect the container `{name}`"), &error)),
        }
    }

    /// Connects to the keeper: over its own streams if given, otherwise through a relay in the container.
    pub(super) async fn connect_to(&self, made: &Made, streams: Option<ProgramStream>) -> Result<RemoteSandbox> {
        match timeout(CONNECT_TIME, self.greet(made, streams)).await {
            Ok(connected) => connected,
            Err(_) => {
                self.why(made).await?;
                let seconds = CONNECT_TIME.as_secs();
                let sentence = format!("the keeper in the container `{}` did not answer within {seconds} s", made.name);
                Err(Error::new(ErrorKind::Unreachable, sentence).hint("try again, or create a new sandbox"))
            }
        }
    }

    async fn greet(&self, made: &Made, streams: Option<ProgramStream>) -> Result<RemoteSandbox> {
        let (program, socket, token) = match &made.kind {
            Kind::Ours { token, .. } => (PROGRAM, SOCKET, token),
            Kind::Foreign(guest) => (guest.program.as_str(), guest.socket.as_str(), &guest.token),
        };
        let stream = match streams {
            Some(stream) => Ok(stream),
            None => program::run(&self.daemon, &made.id, &[program, "connect", "--socket", socket], None).await,
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) if error.kind() == ErrorKind::Unreachable => return Err(error),
            Err(error) => return Err(self.why(made).await.err().unwrap_or(error)),
        };
        let complaint = stream.complaint();
        match RemoteSandbox::connect(stream, Some(token)).await {
            Ok(remote) => Ok(remote),
            Err(error) if error.kind() == ErrorKind::Gone => {
                let said = complaint.text();
                let said = if said.is_empty() { String::new() } else { format!(": {}", errors::shown(&said)) };
                if let Err(why) = self.why(made).await {
                    let told = Error::new(why.kind(), format!("{}{said}", why.sentence()));
                    return Err(match why.hint_text() {
                        Some(hint) => told.hint(hint.to_owned()),
                        None => told,
                    });
                }
                let sentence = format!("the keeper in the container `{}` does not answer{said}", made.name);
                Err(Error::new(ErrorKind::Unreachable, sentence))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns why a container that existed does not answer.
    async fn why(&self, made: &Made) -> Result<()> {
        let name = &made.name;
        let Some(found) = self.inspect(&made.id).await? else {
            return Err(gone(&format!("its container `{name}` was removed")));
        };
        let state = found.state.clone().unwrap_or_default();
        match status(&found) {
            ContainerStateStatusEnum::RUNNING => Ok(()),
            ContainerStateStatusEnum::PAUSED => {
                Err(busy(name, "it is paused").hint(format!("resume it with `docker unpause {name}`")))
            }
            ContainerStateStatusEnum::RESTARTING => Err(busy(name, "it is being restarted")),
            _ if state.oom_killed == Some(true) => {
                Err(gone(&format!("its container `{name}` was killed: out of memory")))
            }
            _ => {
                let code = state.exit_code.unwrap_or(0);
                Err(gone(&format!("its container `{name}` has exited (exit code {code})")))
            }
        }
    }
}

#[async_trait]
impl Connector for Container {
    async fn connect(&self) -> Result<RemoteSandbox> {
        let made = self.made.get_or_try_init(|| self.provide()).await?;
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        match first.filter(|remote| !remote.is_gone()) {
            Some(remote) => Ok(remote),
            None => self.connect_to(made, None).await,
        }
    }

    async fn look(&self) -> Result<()> {
        match self.made.get() {
            Some(made) => self.why(made).await,
            None => Ok(()),
        }
    }

    async fn report(&self, seen: Isolation) -> Result<Isolation> {
        let Some(made) = self.made.get() else { return Ok(seen) };
        Ok(match self.inspect(&made.id).await? {
            Some(found) => report::complete(seen, &found),
            None => seen,
        })
    }

    async fn end(&self, remote: Option<RemoteSandbox>) -> Result<()> {
        let Some(made) = self.made.get() else { return Ok(()) };
        if let Some(remote) = remote {
            // The container is removed or stopped whatever the keeper answers.
            let _ = timeout(STOP_TIME, remote.stop()).await;
        }
        match &made.kind {
            Kind::Ours { removes: true, .. } => removal::remove(&self.daemon, &made.id).await,
            Kind::Ours { removes: false, .. } => {
                let at_once = StopContainerOptions { t: Some(1), ..StopContainerOptions::default() };
                match self.daemon.client().await?.stop_container(&made.id, Some(at_once)).await {
                    Err(error) if !errors::is_not_found(&error) => Err(self.daemon.failed("stop a container", &error)),
                    _ => Ok(()),
                }
            }
            Kind::Foreign(guest) => guest.move_out(&self.daemon, &made.id).await,
        }
    }
}

impl Drop for Container {
    /// An unnamed container cannot be found again: it is removed now if a runtime still runs, otherwise when its
    /// lease ends.
    fn drop(&mut self) {
        let is_nameless = matches!(&self.plan, ContainerChoice::New(plan) if plan.name.is_none() && plan.removes());
        let Some(Made { id, .. }) = self.made.take().filter(|_| is_nameless) else { return };
        let daemon = self.daemon.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { removal::remove(&daemon, &id).await });
        }
    }
}

pub(super) fn status(found: &ContainerInspectResponse) -> ContainerStateStatusEnum {
    let state = found.state.as_ref();
    state.and_then(|state| state.status).unwrap_or(ContainerStateStatusEnum::EMPTY)
}

fn gone(why: &str) -> Error {
    Error::new(ErrorKind::Gone, format!("the sandbox is gone: {why}"))
        .hint("create a new sandbox; files in volumes are kept")
}

pub(super) fn busy(name: &str, why: &str) -> Error {
    Error::new(ErrorKind::Busy, format!("the container `{name}` does not answer: {why}"))
}
