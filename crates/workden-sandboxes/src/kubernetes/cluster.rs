//! `Cluster`: a connection to a Kubernetes API server, and the namespace of the pods.
//!
//! Invariant: constructing one does no I/O. The first call reads the configuration; after a failure the next call
//! tries again.

use std::{
    fmt,
    future::Future,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{Event, Pod, Secret},
};
use kube::{
    Api, Client, Config, Error as KubeError, Resource,
    config::{KubeConfigOptions, Kubeconfig, NamedContext},
};
use tokio::{
    sync::OnceCell,
    time::{Instant, sleep, timeout},
};
use workden_core::{Error, ErrorKind, Result};

use super::{errors, http_client, reach::Reach};
use crate::HostEnvironment;

/// Where a pod finds the credentials of its service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// How long a call is repeated while the cluster is overloaded or restarts.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the cluster may take to answer an attempt: the API server may be cut off, or frozen.
const ANSWER_TIME: Duration = Duration::from_secs(15);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// A Kubernetes cluster and a namespace of it. Clones share the connection.
#[derive(Clone)]
pub struct Cluster {
    shared: Arc<Shared>,
}

struct Shared {
    source: Source,
    namespace: Option<String>,
    client: OnceCell<Client>,
    /// The way by which a keeper was reached last, which is tried first.
    reach: AtomicU8,
}

/// Where the address and the credentials of the cluster are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// In this pod.
    Pod,
    /// In these files, with this context or the current one.
    Files { files: Vec<PathBuf>, context: Option<String> },
}

impl Cluster {
    /// Returns the cluster that the environment of the caller names: `KUBECONFIG`; in a pod, the cluster of the pod;
    /// otherwise `~/.kube/config`.
    #[must_use]
    pub fn of_environment(host: &HostEnvironment) -> Self {
        let named: Vec<PathBuf> = host
            .variable("KUBECONFIG")
            .map(|paths| std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()).collect())
            .unwrap_or_default();
        if !named.is_empty() {
            return Self::new(Source::Files { files: named, context: None });
        }
        let is_pod = host.variable("KUBERNETES_SERVICE_HOST").is_some();
        if is_pod && Path::new(SERVICE_ACCOUNT).join("token").exists() {
            return Self::new(Source::Pod);
        }
        let home = host.variable("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        Self::new(Source::Files { files: vec![home.join(".kube/config")], context: None })
    }

    /// Returns the cluster in which this process runs as a pod.
    #[must_use]
    pub fn in_cluster() -> Self {
        Self::new(Source::Pod)
    }

    /// Returns the cluster of a kubeconfig file.
    #[must_use]
    pub fn kubeconfig(file: impl Into<PathBuf>) -> Self {
        Self::new(Source::Files { files: vec![file.into()], context: None })
    }

    /// Selects a context of the kubeconfig. By default it is the current one.
    #[must_use]
    pub fn context(self, name: impl Into<String>) -> Self {
        let source = match self.shared.source.clone() {
            Source::Files { files, .. } => Source::Files { files, context: Some(name.into()) },
            // A context selects among the clusters of a file, and a pod has one cluster.
            Source::Pod => Source::Files { files: Vec::new(), context: Some(name.into()) },
        };
        Self::with(source, self.shared.namespace.clone())
    }

    /// Sets the namespace of pods. By default it is that of the context, or of this pod.
    #[must_use]
    pub fn namespace(self, name: impl Into<String>) -> Self {
        Self::with(self.shared.source.clone(), Some(name.into()))
    }

    /// Returns the context and the namespace that are selected now; a cluster in which this process is a pod has no
    /// context. Reads the kubeconfig.
    ///
    /// # Errors
    ///
    /// When the kubeconfig cannot be read.
    pub fn selected(&self) -> Result<(Option<String>, String)> {
        let named = self.shared.namespace.clone();
        let (context, of_context) = match &self.shared.source {
            Source::Pod => (None, std::fs::read_to_string(Path::new(SERVICE_ACCOUNT).join("namespace")).ok()),
            Source::Files { files, context } => {
                let kubeconfig = read_all(files)?;
                let context = context.clone().or(kubeconfig.current_context);
                let is_selected = |named: &&NamedContext| Some(&named.name) == context.as_ref();
                let found = kubeconfig.contexts.iter().find(is_selected).and_then(|named| named.context.as_ref());
                let namespace = found.and_then(|found| found.namespace.clone());
                (context, namespace)
            }
        };
        Ok((context, named.or(of_context).unwrap_or_else(|| "default".to_owned())))
    }

    fn new(source: Source) -> Self {
        Self::with(source, None)
    }

    fn with(source: Source, namespace: Option<String>) -> Self {
        let shared = Shared { source, namespace, client: OnceCell::new(), reach: AtomicU8::new(0) };
        Self { shared: Arc::new(shared) }
    }

    /// Returns the client.
    pub(super) async fn client(&self) -> Result<&Client> {
        self.shared.client.get_or_try_init(|| self.connect()).await
    }

    async fn connect(&self) -> Result<Client> {
        let mut config = self.config().await?;
        if let Some(namespace) = &self.shared.namespace {
            config.default_namespace.clone_from(namespace);
        }
        // Streams of calls and commands are silent for long.
        config.read_timeout = None;
        config.write_timeout = None;
        http_client::connect(config).map_err(|error| invalid(&error.to_string()))
    }

    async fn config(&self) -> Result<Config> {
        let (files, context) = match &self.shared.source {
            Source::Pod => {
                return Config::incluster().map_err(|error| {
                    let sentence = format!("this program does not run in a pod: {}", errors::shown(&error.to_string()));
                    Error::new(ErrorKind::Unsupported, sentence).hint("use a kubeconfig")
                });
            }
            Source::Files { files, context } => (files.clone(), context.clone()),
        };
        let read = tokio::task::spawn_blocking(move || read_all(&files)).await;
        let kubeconfig = read.unwrap_or_else(|_| Err(invalid("reading it was interrupted")))?;
        let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| invalid(&error.to_string()))
    }

    pub(super) async fn pods(&self) -> Result<Api<Pod>> {
        self.api().await
    }

    pub(super) async fn secrets(&self) -> Result<Api<Secret>> {
        self.api().await
    }

    pub(super) async fn events(&self) -> Result<Api<Event>> {
        self.api().await
    }

    pub(super) async fn api<K>(&self) -> Result<Api<K>>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Ok(Api::default_namespaced(self.client().await?.clone()))
    }

    /// Returns the way by which a keeper was reached last.
    pub(super) fn last_reach(&self) -> Option<Reach> {
        Reach::from_number(self.shared.reach.load(Ordering::Relaxed))
    }

    pub(super) fn remember_reach(&self, reach: Reach) {
        self.shared.reach.store(reach.number(), Ordering::Relaxed);
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { source, namespace, .. } = &*self.shared;
        f.debug_struct("Cluster").field("source", source).field("namespace", namespace).finish_non_exhaustive()
    }
}

/// Makes a call that changes nothing if it is repeated, again and again while the cluster is overloaded, restarts or
/// does not answer.
pub(super) async fn patiently<T, F>(mut call: impl FnMut() -> F) -> Result<T, KubeError>
where
    F: Future<Output = Result<T, KubeError>>,
{
    let began = Instant::now();
    let mut pause = Duration::from_millis(100);
    loop {
        let error = match timeout(ANSWER_TIME, call()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(_) => KubeError::Service(format!("no answer within {} s", ANSWER_TIME.as_secs()).into()),
        };
        let Some(seconds) = errors::retry_after(&error) else { return Err(error) };
        let wait = pause.max(Duration::from_secs(seconds));
        if began.elapsed() + wait > PATIENCE {
            return Err(error);
        }
        tracing::debug!(%error, "the cluster does not answer; trying again");
        sleep(wait).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn read_all(files: &[PathBuf]) -> Result<Kubeconfig> {
    let mut all: Option<Kubeconfig> = None;
    for file in files.iter().filter(|file| file.exists()) {
        let wrong = |error: kube::config::KubeconfigError| invalid(&format!("`{}`: {error}", file.display()));
        let next = Kubeconfig::read_from(file).map_err(wrong)?;
        all = Some(match all {
            None => next,
            Some(before) => before.merge(next).map_err(wrong)?,
        });
    }
    all.ok_or_else(|| {
        let names: Vec<String> = files.iter().map(|file| format!("`{}`", file.display())).collect();
        Error::new(ErrorKind::NotFound, format!("kubeconfig not found: {}", names.join(", ")))
            .hint("set KUBECONFIG=FILE, or create one: `kubectl config view` shows which file is used")
    })
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("invalid Kubernetes configuration: {}", errors::shown(why)))
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_without_an_answer_is_repeated_and_then_given_up() {
        let mut calls = 0;
        let answered = patiently(|| {
            calls += 1;
            let is_lost = calls == 1;
            async move { if is_lost { pending().await } else { Ok("here") } }
        });
        assert_eq!(answered.await.unwrap(), "here");
        let began = Instant::now();
        let error = patiently(pending::<Result<(), KubeError>>).await.unwrap_err();
        assert_eq!(errors::failed("list pods", &error).kind(), ErrorKind::Unreachable);
        assert!(began.elapsed() <= PATIENCE + ANSWER_TIME, "{:?}", began.elapsed());
    }
}
