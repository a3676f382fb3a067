//! One call from a client: carried out, asked about, reported on, and dropped when the client no
//! longer wants it, which ends the command that it runs.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer,
    model::{InputRequiredResult, InputResponses, ProtocolVersion},
    service::RequestContext,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    approvals::{Asked, Rounds, Sealing, Subject, Way, shows_forms},
    limits::CALLS,
    progress::News,
};

/// What all calls of a server share.
#[derive(Debug)]
pub(crate) struct Calls {
    sealing: Sealing,
    room: Semaphore,
}

impl Default for Calls {
    fn default() -> Self {
        Self { sealing: Sealing::default(), room: Semaphore::new(CALLS) }
    }
}

/// What a client brought along from an earlier round of a call.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    pub(crate) state: Option<String>,
    pub(crate) responses: Option<InputResponses>,
}

/// A call, as it came in.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) context: RequestContext<RoleServer>,
    /// What is called, and with what.
    pub(crate) subject: Subject,
    pub(crate) brought: Brought,
    /// The end of the server, whose calls end with it.
    pub(crate) stopped: CancellationToken,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) enum Ended<T> {
    /// By itself.
    Done(T),
    /// With a question to the client's user.
    Asks(InputRequiredResult),
}

impl Calls {
    /// Carries out a call.
    ///
    /// # Errors
    ///
    /// When the client cancelled it, or the server stops; nobody reads that any more.
    pub(crate) async fn make<T>(
        &self,
        request: Request,
        news: Option<News>,
        call: impl Future<Output = T>,
    ) -> Result<Ended<T>, ErrorData> {
        let Request { context, subject, brought, stopped } = request;
        let (way, rounds) = self.way(&context, &subject, &brought);
        let peer = context.peer.clone();
        let made = async {
            // Never closed, so that there is always a permit in the end.
            let _permit = self.room.acquire().await;
            let tell = async {
                if let Some(news) = news {
                    news.send_to(peer).await;
                }
                std::future::pending().await
            };
            tokio::select! {
                done = way.during(call) => Ok(Ended::Done(done)),
                required = self.question(rounds, &subject) => required.map(Ended::Asks),
                never = tell => never,
            }
        };
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the client cancelled the call", None)),
            () = stopped.cancelled() => Err(ErrorData::internal_error("the server stops", None)),
            ended = made => ended,
        }
    }

    /// How the client of a call is asked.
    fn way(
        &self,
        context: &RequestContext<RoleServer>,
        subject: &Subject,
        brought: &Brought,
    ) -> (Way, Option<(Arc<Rounds>, Asked)>) {
        if !shows_forms(context.client_capabilities().as_ref()) {
            return (Way::Unable, None);
        }
        // Revisions are dates, and are ordered as their text is.
        let by_rounds = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if by_rounds {
            let state = brought.state.as_deref();
            let (rounds, asked) = Rounds::new(&self.sealing, subject, state, brought.responses.as_ref());
            (Way::Rounds(Arc::clone(&rounds)), Some((rounds, asked)))
        } else {
            (Way::Elicit(context.peer.clone()), None)
        }
    }

    async fn question(
        &self,
        rounds: Option<(Arc<Rounds>, Asked)>,
        subject: &Subject,
    ) -> Result<InputRequiredResult, ErrorData> {
        let Some((rounds, mut asked)) = rounds else { return std::future::pending().await };
        let request = asked.question().await;
        rounds
            .required(&self.sealing, subject, &request)
            .ok_or_else(|| ErrorData::internal_error("the question could not be sealed, so that it is not asked", None))
    }
}
