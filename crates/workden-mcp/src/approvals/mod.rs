//! Approvals: the person behind the client is asked.
//!
//! A workspace built with [`approvals`] asks the client of the call that needs approval: by elicitation, a request
//! of the server in the middle of the call, or, from the revision of 2026-07-28 on, by a result that says which
//! input is required, with which the client repeats the call. An answer that covers the whole session is
//! remembered for the agent whose user gave it, and for no other. A workspace whose configuration approves or
//! refuses everything does not ask: its configuration is not the client's to change.

mod question;
mod request_state;
mod round_trip;

use std::{future::Future, sync::Arc, time::Duration};

use question::Reply;
pub(crate) use request_state::{CallDigest, StateSeal};
use rmcp::{
    Peer, RoleServer, ServiceError,
    model::{ClientCapabilities, ClientResult, ElicitRequest, ServerRequest},
    service::PeerRequestOptions,
};
pub(crate) use round_trip::{PendingQuestion, RoundTrip};
use workden::{Approvals, Decision, Scope, core::ApprovalRequest, policy::approvals::ApprovalMemory};

use crate::quota::Permit;

/// The refusal where a client cannot ask its user.
pub(crate) const CANNOT_ASK: &str = "this MCP client cannot be asked for approval; go on without it, or tell the user that \
                                     it takes a client with elicitation, a policy that allows it, or a server that was \
                                     started with `--yes`";

tokio::task_local! {
    /// How the call that this task carries out asks for approval.
    pub(crate) static ASKING: Asking;
}

/// How a call asks for approval.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) via: AskVia,
    /// Released while a person is asked.
    pub(crate) permit: Arc<Permit>,
    /// The answers of the agent's user that cover later calls.
    pub(crate) remembered: Arc<ApprovalMemory>,
}

/// The way a question takes to the client.
#[derive(Clone, Debug)]
pub(crate) enum AskVia {
    /// A request to the client in the middle of the call.
    Elicitation { peer: Peer<RoleServer>, timeout: Duration },
    /// The result of the call, after which the client repeats it.
    RoundTrip(Arc<RoundTrip>),
    /// None: the client cannot ask its user.
    Unable,
    /// None: the call may not ask; the sentence says what to do instead.
    Nothing(&'static str),
}

/// Whether the person behind an MCP client is asked, by [`approvals_or`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientQuestions {
    /// First, if the client can ask.
    Asked,
    /// Never: the client is the agent itself.
    Never,
}

impl AskVia {
    async fn ask(self, request: ApprovalRequest, permit: &Permit) -> Decision {
        match self {
            Self::Elicitation { peer, timeout } => without(permit, elicit(&peer, &request, timeout)).await,
            Self::RoundTrip(round_trip) => round_trip.ask(request).await,
            Self::Unable => Decision::unanswered(CANNOT_ASK, &request),
            Self::Nothing(how) => Decision::unanswered(how, &request),
        }
    }
}

/// Waits for a person, without the permit of the call meanwhile.
async fn without<T>(permit: &Permit, answer: impl Future<Output = T>) -> T {
    permit.release();
    let answer = answer.await;
    permit.acquire().await;
    answer
}

/// Returns approvals that ask the person behind the MCP client of the call. Give them to the workspace that is
/// served. A call that does not come from an MCP client is refused. Remembered answers are kept per agent, not in
/// the memory of the workspace.
#[must_use]
pub fn approvals() -> Approvals {
    Approvals::asking_later(|request| async move {
        let Ok(asking) = ASKING.try_with(Asking::clone) else {
            let how = "the call does not come from an MCP client that could be asked".to_owned();
            return Decision::Unanswered { how };
        };
        asking.remembering(request, async |asking, request| asking.via.ask(request, &asking.permit).await).await
    })
}

/// Returns approvals as [`approvals`] does, which ask `otherwise` where the client of the call cannot ask its user or
/// is not to be asked.
pub fn approvals_or<F>(
    client: ClientQuestions,
    otherwise: impl Fn(ApprovalRequest) -> F + Clone + Send + Sync + 'static,
) -> Approvals
where
    F: Future<Output = Decision> + Send + 'static,
{
    Approvals::asking_later(move |request| {
        let otherwise = otherwise.clone();
        async move {
            let Ok(asking) = ASKING.try_with(Asking::clone) else { return otherwise(request).await };
            let ask = async |Asking { via, permit, .. }: Asking, request| match (&via, client) {
                (AskVia::Unable, _) | (AskVia::Elicitation { .. } | AskVia::RoundTrip(_), ClientQuestions::Never) => {
                    without(&permit, otherwise(request)).await
                }
                (AskVia::Nothing(_), _) | (_, ClientQuestions::Asked) => via.ask(request, &permit).await,
            };
            asking.remembering(request, ask).await
        }
    })
}

impl Asking {
    /// Asks, unless an earlier answer covers the request, and keeps an answer that covers later calls.
    async fn remembering(
        self,
        request: ApprovalRequest,
        ask: impl AsyncFnOnce(Self, ApprovalRequest) -> Decision,
    ) -> Decision {
        let remembered = Arc::clone(&self.remembered);
        if remembered.covers(&request) {
            return Decision::Approve(Scope::Once);
        }
        match ask(self, request.clone()).await {
            // The workspace serves every agent, and its memory would hold for all of them.
            Decision::Approve(scope) => {
                remembered.remember(&request, scope);
                Decision::Approve(Scope::Once)
            }
            decision => decision,
        }
    }
}

/// Whether a client shows forms to its user.
pub(crate) fn shows_forms(client: Option<&ClientCapabilities>) -> bool {
    // A client that names no mode means forms: older revisions have no other.
    client
        .and_then(|client| client.elicitation.as_ref())
        .is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

async fn elicit(peer: &Peer<RoleServer>, request: &ApprovalRequest, timeout: Duration) -> Decision {
    let form = ServerRequest::ElicitRequest(ElicitRequest::new(question::form(request, "until this session ends")));
    let answer = async {
        let sent = peer.send_request_with_option(form, PeerRequestOptions::with_timeout(timeout)).await?;
        sent.await_response().await
    };
    match answer.await {
        Ok(ClientResult::ElicitResult(answer)) => Reply::of(&answer).decision(request),
        Ok(_) => Decision::Unanswered { how: format!("the client sent an unexpected answer; {CANNOT_ASK}") },
        Err(ServiceError::McpError(error)) => {
            tracing::warn!(%error, "the client refused to ask its user");
            Decision::unanswered(CANNOT_ASK, request)
        }
        Err(ServiceError::Timeout { .. }) => {
            let how =
                format!("the question timed out after {} s; go on without it, or tell the user", timeout.as_secs());
            Decision::Unanswered { how }
        }
        Err(error) => {
            tracing::warn!(%error, "the client could not be asked");
            Decision::Unanswered { how: "the client has disconnected and could not be asked".to_owned() }
        }
    }
}
