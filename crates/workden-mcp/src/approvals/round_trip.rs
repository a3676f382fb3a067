//! Questions in the result of a call: the call ends with the question, and the client repeats it with the answer of
//! its user.
//!
//! The call does nothing before its question: it waits for an answer that never comes, and is dropped. The next
//! round starts over with the approvals of those before.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::model::{ElicitRequest, ElicitResult, InputRequest, InputRequiredResult, InputResponses};
use tokio::sync::mpsc;
use workden::{Decision, Scope, core::ApprovalRequest};

use super::{
    question::{self, Reply},
    request_state::{CallDigest, QuestionDigest, StateSeal},
};

/// The key of the question among the required inputs; a round has one.
const QUESTION: &str = "approval";

/// How long an approval is remembered: clients of this revision have no sessions.
const UNTIL: &str = "until the server ends, for all clients without a session";

/// One round of a call, with the answers of earlier rounds.
#[derive(Debug)]
pub(crate) struct RoundTrip {
    approved: Vec<QuestionDigest>,
    answer: Option<(QuestionDigest, Reply)>,
    ask: mpsc::Sender<ApprovalRequest>,
}

/// The question of this round, when there is one.
#[derive(Debug)]
pub(crate) struct PendingQuestion(mpsc::Receiver<ApprovalRequest>);

impl RoundTrip {
    /// Starts a round with the state and the answers that the client sent.
    pub(crate) fn new(
        seal: &StateSeal,
        call: &CallDigest,
        state: Option<&str>,
        responses: Option<&InputResponses>,
    ) -> (Arc<Self>, PendingQuestion) {
        let (ask, asked) = mpsc::channel(1);
        // A state without an answer is not opened, and so not used up: the answer may still come.
        let answered = reply(responses).and_then(|reply| Some((reply, seal.open(call, state?)?)));
        let (approved, answer) = match answered {
            Some((reply, state)) => (state.approved, Some((state.asked, reply))),
            None => (Vec::new(), None),
        };
        (Arc::new(Self { approved, answer, ask }), PendingQuestion(asked))
    }

    /// Returns the answer of an earlier round. Without one the question becomes that of this round, and this never
    /// returns.
    pub(super) async fn ask(&self, request: ApprovalRequest) -> Decision {
        let asked = QuestionDigest::of(&request);
        match &self.answer {
            Some((answered, reply)) if *answered == asked => return reply.decision(&request),
            _ if self.approved.contains(&asked) => return Decision::Approve(Scope::Once),
            _ => {}
        }
        // A round has one question; a second one is dropped with the call, and comes again in the next round.
        let _ = self.ask.try_send(request);
        std::future::pending().await
    }

    /// Returns the question as the result of the call; `None` when its state cannot be sealed.
    pub(crate) fn input_required(
        &self,
        seal: &StateSeal,
        call: &CallDigest,
        request: &ApprovalRequest,
    ) -> Option<InputRequiredResult> {
        let mut approved = self.approved.clone();
        approved.extend(self.answer.iter().filter(|(_, reply)| reply.is_yes()).map(|(asked, _)| asked.clone()));
        let state = seal.seal(call, approved, QuestionDigest::of(request))?;
        let form = InputRequest::Elicitation(ElicitRequest::new(question::form(request, UNTIL)));
        Some(InputRequiredResult::new(Some(BTreeMap::from([(QUESTION.to_owned(), form)])), Some(state)))
    }
}

impl PendingQuestion {
    /// Waits for a question, forever if none comes.
    pub(crate) async fn asked(&mut self) -> ApprovalRequest {
        match self.0.recv().await {
            Some(request) => request,
            None => std::future::pending().await,
        }
    }
}

fn reply(responses: Option<&InputResponses>) -> Option<Reply> {
    let answer = responses?.get(QUESTION)?;
    let answer: ElicitResult = serde_json::from_value(answer.clone()).ok()?;
    Some(Reply::of(&answer))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use workden::{VirtualPath, core::Resolved};

    use super::*;

    fn about(name: &str) -> ApprovalRequest {
        serde_json::from_value(json!({
            "call": "write", "operations": ["write"], "description": name, "why": "it asks",
            "paths": [Resolved::literal(VirtualPath::parse(name).unwrap())],
        }))
        .unwrap()
    }

    /// A call that asks two questions in a row, as far as one round gets.
    async fn round(
        seal: &StateSeal,
        call: &CallDigest,
        state: Option<&str>,
        answer: Option<Value>,
    ) -> Result<Vec<Decision>, String> {
        let responses = answer.map(|answer| BTreeMap::from([(QUESTION.to_owned(), answer)]));
        let (round, mut question) = RoundTrip::new(seal, call, state, responses.as_ref());
        let running = async { vec![round.ask(about("/a")).await, round.ask(about("/b")).await] };
        tokio::select! {
            done = running => Ok(done),
            request = question.asked() => Err(round.input_required(seal, call, &request).unwrap().request_state.unwrap()),
        }
    }

    #[tokio::test]
    async fn several_questions_are_asked_in_several_rounds() {
        let (seal, call) = (StateSeal::default(), CallDigest::of("tools/call", "x", &Value::Null));
        let accept = || Some(json!({ "action": "accept" }));
        let first = round(&seal, &call, None, None).await.unwrap_err();
        let second = round(&seal, &call, Some(&first), accept()).await.unwrap_err();
        let both = round(&seal, &call, Some(&second), accept()).await.unwrap();
        assert_eq!(both, [Decision::Approve(Scope::Once), Decision::Approve(Scope::Once)]);
        // Approving the first does not approve the second.
        let first = round(&seal, &call, None, None).await.unwrap_err();
        let second = round(&seal, &call, Some(&first), accept()).await.unwrap_err();
        let declined = round(&seal, &call, Some(&second), Some(json!({ "action": "decline" }))).await.unwrap();
        assert!(matches!(declined[..], [Decision::Approve(_), Decision::Deny { .. }]), "{declined:?}");
        // A declined question is not carried as approved.
        let first = round(&seal, &call, None, None).await.unwrap_err();
        let no = round(&seal, &call, Some(&first), Some(json!({ "action": "decline" }))).await.unwrap_err();
        assert!(round(&seal, &call, Some(&no), None).await.is_err());
    }
}
