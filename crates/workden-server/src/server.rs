//! `Server`: a running service, from its start to its graceful end.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, extract::DefaultBodyLimit, middleware};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use workden::{Error, ErrorKind, Result};

use crate::{
    ServerConfig,
    api_input::{no_such_method, no_such_path},
    api_page, dashboard,
    database::Database,
    disk, e2b,
    identity::{Role, authenticate},
    listening::{Listening, TlsIdentity},
    operations, sandboxd,
    service::Service,
    sessions::{keep_spares, sweep},
    usage, v1,
};

/// How long calls in progress may go on after the end was ordered.
const GRACE: Duration = Duration::from_secs(10);
/// The largest body of a request that is not a file.
const BODY_BYTES: usize = 16 << 20;

/// A running service. Sessions go on when it ends, and the next process finds them.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    service: Arc<Service>,
    identity: Option<Arc<TlsIdentity>>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

/// A new API key: this is the only time that it is shown.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewApiKey {
    /// Its id, by which it is listed and revoked.
    pub id: String,
    /// The key.
    pub key: String,
}

impl Server {
    /// Whether this build sends traces: the feature `otel`.
    pub const HAS_TRACES: bool = cfg!(feature = "otel");

    /// Opens the state and listens.
    ///
    /// # Errors
    ///
    /// When the configuration is invalid, the database cannot be opened, or the address is in use.
    pub async fn start(config: ServerConfig) -> Result<Self> {
        let listen = config.listen;
        let identity = config.tls.as_ref().map(TlsIdentity::new).transpose()?.map(Arc::new);
        let service = Service::open(config).await?;
        let cannot = |error: std::io::Error| {
            let (kind, why) = match error.kind() {
                std::io::ErrorKind::AddrInUse => (ErrorKind::Busy, "the address is in use"),
                std::io::ErrorKind::AddrNotAvailable => (ErrorKind::NotFound, "this machine does not have the address"),
                std::io::ErrorKind::PermissionDenied => (ErrorKind::PermissionDenied, "permission denied"),
                _ => (ErrorKind::Io, "the system refuses it"),
            };
            Error::new(kind, format!("cannot listen on {listen}: {why}")).hint("use port 0 for any free port")
        };
        let listener = TcpListener::bind(listen).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let stop = CancellationToken::new();
        let sweeping = sweep(Arc::clone(&service));
        let stopped = stop.clone();
        service.tasks.spawn(async move { stopped.run_until_cancelled(sweeping).await });
        let (sampling, stopped) = (usage::sample(Arc::clone(&service)), stop.clone());
        service.tasks.spawn(async move { stopped.run_until_cancelled(sampling).await });
        let (sparing, stopped) = (keep_spares(Arc::clone(&service)), stop.clone());
        service.tasks.spawn(async move { stopped.run_until_cancelled(sparing).await });
        let measuring = disk::measure(Arc::clone(&service));
        let stopped = stop.clone();
        service.tasks.spawn(async move { stopped.run_until_cancelled(measuring).await });
        let (router, identity_shown) = (router(&service), identity.clone());
        let listening = Listening { listener, router, identity: identity_shown, service: Arc::clone(&service) };
        let serving = tokio::spawn(listening.serve(stop.clone()));
        Ok(Self { address, service, identity, stop, serving })
    }

    /// Checks that a service can start with a configuration: its certificate, and its database. Serves nothing, ends no
    /// session and changes nothing. Returns the steps by which a start would change the tables of the database.
    ///
    /// # Errors
    ///
    /// As [`Server::start`], except for the address.
    pub async fn check(config: &ServerConfig) -> Result<Vec<&'static str>> {
        config.check()?;
        config.tls.as_ref().map(TlsIdentity::new).transpose()?;
        match &config.database {
            Some(url) => Database::check(url).await,
            None => Database::check_in(&config.state).await,
        }
    }

    /// Returns the address, with the port that the system chose for port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.identity.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Creates the first key of the service, an administrator's. Returns `None` if there are keys already.
    ///
    /// # Errors
    ///
    /// When the database cannot store it.
    pub async fn first_key(&self) -> Result<Option<NewApiKey>> {
        match self.service.database.has_keys().await? {
            true => Ok(None),
            false => self.new_admin_key("first key").await.map(Some),
        }
    }

    /// Creates a key of an administrator.
    ///
    /// # Errors
    ///
    /// When the database cannot store it.
    pub async fn new_admin_key(&self, label: &str) -> Result<NewApiKey> {
        let tenant = self.service.config().default_tenant.clone();
        let (row, key) = self.service.create_key(&tenant, Role::Admin, label).await?;
        Ok(NewApiKey { id: row.id, key })
    }

    /// Uses another configuration from now on, and reads the certificate again. The address, the directory and the
    /// database stay as they are, and a service without TLS stays without.
    ///
    /// # Errors
    ///
    /// When the configuration or the certificate is invalid; the previous ones are used then.
    pub fn reload(&self, config: ServerConfig) -> Result<()> {
        config.check()?;
        match (&self.identity, &config.tls) {
            (Some(identity), Some(files)) => identity.replace(files)?,
            (None, None) => {}
            _ => {
                let sentence = "`tls` cannot be added or removed while the service runs";
                return Err(Error::new(ErrorKind::Unsupported, sentence).hint("start the service again"));
            }
        }
        self.service.reload(config)
    }

    /// Waits until the server ends, which it does only on an error.
    ///
    /// # Errors
    ///
    /// When the server can no longer listen.
    pub async fn ended(self) -> Result<()> {
        finished(self.serving.await)
    }

    /// Stops listening, waits for the calls in progress, and leaves the sessions running.
    ///
    /// # Errors
    ///
    /// As [`Server::ended`].
    pub async fn stop(self) -> Result<()> {
        self.stop.cancel();
        let mut serving = self.serving;
        let ended = match tokio::time::timeout(GRACE, &mut serving).await {
            Ok(ended) => finished(ended),
            // A client that neither reads nor disconnects is not waited for.
            Err(_) => {
                serving.abort();
                Ok(())
            }
        };
        let _ = tokio::time::timeout(GRACE, self.service.end_spares()).await;
        match self.service.events.settle().await {
            Ok(()) => self.service.database.forget_writer(&self.service.writer).await?,
            Err(error) => tracing::error!(%error, events = self.service.events.waiting(), "events are lost"),
        }
        self.service.traces.end().await;
        self.service.database.close().await;
        ended
    }
}

fn finished(ended: Result<(), tokio::task::JoinError>) -> Result<()> {
    ended.map_err(|failed| Error::new(ErrorKind::Io, "the server can no longer listen").with_source(failed))
}

/// Returns all routes.
fn router(service: &Arc<Service>) -> Router {
    let (v1, description) = v1::routes();
    let authenticated = v1
        .merge(sandboxd::routes())
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(Arc::clone(service), operations::stored_before_answered))
        .layer(middleware::from_fn_with_state(Arc::clone(service), authenticate));
    let routes = authenticated
        .merge(operations::routes(description))
        .merge(api_page::routes())
        .merge(dashboard::routes())
        .merge(e2b::routes(service))
        .merge(sandboxd::open_routes())
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method);
    sandboxd::translating(routes)
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(middleware::from_fn_with_state(e2b::EnvdGate::new(service), e2b::divert))
        .layer(middleware::from_fn_with_state(Arc::clone(service), operations::within_deadlines))
        .layer(middleware::from_fn_with_state(Arc::clone(service), operations::with_request_id))
        .layer(middleware::from_fn(operations::told_of_unread_bodies))
        .with_state(Arc::clone(service))
}
