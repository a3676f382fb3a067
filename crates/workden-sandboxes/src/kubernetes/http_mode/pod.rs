//! `HttpPod`: the lifetime of a pod that serves the protocol itself. It is created when first needed, and deleted when
//! it is stopped.
//!
//! Invariant: the name of the pod is chosen once, so that a start that was interrupted finds the pod that it created.

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use k8s_openapi::api::core::v1::Pod;
use tokio::{
    sync::OnceCell,
    time::{Instant, sleep},
};
use workden_core::{Error, ErrorKind, Result, VirtualPath};

use super::{
    super::{
        cluster::{Cluster, patiently},
        creation, errors, names,
        pod::{PodChoice, PodSettings, WhenStopped},
        reach::{self, Reach},
        starting::{self, Presence},
    },
    HttpMode,
    connector::PodConnector,
    plan,
    server::Server,
};
use crate::token;

/// The pause between two questions whether the server is ready.
const PAUSE: Duration = Duration::from_millis(100);

/// One pod, and the server in it.
#[derive(Debug)]
pub(in super::super) struct HttpPod {
    pub(super) cluster: Cluster,
    choice: PodChoice,
    settings: PodSettings,
    mode: HttpMode,
    pub(super) work_dir: VirtualPath,
    name: OnceLock<String>,
    serving: OnceCell<Serving>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The id of the pod that this object created or found.
    uid: Option<String>,
    is_stopped: bool,
    began: Instant,
    used: Instant,
}

/// A pod whose server answers.
#[derive(Clone, Debug)]
pub(super) struct Serving {
    pub(super) name: Arc<str>,
    pub(super) uid: String,
    pub(super) way: Reach,
    server: Server,
}

impl HttpPod {
    pub(in super::super) fn new(
        cluster: Cluster,
        (choice, settings): (PodChoice, PodSettings),
        mode: HttpMode,
        work_dir: VirtualPath,
    ) -> Self {
        let now = Instant::now();
        let state = Mutex::new(State { uid: None, is_stopped: false, began: now, used: now });
        let (name, serving) = Default::default();
        Self { cluster, choice, settings, mode, work_dir, name, serving, state }
    }

    /// Starts the pod if it was not started.
    pub(in super::super) async fn start(&self) -> Result<()> {
        self.serving().await.map(drop)
    }

    /// Returns the name of the pod, if it was created or found.
    pub(in super::super) fn pod_name(&self) -> Option<String> {
        self.serving.get().map(|serving| serving.name.to_string())
    }

    /// Makes a call to the server. When the server cannot be reached, the error says what became of the pod.
    pub(super) async fn call<T, F>(&self, call: impl FnOnce(Server) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let serving = self.serving().await?;
        self.state().used = Instant::now();
        let answer = call(serving.server.clone()).await;
        self.state().used = Instant::now();
        match answer {
            Err(error) if error.kind() == ErrorKind::Unreachable => {
                Err(starting::why_gone(&self.cluster, &serving.name, &serving.uid).await.err().unwrap_or(error))
            }
            answer => answer,
        }
    }

    pub(super) async fn serving(&self) -> Result<&Serving> {
        if self.state().is_stopped {
            return Err(starting::gone("it was stopped"));
        }
        self.serving.get_or_try_init(|| self.provide()).await
    }

    /// Returns the time since the start and since the last call.
    pub(super) fn times(&self) -> (Duration, Duration) {
        let state = self.state();
        (state.began.elapsed(), state.used.elapsed())
    }

    /// Deletes the pod, unless it is to stay.
    pub(super) async fn release(&self) -> Result<()> {
        let uid = {
            let mut state = self.state();
            state.is_stopped = true;
            state.uid.take()
        };
        match (self.settings.when_stopped, uid, self.name.get()) {
            (WhenStopped::Delete, Some(uid), Some(name)) => creation::delete(&self.cluster, name, &uid).await,
            _ => Ok(()),
        }
    }

    async fn provide(&self) -> Result<Serving> {
        let (name, pod, is_new) = self.pod().await?;
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        self.state().uid = Some(uid.clone());
        let served = self.served(&name, &uid, &pod).await;
        if served.is_err() && is_new {
            // The error is why it did not start.
            let _ = creation::delete(&self.cluster, &name, &uid).await;
        }
        served
    }

    /// Finds or creates the pod.
    async fn pod(&self) -> Result<(String, Pod, bool)> {
        let (plan, named) = match &self.choice {
            PodChoice::New { plan, name } => (plan, name),
            PodChoice::Existing(name) => {
                let pods = self.cluster.pods().await?;
                let pod = patiently(|| pods.get_opt(name)).await;
                let pod = pod.map_err(|error| errors::failed(&format!("read the pod `{name}`"), &error))?;
                let pod = pod.ok_or_else(|| starting::gone(&format!("its pod `{name}` was deleted")))?;
                let _ = self.name.set(name.clone());
                return Ok((name.clone(), pod, false));
            }
            PodChoice::Found(pod) => {
                let name = pod.metadata.name.clone().unwrap_or_default();
                let _ = self.name.set(name.clone());
                return Ok((name, Pod::clone(pod), false));
            }
            // The builder refuses it, too.
            PodChoice::Claimed(_) => {
                return Err(Error::new(ErrorKind::Unsupported, "`pool` is not supported with the HTTP mode"));
            }
        };
        let name = match (self.name.get(), named) {
            (Some(name), _) | (None, Some(name)) => name.clone(),
            (None, None) => names::random()?,
        };
        let name = self.name.get_or_init(|| name).clone();
        let mut mode = self.mode.clone();
        if mode.token.is_none() {
            mode.token = Some(token::random()?);
        }
        let plan = plan::with_token(plan, mode);
        let (pod, is_new) = creation::create(&self.cluster, &plan, &name, self.settings.times).await?;
        Ok((name, pod, is_new))
    }

    /// Waits until the container runs and the server in it answers.
    async fn served(&self, name: &str, uid: &str, pod: &Pod) -> Result<Serving> {
        let token = plan::token(pod).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("the pod `{name}` has no token for the HTTP mode"))
                .hint("it was created for another mode: use that, or another name")
        })?;
        let deadline = Instant::now() + self.settings.times.start;
        starting::running(&self.cluster, name, self.settings.times, Presence::Now).await?;
        let name: Arc<str> = name.into();
        loop {
            let mut why = String::new();
            for way in reach::ways(&self.cluster, self.settings.reach).into_iter().filter(|way| *way != Reach::Exec) {
                let connector =
                    PodConnector { cluster: self.cluster.clone(), pod: Arc::clone(&name), port: self.mode.port, way };
                let server = Server::in_pod(connector, &token)?;
                match server.health().await {
                    Ok(()) => {
                        self.cluster.remember_reach(way);
                        return Ok(Serving { name, uid: uid.to_owned(), way, server });
                    }
                    Err(error) => why = error.sentence().to_owned(),
                }
            }
            starting::why_gone(&self.cluster, &name, uid).await?;
            if Instant::now() >= deadline {
                let (port, seconds) = (self.mode.port, self.settings.times.start.as_secs());
                let sentence = format!("no server answers at port {port} of the pod `{name}` after {seconds} s: {why}");
                return Err(Error::new(ErrorKind::TimedOut, sentence)
                    .hint("the image must serve the HTTP protocol; for any other image, leave the HTTP mode out"));
            }
            sleep(PAUSE).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HttpPod {
    /// An unnamed pod cannot be found again, so it is deleted now if a runtime still runs.
    fn drop(&mut self) {
        let is_nameless = matches!(&self.choice, PodChoice::New { name: None, .. });
        let deletes = is_nameless && self.settings.when_stopped == WhenStopped::Delete;
        let uid = self.state().uid.take().filter(|_| deletes);
        let (Some(uid), Some(name)) = (uid, self.name.get().cloned()) else { return };
        let cluster = self.cluster.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { creation::delete(&cluster, &name, &uid).await });
        }
    }
}
