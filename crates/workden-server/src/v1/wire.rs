//! `/v1/sessions/{id}/wire`: the wire of workden over a websocket, so that a session is a sandbox in another program.
//!
//! Invariant: the client gets the session behind its policy, as every other route does, and can neither stop its
//! sandbox nor keep a process after its connection.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, extract::Request, response::Response};
use hyper_util::rt::TokioIo;
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::{BackendExt, Error, ErrorKind, Result, Sandbox};
use workden_core::{forward_backend, forward_sandbox};
use workden_wire::{MessageStream, ServeOptions, websocket_answer};

use super::session::{NamedSession, OpenSession};
use crate::{
    api_error::{ApiError, ApiErrorBody},
    events::EventLog,
    service::{Answer, Service},
};

/// How long a client may be silent before it is asked for a sign of life, and how long it may take to give one.
const HEARTBEAT: Duration = Duration::from_secs(30);

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(wire))
}

/// The commands and files of a session behind its policy, for a client that did not start it. A call that may change
/// something is answered after its events are stored, as on every other route.
#[derive(Debug)]
struct SharedSandbox {
    guarded: Arc<dyn Sandbox>,
    events: Arc<EventLog>,
}

impl SharedSandbox {
    async fn stored<T>(&self, answer: Result<T>) -> Result<T> {
        let stored = self.events.settle().await;
        answer.and_then(|answer| stored.map(|()| answer))
    }
}

forward_backend! {
    impl[] for SharedSandbox;
    looks: [|this| &this.guarded, |answer| answer],
    changes: [|this| &this.guarded, |answer| this.stored(answer).await],
    host_files: own
}

forward_sandbox! {
    impl[] for SharedSandbox;
    looks: [|this| &this.guarded, |answer| answer],
    changes: [|this| &this.guarded, |answer| this.stored(answer).await],
    forward: [execute spawn start_job jobs read_job kill_job connect_port watch usage isolation directory],
    {
        async fn stop(&self) -> Result<()> {
            Err(Error::new(ErrorKind::Unsupported, "`stop` is not supported with a session of a service")
                .hint("delete the session instead: `DELETE /v1/sessions/{id}`"))
        }
    }
}

/// Use a session as a sandbox
///
/// A websocket whose binary messages carry the wire of workden, HTTP/2. `workden run --remote` and `ServiceSandbox` in
/// Rust are its clients. A process that was started here ends with the connection.
#[utoipa::path(get, operation_id = "open_wire", path = "/v1/sessions/{id}/wire", tag = "sessions", params(NamedSession),
    responses(
        (status = 101, description = "A websocket"),
        (status = 400, description = "The request does not ask for a websocket", body = ApiErrorBody),
        (status = 404, description = "There is none that you may use", body = ApiErrorBody),
    ))]
pub(super) async fn wire(session: OpenSession, mut request: Request) -> Answer<Response> {
    let answer = websocket_answer(&head(&request)).ok_or_else(|| {
        ApiError::invalid("the request does not ask for a websocket").hint("connect with `workden run --remote URL`")
    })?;
    let upgrade = hyper::upgrade::on(&mut request);
    let guarded: Arc<dyn Sandbox> = Arc::new(session.workspace().commands()?.clone());
    let (in_use, shared) =
        (session.begin_use(), SharedSandbox { guarded, events: Arc::clone(&session.service.events) });
    session.service.tasks.spawn(async move {
        let _in_use = in_use;
        // A client that is gone before its answer is not an error.
        let Ok(stream) = upgrade.await else { return };
        let stream = MessageStream::agreed(TokioIo::new(stream)).await;
        let options = ServeOptions::default().heartbeat(HEARTBEAT);
        if let Err(error) = workden_wire::serve(Arc::new(shared), stream, options).await {
            tracing::debug!(%error, "a client of a session ended");
        }
    });
    Ok(answer.map(|()| Body::empty()))
}

/// Returns the head of a request, which alone decides about a websocket.
fn head(request: &Request) -> axum::http::Request<()> {
    let mut head = axum::http::Request::new(());
    *head.method_mut() = request.method().clone();
    *head.version_mut() = request.version();
    *head.headers_mut() = request.headers().clone();
    head
}
