//! One call from a client: held within its quota, carried out, asked about, reported on, and dropped when the client
//! cancels it, which ends the command that it runs.

use std::{sync::Arc, time::Duration};

use axum::http::request::Parts;
use rmcp::{
    ErrorData, RoleServer,
    model::{ErrorCode, InputRequiredResult, InputResponses, ProtocolVersion},
    service::RequestContext,
};
use tokio_util::sync::CancellationToken;
use workden::policy::approvals::ApprovalMemory;

use crate::{
    approvals::{ASKING, AskVia, Asking, CallDigest, PendingQuestion, RoundTrip, StateSeal, shows_forms},
    limits::CALLS,
    progress::ProgressQueue,
    quota::{HeldBytes, IncomingBytes, Quota},
};

/// A call as it came in.
#[derive(Debug)]
pub(crate) struct ClientCall {
    pub(crate) context: RequestContext<RoleServer>,
    pub(crate) digest: CallDigest,
    pub(crate) retry: RetryInput,
    pub(crate) questions: Questions,
    /// Where the approvals of the agent's user are remembered.
    pub(crate) remembered: Arc<ApprovalMemory>,
    pub(crate) progress: Option<ProgressQueue>,
    /// The quota of the server, with the share of the client.
    pub(crate) quota: Quota,
    /// Cancelled when the server stops.
    pub(crate) stopped: CancellationToken,
}

/// The input of a client that repeats a call.
#[derive(Debug, Default)]
pub(crate) struct RetryInput {
    pub(crate) state: Option<String>,
    pub(crate) responses: Option<InputResponses>,
}

/// Whether a call may ask for approval.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Questions {
    /// It may, and waits this long for an answer.
    Asked(Duration),
    /// It may not; the sentence says what to do instead.
    Refused(&'static str),
}

/// How a call ended.
#[derive(Debug)]
pub(crate) enum CallEnd<T> {
    Done(T),
    /// With a question to the client's user.
    InputRequired(InputRequiredResult),
}

impl ClientCall {
    /// Carries out the call.
    ///
    /// # Errors
    ///
    /// When the server is at capacity; or when the client cancelled the call or the server stops, and the error is
    /// not read any more.
    pub(crate) async fn run<T>(self, seal: &StateSeal, work: impl Future<Output = T>) -> Result<CallEnd<T>, ErrorData> {
        let _held = self.held().ok_or_else(at_capacity)?;
        let permit = Arc::new(self.quota.permit());
        let (via, question) = self.ask_via(seal);
        let Self { context, digest, remembered, progress, stopped, .. } = self;
        let asking = Asking { via, permit: Arc::clone(&permit), remembered };
        let peer = context.peer.clone();
        let running = async {
            permit.acquire().await;
            let forward = async {
                if let Some(progress) = progress {
                    progress.forward_to(peer).await;
                }
                std::future::pending().await
            };
            tokio::select! {
                done = ASKING.scope(asking, work) => Ok(CallEnd::Done(done)),
                required = input_required(question, seal, &digest) => required.map(CallEnd::InputRequired),
                never = forward => never,
            }
        };
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the client cancelled the call", None)),
            () = stopped.cancelled() => Err(ErrorData::internal_error("the server is stopping", None)),
            ended = running => ended,
        }
    }

    /// Holds the bytes of the call, unless its transport holds them.
    fn held(&self) -> Option<HeldBytes> {
        let extensions = &self.context.extensions;
        if let Some(held) = extensions.get::<HeldBytes>() {
            return Some(held.clone());
        }
        let incoming = extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<IncomingBytes>());
        self.quota.try_hold(incoming)
    }

    /// Decides how the client is asked.
    fn ask_via(&self, seal: &StateSeal) -> (AskVia, Option<(Arc<RoundTrip>, PendingQuestion)>) {
        let timeout = match self.questions {
            Questions::Refused(how) => return (AskVia::Nothing(how), None),
            Questions::Asked(_) if !shows_forms(self.context.client_capabilities().as_ref()) => {
                return (AskVia::Unable, None);
            }
            Questions::Asked(timeout) => timeout,
        };
        // Revisions are dates, whose text sorts as they do.
        let by_round_trip = self
            .context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if !by_round_trip {
            return (AskVia::Elicitation { peer: self.context.peer.clone(), timeout }, None);
        }
        let RetryInput { state, responses } = &self.retry;
        let (round, question) = RoundTrip::new(seal, &self.digest, state.as_deref(), responses.as_ref());
        (AskVia::RoundTrip(Arc::clone(&round)), Some((round, question)))
    }
}

/// Waits for the question of a round and returns it as a result; forever without a round.
async fn input_required(
    round: Option<(Arc<RoundTrip>, PendingQuestion)>,
    seal: &StateSeal,
    digest: &CallDigest,
) -> Result<InputRequiredResult, ErrorData> {
    let Some((round, mut question)) = round else { return std::future::pending().await };
    let request = question.asked().await;
    round.input_required(seal, digest, &request).ok_or_else(|| {
        ErrorData::internal_error("cannot ask: the system has no random numbers to seal the state", None)
    })
}

/// The error of a call that exceeds the quota of its client or of the server.
pub(crate) fn at_capacity() -> ErrorData {
    let text = format!("server at capacity ({CALLS} calls running, or too many bytes in open calls); retry later");
    ErrorData::new(ErrorCode(-32000), text, None)
}
