//! Asking by the answer: the call ends with the question, and the client makes it again with what its
//! user said.
//!
//! Nothing of the call is done before the question: it waits for an answer that never comes, and is
//! dropped. The next round starts over and finds what was approved before.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::model::{ElicitRequest, ElicitResult, InputRequest, InputRequiredResult, InputResponses};
use tokio::sync::mpsc;
use workden::{Decision, Scope, core::ApprovalRequest};

use super::{Sealing, Subject, question, question::Reply, sealing::Fingerprint};

/// The key of the question among the inputs that are required; there is one at a time.
const QUESTION: &str = "approval";

/// Clients that come back are not told apart by sessions.
const UNTIL: &str = "until the server ends, for all clients without a session";

/// What earlier rounds of a call came to.
#[derive(Debug)]
pub(crate) struct Rounds {
    granted: Vec<Fingerprint>,
    answer: Option<(Fingerprint, Reply)>,
    ask: mpsc::Sender<ApprovalRequest>,
}

/// The question of this round, when there is one.
#[derive(Debug)]
pub(crate) struct Asked(mpsc::Receiver<ApprovalRequest>);

impl Rounds {
    /// A round of a call, with what the client brought from the one before.
    pub(crate) fn new(
        sealing: &Sealing,
        subject: &Subject,
        state: Option<&str>,
        responses: Option<&InputResponses>,
    ) -> (Arc<Self>, Asked) {
        let (ask, asked) = mpsc::channel(1);
        // Without an answer nothing of it counts, and it is not used up either: the answer may still come.
        let brought = reply(responses).and_then(|reply| Some((reply, sealing.open(subject, state?)?)));
        let (granted, answer) = match brought {
            Some((reply, carried)) => (carried.granted, Some((carried.asked, reply))),
            None => (Vec::new(), None),
        };
        (Arc::new(Self { granted, answer, ask }), Asked(asked))
    }

    /// What was said about this in an earlier round; if nothing was, it is asked now, and this never
    /// returns.
    pub(super) async fn ask(&self, request: ApprovalRequest) -> Decision {
        let asked = Fingerprint::of(&request);
        match &self.answer {
            Some((answered, reply)) if *answered == asked => return reply.decision(),
            _ if self.granted.contains(&asked) => return Decision::Approve(Scope::Once),
            _ => {}
        }
        // Only the first question of a round is asked; whoever comes second is dropped with the call.
        let _ = self.ask.try_send(request);
        std::future::pending().await
    }

    /// The question as the answer to the call. `None` when it cannot be sealed.
    pub(crate) fn required(
        &self,
        sealing: &Sealing,
        subject: &Subject,
        request: &ApprovalRequest,
    ) -> Option<InputRequiredResult> {
        let mut granted = self.granted.clone();
        granted.extend(self.answer.iter().filter(|(_, reply)| reply.is_yes()).map(|(asked, _)| asked.clone()));
        let state = sealing.seal(subject, granted, Fingerprint::of(request))?;
        let form = InputRequest::Elicitation(ElicitRequest::new(question::form(request, UNTIL)));
        Some(InputRequiredResult::new(Some(BTreeMap::from([(QUESTION.to_owned(), form)])), Some(state)))
    }
}

impl Asked {
    /// Waits for a question; forever, if none comes.
    pub(crate) async fn question(&mut self) -> ApprovalRequest {
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

    fn question(name: &str) -> ApprovalRequest {
        serde_json::from_value(json!({
            "call": "write", "operations": ["write"], "description": name, "why": "it asks",
            "paths": [Resolved::literal(VirtualPath::parse(name).unwrap())],
        }))
        .unwrap()
    }

    /// A call that asks about one thing after the other, as far as one round gets.
    async fn round(
        sealing: &Sealing,
        subject: &Subject,
        state: Option<&str>,
        answer: Option<Value>,
    ) -> Result<Vec<Decision>, String> {
        let responses = answer.map(|answer| BTreeMap::from([(QUESTION.to_owned(), answer)]));
        let (rounds, mut asked) = Rounds::new(sealing, subject, state, responses.as_ref());
        let call = async { vec![rounds.ask(question("/a")).await, rounds.ask(question("/b")).await] };
        tokio::select! {
            done = call => Ok(done),
            request = asked.question() => Err(rounds.required(sealing, subject, &request).unwrap().request_state.unwrap()),
        }
    }

    #[tokio::test]
    async fn several_questions_are_asked_in_several_rounds() {
        let (sealing, subject) = (Sealing::default(), Subject::of("tools/call", "x", &Value::Null));
        let accept = || Some(json!({ "action": "accept" }));
        let first = round(&sealing, &subject, None, None).await.unwrap_err();
        let second = round(&sealing, &subject, Some(&first), accept()).await.unwrap_err();
        let both = round(&sealing, &subject, Some(&second), accept()).await.unwrap();
        assert_eq!(both, [Decision::Approve(Scope::Once), Decision::Approve(Scope::Once)]);
        // A yes to the first is none to the second.
        let first = round(&sealing, &subject, None, None).await.unwrap_err();
        let second = round(&sealing, &subject, Some(&first), accept()).await.unwrap_err();
        let declined = round(&sealing, &subject, Some(&second), Some(json!({ "action": "decline" }))).await.unwrap();
        assert!(matches!(declined[..], [Decision::Approve(_), Decision::Deny { .. }]), "{declined:?}");
        // What was declined is not carried as approved.
        let first = round(&sealing, &subject, None, None).await.unwrap_err();
        let no = round(&sealing, &subject, Some(&first), Some(json!({ "action": "decline" }))).await.unwrap_err();
        assert!(round(&sealing, &subject, Some(&no), None).await.is_err());
    }
}
