//! `HostedSandbox`: one sandbox at Daytona. It is created or found when first needed, and a keeper in it is reached, or
//! started anew.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::{Notify, OnceCell},
    time::timeout,
};
use workden_core::{Error, ErrorKind, Result, Sandbox, limits, sandbox::Isolation};
use workden_wire::RemoteSandbox;

use super::{
    DaytonaStatus,
    api::{Api, CreateSandbox, SandboxInfo, SandboxState, Toolbox},
    keeper_setup::{self, KeeperPlan, NoKeeper},
    lifecycle, report,
};
use crate::{container_keepers::ContainerKeepers, reconnecting::Connector};

/// How long a keeper may take to stop its commands.
const STOP_TIME: Duration = limits::TERM_TIME.saturating_add(Duration::from_secs(3));

/// How files and commands are reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DaytonaMode {
    /// By a keeper, and by the toolbox where a keeper is not possible.
    #[default]
    Automatic,
    /// By a keeper only.
    Keeper,
    /// By the toolbox only.
    Toolbox,
}

/// What happens to a sandbox that is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenStopped {
    /// It is deleted, with its files.
    #[default]
    Delete,
    /// It is stopped, and keeps its files.
    Keep,
}

/// Which sandbox to use.
#[derive(Clone, Debug)]
pub(super) enum SandboxChoice {
    /// A new one, or the existing one of its name.
    New(Box<CreateSandbox>),
    /// An existing one, by its id or name.
    Existing(String),
}

/// How a sandbox is started and used.
#[derive(Clone)]
pub(super) struct HostedPlan {
    pub(super) choice: SandboxChoice,
    /// Of each command.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) mode: DaytonaMode,
    pub(super) start_time: Duration,
    pub(super) when_stopped: WhenStopped,
    pub(super) keeper: KeeperPlan,
    /// Where to say what becomes known.
    pub(super) status: DaytonaStatus,
}

impl fmt::Debug for HostedPlan {
    /// Leaves out the values of variables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostedPlan").field("choice", &self.choice).field("mode", &self.mode).finish_non_exhaustive()
    }
}

/// One sandbox.
#[derive(Debug)]
pub(super) struct HostedSandbox {
    pub(super) api: Api,
    keepers: ContainerKeepers,
    pub(super) plan: HostedPlan,
    made: OnceCell<Made>,
    /// The connection with which the sandbox was created, until it is taken.
    first: Mutex<Option<RemoteSandbox>>,
    /// Why the toolbox is used.
    impossible: Mutex<Option<String>>,
    /// Wakes a start that is no longer wanted.
    unwanted: Notify,
    /// Whether it was stopped, and needs no further deletion.
    ended: AtomicBool,
}

/// A sandbox that has started.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) toolbox: Toolbox,
}

impl HostedSandbox {
    pub(super) fn new(api: Api, keepers: ContainerKeepers, plan: HostedPlan) -> Self {
        let (made, first, impossible, unwanted, ended) = Default::default();
        Self { api, keepers, plan, made, first, impossible, unwanted, ended }
    }

    /// Returns the sandbox, if it was created or found.
    pub(super) fn made(&self) -> Option<&Made> {
        self.made.get()
    }

    /// Why the toolbox is used, unless the mode names it.
    pub(super) fn why_impossible(&self) -> Option<String> {
        self.impossible.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it was stopped here.
    pub(super) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Gives up a start that has not ended, so that a stop need not wait for it.
    pub(super) fn give_up(&self) {
        if self.made.get().is_none() {
            self.unwanted.notify_one();
        }
    }

    /// Returns the sandbox, and creates or starts it first. A caller that stops waiting does not interrupt that: what
    /// was created would be lost.
    pub(super) async fn started(self: &Arc<Self>) -> Result<Made> {
        let this = Arc::clone(self);
        let started = tokio::spawn(async move { this.made.get_or_try_init(|| this.provide()).await.cloned() });
        started.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "starting the sandbox was interrupted")))
    }

    async fn provide(&self) -> Result<Made> {
        let (info, is_new) = self.created_or_found().await?;
        let id = info.id.clone();
        let ready = tokio::select! {
            ready = self.ready(info, is_new) => ready,
            () = self.unwanted.notified() => {
                Err(Error::new(ErrorKind::Gone, format!("the sandbox was stopped while `{}` started", self.api.shown(&id))))
            }
        };
        if ready.is_err()
            && is_new
            && let Err(error) = lifecycle::delete(&self.api, &id).await
        {
            // The first error is why it did not start.
            tracing::warn!(%error, "cannot delete a sandbox that did not start");
        }
        ready.inspect(|made| self.plan.status.set_names(&made.id, &made.name))
    }

    async fn created_or_found(&self) -> Result<(SandboxInfo, bool)> {
        let request = match &self.plan.choice {
            SandboxChoice::Existing(name) => return Ok((self.existing(name).await?, false)),
            SandboxChoice::New(request) => request,
        };
        if let Some(name) = &request.name
            && let Some(found) = self.api.get(name).await?
        {
            return Ok((found, false));
        }
        match (lifecycle::create(&self.api, request).await, &request.name) {
            (Ok(info), _) => Ok((info, true)),
            // Another process was faster.
            (Err(failure), Some(name)) if failure.is(409) => Ok((self.existing(name).await?, false)),
            (Err(failure), _) => Err(failure.into()),
        }
    }

    async fn existing(&self, name: &str) -> Result<SandboxInfo> {
        self.api.get(name).await?.ok_or_else(|| {
            let sentence = format!("the Daytona sandbox `{}` not found", self.api.shown(name));
            Error::new(ErrorKind::NotFound, sentence).hint("use its id or its name, and a key of its organisation")
        })
    }

    /// Waits until a sandbox has started, and connects to the keeper in it.
    async fn ready(&self, info: SandboxInfo, is_new: bool) -> Result<Made> {
        let info = lifecycle::running(&self.api, info, self.plan.start_time).await?;
        let toolbox = Toolbox::new(self.api.clone(), self.api.toolbox_url(&info).await?);
        let name = info.name.clone().unwrap_or_else(|| info.id.clone());
        let made = Made { id: info.id, name, toolbox };
        if self.plan.mode == DaytonaMode::Toolbox {
            return Ok(made);
        }
        let reached = if is_new { None } else { keeper_setup::reach(&made.toolbox, &made.id).await.ok() };
        let connected = match reached {
            Some(remote) => Ok(remote),
            None => self.launched(&made).await,
        };
        match connected {
            Ok(remote) => *self.first.lock().unwrap_or_else(PoisonError::into_inner) = Some(remote),
            // The toolbox is used instead.
            Err(NoKeeper::Impossible(why)) if self.plan.mode == DaytonaMode::Automatic => {
                tracing::info!(id = self.api.shown(&made.id), why, "no keeper is possible in the sandbox");
                *self.impossible.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            }
            Err(no_keeper) => return Err(self.told(&made, no_keeper)),
        }
        Ok(made)
    }

    async fn launched(&self, made: &Made) -> Result<RemoteSandbox, NoKeeper> {
        keeper_setup::launch(&made.toolbox, &made.id, &self.keepers, &self.plan.keeper).await
    }

    fn told(&self, made: &Made, no_keeper: NoKeeper) -> Error {
        match no_keeper {
            NoKeeper::Failed(error) => error,
            NoKeeper::Impossible(why) => {
                let sentence =
                    format!("no keeper can run in the Daytona sandbox `{}`: {why}", self.api.shown(&made.id));
                Error::new(ErrorKind::Unsupported, sentence).hint("use the mode `toolbox`, or another snapshot")
            }
        }
    }

    /// Ends the sandbox.
    pub(super) async fn release(&self) -> Result<()> {
        self.ended.store(true, Ordering::Relaxed);
        let Some(made) = self.made.get() else { return Ok(()) };
        let released = match self.plan.when_stopped {
            WhenStopped::Delete => lifecycle::delete(&self.api, &made.id).await,
            WhenStopped::Keep => lifecycle::stop(&self.api, &made.id).await,
        };
        if released.is_err() {
            self.ended.store(false, Ordering::Relaxed);
        }
        released
    }
}

#[async_trait]
impl Connector for HostedSandbox {
    async fn connect(&self) -> Result<RemoteSandbox> {
        let made = self.made.get_or_try_init(|| self.provide()).await?;
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(first) = first.filter(|first| !first.is_gone()) {
            return Ok(first);
        }
        if let Some(why) = self.why_impossible() {
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        let info = lifecycle::why_gone(&self.api, &made.id).await;
        let info = match info {
            Err(error) if error.kind() != ErrorKind::Busy => return Err(error),
            Err(_) => self.existing(&made.id).await?,
            Ok(info) => info,
        };
        let was_running = info.state() == SandboxState::Started;
        lifecycle::running(&self.api, info, self.plan.start_time).await?;
        if was_running && let Ok(remote) = keeper_setup::reach(&made.toolbox, &made.id).await {
            return Ok(remote);
        }
        self.launched(made).await.map_err(|no_keeper| self.told(made, no_keeper))
    }

    async fn look(&self) -> Result<()> {
        match self.made.get() {
            Some(made) => lifecycle::why_gone(&self.api, &made.id).await.map(drop),
            None => Ok(()),
        }
    }

    async fn report(&self, seen: Isolation) -> Result<Isolation> {
        let Some(made) = self.made.get() else { return Ok(seen) };
        let info = self.api.get(&made.id).await?;
        Ok(info.map_or(seen.clone(), |info| report::complete(seen, &info)))
    }

    async fn end(&self, remote: Option<RemoteSandbox>) -> Result<()> {
        if let Some(remote) = remote {
            // The sandbox is ended whatever the keeper answers.
            let _ = timeout(STOP_TIME, remote.stop()).await;
        }
        self.release().await
    }
}

impl Drop for HostedSandbox {
    /// An unnamed sandbox cannot be found again: it is deleted now if a runtime still runs. Otherwise Daytona stops and
    /// deletes it after its interval.
    fn drop(&mut self) {
        let is_nameless = matches!(&self.plan.choice, SandboxChoice::New(request) if request.name.is_none());
        let deletes = is_nameless && !*self.ended.get_mut() && self.plan.when_stopped == WhenStopped::Delete;
        let Some(made) = self.made.take().filter(|_| deletes) else { return };
        let api = self.api.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { lifecycle::delete(&api, &made.id).await });
        }
    }
}
