//! One call from a client: carried out, asked about, reported on, and dropped when the client no
//! longer wants it, which ends the command that it runs.

use std::{sync::Arc, time::Duration};

use axum::http::request::Parts;
use rmcp::{
    ErrorData, RoleServer,
    model::{ErrorCode, InputRequiredResult, InputResponses, ProtocolVersion},
    service::RequestContext,
};
use tokio_util::sync::CancellationToken;

use crate::{
    approvals::{Asked, Rounds, Sealing, Subject, UNABLE, Way, shows_forms},
    progress::News,
    room::{Held, InTransit, Room, Turn},
};

/// What all calls of a server share.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    sealing: Sealing,
    /// With the share of all clients that cannot be told apart.
    pub(crate) room: Room,
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
    pub(crate) questions: Questions,
    /// With the share of the client.
    pub(crate) room: Room,
    /// The end of the server, whose calls end with it.
    pub(crate) stopped: CancellationToken,
}

/// What becomes of the questions of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Questions {
    /// They are asked, and an answer is waited for so long.
    Asked(Duration),
    /// Nobody is asked, and this is what can be done.
    Left(&'static str),
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
    /// When there is no room for it; or when the client cancelled it, or the server stops, which nobody reads
    /// any more.
    pub(crate) async fn make<T>(
        &self,
        request: Request,
        news: Option<News>,
        call: impl Future<Output = T>,
    ) -> Result<Ended<T>, ErrorData> {
        let Request { context, subject, brought, questions, room, stopped } = request;
        let _held = held(&context, &room).ok_or_else(no_room)?;
        let turn = Arc::new(room.turn());
        let (way, rounds) = self.way(&context, &subject, &brought, questions, &turn);
        let peer = context.peer.clone();
        let made = async {
            turn.take().await;
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
        questions: Questions,
        turn: &Arc<Turn>,
    ) -> (Way, Option<(Arc<Rounds>, Asked)>) {
        let time = match questions {
            Questions::Left(how) => return (Way::Unable(how), None),
            Questions::Asked(_) if !shows_forms(context.client_capabilities().as_ref()) => {
                return (Way::Unable(UNABLE), None);
            }
            Questions::Asked(time) => time,
        };
        // Revisions are dates, and are ordered as their text is.
        let by_rounds = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if by_rounds {
            let state = brought.state.as_deref();
            let (rounds, asked) = Rounds::new(&self.sealing, subject, state, brought.responses.as_ref());
            (Way::Rounds(Arc::clone(&rounds)), Some((rounds, asked)))
        } else {
            (Way::Elicit { peer: context.peer.clone(), turn: Arc::clone(turn), time }, None)
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

/// What a call is told for which there is no room.
pub(crate) fn no_room() -> ErrorData {
    let sentence = "there is no room for this call: too many and too large ones run, wait, or ask; make it again when \
                    others are answered";
    ErrorData::new(ErrorCode(-32000), sentence, None)
}

/// The bytes of a call, as far as they are not held yet.
fn held(context: &RequestContext<RoleServer>, room: &Room) -> Option<Held> {
    if let Some(held) = context.extensions.get::<Held>() {
        return Some(held.clone());
    }
    let arrived = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<InTransit>());
    room.try_hold(arrived)
}
