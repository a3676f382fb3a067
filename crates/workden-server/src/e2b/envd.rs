//! Calls to a sandbox: how they are told from other calls, who may make them, and what they share.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, FromRequestParts, Query, Request, State},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use tokio::sync::Semaphore;
use tower::ServiceExt;
use workden::{Error, ErrorKind, Result, VirtualPath, Workspace};

use super::{
    connect::RpcError,
    control::HOME,
    failure::E2bFailure,
    files, filesystem,
    interpreter::{self, CONTEXTS, INTERPRETER},
    process,
    signature::{SignatureFault, SignedQuery},
    target::{CallTarget, ENVD},
};
use crate::{
    clock::Moment,
    database::SessionQuery,
    events::CallRecorder,
    identity::{Principal, key_in},
    operations::stored_before_answered,
    ports::{self, Place, PortAddress, PortVisit},
    service::Service,
    sessions::LiveSession,
};

/// The largest call that is not a file.
pub(super) const CALL_BYTES: usize = 8 << 20;
/// The only user of a sandbox.
const USER: &str = "user";
/// How many sessions are read at a time to find the sandbox of a signature.
const PAGE: i64 = 500;
const SEARCHES: usize = 2;

/// Serves the calls to sandboxes.
#[derive(Debug)]
pub(crate) struct EnvdGate {
    service: Arc<Service>,
    router: Router,
    interpreter: Router,
    /// How many calls may look for the sandbox of a signature at a time: they need no token, and look at all sandboxes.
    searches: Semaphore,
}

impl EnvdGate {
    pub(crate) fn new(service: &Arc<Service>) -> Arc<Self> {
        let router = Router::new()
            .route("/health", get(health))
            .route("/files", get(files::read).post(files::write).layer(DefaultBodyLimit::disable()))
            .route("/filesystem.Filesystem/{method}", post(filesystem::call))
            .route("/process.Process/{method}", post(process::call))
            .fallback(async || E2bFailure::new(StatusCode::NOT_FOUND, "path not found"))
            .layer(middleware::from_fn_with_state(Arc::clone(service), stored_before_answered))
            .layer(DefaultBodyLimit::max(CALL_BYTES))
            .with_state(Arc::clone(service));
        let (interpreter, searches) = (interpreter::router(service), Semaphore::new(SEARCHES));
        Arc::new(Self { service: Arc::clone(service), router, interpreter, searches })
    }

    async fn serve(&self, target: CallTarget, parts: Parts, body: Body) -> Response {
        let is_rpc = ["/filesystem.", "/process."].iter().any(|service| parts.uri.path().starts_with(service));
        let (router, call) = match target.port {
            ENVD => (&self.router, self.call(&target, &parts).await),
            INTERPRETER if parts.uri.path().starts_with(CONTEXTS) => {
                let visit = match self.visit(&target, &parts).await {
                    Ok(Ok(visit)) => visit,
                    Ok(Err(answer)) => return answer,
                    Err(refused) => return refused.into_response(),
                };
                (&self.interpreter, Ok(EnvdCall::new(&self.service, visit.live, visit.principal)))
            }
            INTERPRETER => (&self.interpreter, self.call(&target, &parts).await),
            _ => {
                let served = self.serve_port(&target, parts, body).await;
                return served.unwrap_or_else(IntoResponse::into_response);
            }
        };
        match call {
            Ok(call) => {
                let mut request = Request::from_parts(parts, body);
                request.extensions_mut().insert(call);
                match router.clone().oneshot(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            }
            Err(refused) if is_rpc && refused.status == StatusCode::UNAUTHORIZED => {
                RpcError::unauthenticated(refused.message).into_response()
            }
            Err(refused) => refused.into_response(),
        }
    }

    /// Returns the visit of a caller at a port, or the answer that makes one of it.
    async fn visit(&self, target: &CallTarget, parts: &Parts) -> Result<Result<PortVisit, Response>, E2bFailure> {
        let address = PortAddress { session: target.sandbox.clone(), port: target.port };
        self.service.visit(&address, parts).await.map_err(|refused| match refused.error.kind() {
            ErrorKind::NotFound | ErrorKind::Gone => E2bFailure::gone(&target.sandbox),
            // A visitor who may reach the port learns that the session is paused.
            _ => refused.into(),
        })
    }

    /// Forwards a request to a server in a sandbox.
    async fn serve_port(&self, target: &CallTarget, parts: Parts, body: Body) -> Result<Response, E2bFailure> {
        let visit = match self.visit(target, &parts).await? {
            Ok(visit) => visit,
            Err(answer) => return Ok(answer),
        };
        let request = Request::from_parts(parts, body);
        ports::forward(&self.service, &visit, &Place::HostName, request).await.map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidArgument => E2bFailure::closed(target.port),
            _ => error.into(),
        })
    }

    /// Finds the sandbox of a call. One that the caller may not use is reported as missing.
    async fn call(&self, target: &CallTarget, parts: &Parts) -> Result<EnvdCall, E2bFailure> {
        let principal = self.caller(target, parts).await?;
        let live = match self.service.session(&principal, &target.sandbox).await {
            Ok(live) => live,
            Err(error) => {
                return Err(match error.error.kind() {
                    ErrorKind::NotFound | ErrorKind::Conflict | ErrorKind::Gone => E2bFailure::gone(&target.sandbox),
                    _ => error.into(),
                });
            }
        };
        Ok(EnvdCall::new(&self.service, live, principal))
    }

    async fn caller(&self, target: &CallTarget, parts: &Parts) -> Result<Principal, E2bFailure> {
        let key = match (key_in(&parts.headers), signed(parts)) {
            (None, Some(query)) => {
                let token = self.service.secret.session_token(&target.sandbox);
                query.check(&parts.method, &token, Moment::now()).map_err(unsigned)?;
                Some(token)
            }
            (key, _) => key.map(str::to_owned),
        };
        if let Some(named) = key.as_deref().and_then(|key| self.service.secret.session_of(key))
            && self.service.database.session(named).await?.is_none()
        {
            // The token was valid, and its sandbox has ended.
            return Err(E2bFailure::gone(&target.sandbox));
        }
        self.service.admit(key.as_deref(), &parts.headers).await.map_err(|refused| match refused.status {
            StatusCode::UNAUTHORIZED => E2bFailure::new(StatusCode::UNAUTHORIZED, "missing or invalid access token"),
            _ => refused.into(),
        })
    }

    /// Finds the sandbox whose token signed a URL, which names none.
    async fn signer(&self, parts: &Parts) -> Option<Result<CallTarget, E2bFailure>> {
        let query = signed(parts)?;
        // It is never closed.
        let _turn = self.searches.acquire().await;
        let mut page = SessionQuery { state: Some("running".to_owned()), limit: PAGE, ..SessionQuery::default() };
        loop {
            let rows = match self.service.database.sessions(&page).await {
                Ok(rows) => rows,
                Err(error) => return Some(Err(error.into())),
            };
            for row in &rows {
                let token = self.service.secret.session_token(&row.id);
                match query.check(&parts.method, &token, Moment::now()) {
                    Ok(()) => return Some(Ok(CallTarget { sandbox: row.id.clone(), port: ENVD })),
                    Err(SignatureFault::Expired) => return Some(Err(unsigned(SignatureFault::Expired))),
                    Err(SignatureFault::Invalid) => {}
                }
            }
            match rows.last() {
                Some(last) => page.after.clone_from(&last.id),
                None => return Some(Err(unsigned(SignatureFault::Invalid))),
            }
        }
    }
}

fn unsigned(fault: SignatureFault) -> E2bFailure {
    E2bFailure::new(StatusCode::UNAUTHORIZED, fault.sentence())
}

/// Returns the query of a signed URL of a file.
fn signed(parts: &Parts) -> Option<SignedQuery> {
    let is_file = parts.uri.path() == "/files";
    let query = Query::<SignedQuery>::try_from_uri(&parts.uri).ok().filter(|_| is_file)?;
    query.is_signed().then_some(query.0)
}

/// Takes the calls to sandboxes out of all calls.
pub(crate) async fn divert(State(gate): State<Arc<EnvdGate>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let target = match CallTarget::of(&parts.headers, &parts.uri) {
        Some(target) => Some(Ok(target)),
        None => gate.signer(&parts).await,
    };
    match target {
        None => next.run(Request::from_parts(parts, body)).await,
        Some(Ok(target)) => gate.serve(target, parts, body).await,
        Some(Err(refused)) => refused.into_response(),
    }
}

async fn health() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// A call to a sandbox.
#[derive(Clone, Debug)]
pub(super) struct EnvdCall {
    service: Arc<Service>,
    pub(super) live: Arc<LiveSession>,
    pub(super) workspace: Workspace,
    principal: Principal,
}

impl<S: Sync> FromRequestParts<S> for EnvdCall {
    type Rejection = E2bFailure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, E2bFailure> {
        let missing = || E2bFailure::new(StatusCode::UNAUTHORIZED, "missing or invalid access token");
        parts.extensions.get::<Self>().cloned().ok_or_else(missing)
    }
}

impl EnvdCall {
    fn new(service: &Arc<Service>, live: Arc<LiveSession>, principal: Principal) -> Self {
        let workspace = live.workspace(service, &principal);
        Self { service: Arc::clone(service), live, workspace, principal }
    }

    /// Returns the recorder of what the caller does.
    pub(super) fn recorder(&self) -> CallRecorder {
        self.service.recorder(&self.live.id, &self.live.tenant, &self.principal)
    }

    /// Whether the sandbox is still the one that this call found: it was neither ended nor paused since.
    pub(super) fn is_current(&self) -> bool {
        self.service.live(&self.live.id).is_some_and(|live| Arc::ptr_eq(&live, &self.live))
    }

    /// Returns where relative paths start: the home of the user.
    pub(super) async fn home(&self) -> Result<VirtualPath> {
        self.workspace.working_directory().await
    }

    /// Returns the path that a client means. Every sandbox has the home `/home/user` for it.
    pub(super) async fn path(&self, typed: &str) -> Result<VirtualPath> {
        path_from(&self.home().await?, typed)
    }
}

fn path_from(home: &VirtualPath, typed: &str) -> Result<VirtualPath> {
    let below = [HOME, "~"]
        .into_iter()
        .find_map(|prefix| typed.strip_prefix(prefix).filter(|below| below.is_empty() || below.starts_with('/')));
    match below {
        Some(below) => VirtualPath::parse_from(home, below.trim_start_matches('/')),
        None => VirtualPath::parse_from(home, typed),
    }
}

/// Refuses every user but the one that a sandbox has.
pub(super) fn check_user(name: &str) -> Result<()> {
    match name {
        "" | USER => Ok(()),
        _ => Err(Error::new(ErrorKind::Denied, format!("invalid username: '{}'", name.escape_debug()))
            .hint("commands and files belong to `user`; there is no `root` and no sudo")),
    }
}

/// Returns the user of a call that names one in its `Authorization`.
pub(super) fn user_of(headers: &HeaderMap) -> String {
    let basic = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Basic "));
    let decoded = basic.and_then(|text| BASE64_STANDARD.decode(text.trim()).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded).into_owned();
    text.split(':').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_home_is_the_home_of_the_sandbox() {
        let home = VirtualPath::parse("/workspace").unwrap();
        for (typed, expected) in [
            ("", "/workspace"),
            ("a/b", "/workspace/a/b"),
            ("~", "/workspace"),
            ("~/a", "/workspace/a"),
            ("~a", "/workspace/~a"),
            ("/home/user", "/workspace"),
            ("/home/user/a", "/workspace/a"),
            ("/home/agent", "/home/agent"),
            ("/tmp/x", "/tmp/x"),
        ] {
            assert_eq!(path_from(&home, typed).unwrap().as_str(), expected, "{typed}");
        }
        assert!(path_from(&home, "../../..").is_err());
    }
}
