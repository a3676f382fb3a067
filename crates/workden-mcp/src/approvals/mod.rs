//! Approvals: the person behind the client is asked.
//!
//! [`approvals`] is who a workspace asks. It finds out of the call that is being made how its client
//! can be asked: by elicitation, a request of the server in the middle of the call, or, from the
//! revision of 2026-07-28 on, by an answer that says what input is required, with which the client
//! makes the call again. What is not to be asked again is remembered for the agent who was asked, and
//! for no other. A workspace whose configuration approves or refuses everything does not get
//! here: what a configuration says is not the client's to change.

mod question;
mod rounds;
mod sealing;

use std::{sync::Arc, time::Duration};

pub(crate) use question::Reply;
use rmcp::{
    Peer, RoleServer, ServiceError,
    model::{ClientCapabilities, ClientResult, ElicitRequest, ServerRequest},
    service::PeerRequestOptions,
};
pub(crate) use rounds::{Asked, Rounds};
pub(crate) use sealing::{Sealing, Subject};
use workden::{Approvals, Decision, Scope, core::ApprovalRequest, policy::approvals::ApprovalMemory};

use crate::room::Turn;

/// What can be done where nobody can be asked.
pub(crate) const UNABLE: &str = "this MCP client cannot be asked for approval; go on without it, or tell the user that it takes a \
                      client with elicitation, a policy that allows it, or a server that was started with `--yes`";

tokio::task_local! {
    /// How the client of the call that this task carries out is asked.
    static WAY: Way;
    /// What the agent whose call it is need not ask again.
    static REMEMBERED: Arc<ApprovalMemory>;
}

/// Carries out a call of an agent, who remembers there what is not to be asked again.
pub(crate) async fn remembering_in<T>(memory: &Arc<ApprovalMemory>, call: impl Future<Output = T>) -> T {
    REMEMBERED.scope(Arc::clone(memory), call).await
}

/// How a client is asked.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// By a request to it, in the middle of the call, whose turn is others' meanwhile.
    Elicit { peer: Peer<RoleServer>, turn: Arc<Turn>, time: Duration },
    /// By the answer to the call, with which it comes back.
    Rounds(Arc<Rounds>),
    /// Not at all, and this is what can be done.
    Unable(&'static str),
}

impl Way {
    /// Carries out a call whose questions are asked in this way.
    pub(crate) async fn during<T>(self, call: impl Future<Output = T>) -> T {
        WAY.scope(self, call).await
    }

    async fn ask(self, request: ApprovalRequest) -> Decision {
        match self {
            Self::Elicit { peer, turn, time } => {
                turn.give_back();
                let decision = elicit(&peer, &request, time).await;
                turn.take().await;
                decision
            }
            Self::Rounds(rounds) => rounds.ask(request).await,
            Self::Unable(how) => Decision::Unanswered { how: how.to_owned() },
        }
    }
}

/// Approvals that ask the person behind the MCP client whose call it is. Give them to the workspace
/// that is served; other calls than those of an MCP client have nobody to ask. What is not to be asked
/// again is so for the agent who was asked, and not in the memory of the workspace.
#[must_use]
pub fn approvals() -> Approvals {
    Approvals::asking_later(|request| async move {
        let (Ok(way), Ok(memory)) = (WAY.try_with(Way::clone), REMEMBERED.try_with(Arc::clone)) else {
            let how = "it was no call of an MCP client, so that nobody is asked".to_owned();
            return Decision::Unanswered { how };
        };
        if memory.covers(&request) {
            return Decision::Approve(Scope::Once);
        }
        match way.ask(request.clone()).await {
            // The workspace is every agent's, and what it remembers holds for all of them.
            Decision::Approve(scope) => {
                memory.remember(&request, scope);
                Decision::Approve(Scope::Once)
            }
            decision => decision,
        }
    })
}

/// Whether a client shows forms to its user.
pub(crate) fn shows_forms(client: Option<&ClientCapabilities>) -> bool {
    // Who names no mode means forms: there was nothing else once.
    client
        .and_then(|client| client.elicitation.as_ref())
        .is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

async fn elicit(peer: &Peer<RoleServer>, request: &ApprovalRequest, time: Duration) -> Decision {
    let form = ServerRequest::ElicitRequest(ElicitRequest::new(question::form(request, "until this session ends")));
    let answer = async {
        let asked = peer.send_request_with_option(form, PeerRequestOptions::with_timeout(time)).await?;
        asked.await_response().await
    };
    match answer.await {
        Ok(ClientResult::ElicitResult(answer)) => Reply::of(&answer).decision(),
        Ok(_) => Decision::Unanswered { how: format!("the client answered something else; {UNABLE}") },
        Err(ServiceError::McpError(error)) => {
            tracing::warn!(%error, "the client refused to ask its user");
            Decision::Unanswered { how: UNABLE.to_owned() }
        }
        Err(ServiceError::Timeout { .. }) => {
            let how = format!("nobody answered within {} s; go on without it, or tell the user", time.as_secs());
            Decision::Unanswered { how }
        }
        Err(error) => {
            tracing::warn!(%error, "the client could not be asked");
            Decision::Unanswered { how: "the client is gone, and nobody could be asked".to_owned() }
        }
    }
}
