//! `ApprovalDesk`: the questions of policies, kept until they are answered, once, by any process of the service.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use utoipa::ToSchema;
use workden::{Approvals, Decision, Result, Scope};
use workden_core::ApprovalRequest;

use crate::{
    ServerConfig,
    clock::Moment,
    database::{ApprovalRow, ApprovalState, Database},
    events::CallRecorder,
    identity::new_id,
};

/// How often a waiting call looks for an answer that another process took.
const LOOK: Duration = Duration::from_millis(500);

/// Keeps questions and answers.
#[derive(Debug)]
pub(crate) struct ApprovalDesk {
    database: Database,
    /// How long a question waits, in milliseconds.
    patience: AtomicU64,
    /// Counts changes, for those that follow.
    changes: watch::Sender<u64>,
}

/// The answer to a question.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) struct ApprovalAnswer {
    /// Whether the call may proceed.
    pub(crate) decision: ApprovalDecision,
    /// What else is approved with it.
    #[serde(default)]
    pub(crate) scope: ApprovalScope,
    /// A note for the agent: the reason of a denial, and an acceptable alternative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// Whether a call may proceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalDecision {
    /// It may.
    Approve,
    /// It may not.
    Deny,
}

/// What an approval covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalScope {
    /// This call.
    #[default]
    Once,
    /// The same call on the same paths, until the session ends.
    Session,
    /// Commands that start with the same words, in the same directory, until the session ends.
    Prefix,
}

impl ApprovalDesk {
    pub(crate) fn new(database: Database, config: &ServerConfig) -> Self {
        let desk = Self { database, patience: AtomicU64::default(), changes: watch::Sender::new(0) };
        desk.wait_for(config.approval_time());
        desk
    }

    /// Lets new questions wait for this time.
    pub(crate) fn wait_for(&self, time: Duration) {
        self.patience.store(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the approvals of a session, whose questions wait at this desk.
    pub(crate) fn of(self: &Arc<Self>, recorder: Arc<CallRecorder>) -> Approvals {
        Approvals::asking_later(self.questions_of(recorder))
    }

    /// Returns the function that takes the questions of a session to this desk.
    pub(crate) fn questions_of(
        self: &Arc<Self>,
        recorder: Arc<CallRecorder>,
    ) -> impl Fn(ApprovalRequest) -> BoxFuture<'static, Decision> + Clone + Send + Sync + use<> {
        let desk = Arc::clone(self);
        move |request| {
            let (desk, recorder) = (Arc::clone(&desk), Arc::clone(&recorder));
            Box::pin(async move {
                let asked = desk.ask(request, &recorder).await;
                asked.unwrap_or_else(|error| Decision::Unanswered { how: error.sentence().to_owned() })
            })
        }
    }

    /// Follows the number of changes.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    async fn ask(&self, request: ApprovalRequest, recorder: &CallRecorder) -> Result<Decision> {
        let patience = Duration::from_millis(self.patience.load(Ordering::Relaxed));
        let (asked_at, asked) = (Moment::now(), Instant::now());
        let row = ApprovalRow {
            id: new_id()?,
            session: recorder.session.clone(),
            tenant: recorder.tenant.clone(),
            request: serde_json::to_string(&request).unwrap_or_default(),
            state: ApprovalState::Pending,
            answer: String::new(),
            asked_at,
            expires_at: asked_at.after(patience),
            answered_at: None,
            answered_by: String::new(),
        };
        self.database.add_approval(&row).await?;
        recorder.tell("approval_requested", &serde_json::json!({ "id": row.id, "description": request.description }));
        // A caller that goes away takes its question with it.
        let pending = Pending { desk: self, id: Some(row.id.clone()) };
        self.changed();
        let mut changes = self.changes.subscribe();
        loop {
            let now = self.database.approval(&row.id).await?;
            match now.filter(|now| now.state != ApprovalState::Pending) {
                Some(now) => {
                    pending.answered();
                    return Ok(decision(&now, &request));
                }
                // By the steady clock: the other one may be set meanwhile.
                None if asked.elapsed() >= patience => {
                    self.finish(&row.id, (ApprovalState::Expired, ""), "").await?;
                }
                None => drop(tokio::time::timeout(LOOK, changes.changed()).await),
            }
        }
    }

    /// Answers a question. Returns whether it was still open.
    pub(crate) async fn answer(&self, id: &str, answer: &ApprovalAnswer, by: &str) -> Result<bool> {
        let state = match answer.decision {
            ApprovalDecision::Approve => ApprovalState::Approved,
            ApprovalDecision::Deny => ApprovalState::Denied,
        };
        self.finish(id, (state, &serde_json::to_string(answer).unwrap_or_default()), by).await
    }

    async fn finish(&self, id: &str, answer: (ApprovalState, &str), by: &str) -> Result<bool> {
        let first = self.database.answer_approval(id, answer, (Moment::now(), by)).await?;
        self.changed();
        Ok(first)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// A question that waits. Dropped without an answer, it is withdrawn.
struct Pending<'a> {
    desk: &'a ApprovalDesk,
    id: Option<String>,
}

impl Pending<'_> {
    fn answered(mut self) {
        self.id = None;
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let (database, changes) = (self.desk.database.clone(), self.desk.changes.clone());
        tokio::spawn(async move {
            let withdrawn = (ApprovalState::Withdrawn, "");
            if let Err(error) = database.answer_approval(&id, withdrawn, (Moment::now(), "")).await {
                tracing::warn!(%error, "cannot withdraw a question");
            }
            changes.send_modify(|count| *count += 1);
        });
    }
}

/// Returns what an answered question means for its call.
fn decision(row: &ApprovalRow, request: &ApprovalRequest) -> Decision {
    let answer: Option<ApprovalAnswer> = serde_json::from_str(&row.answer).ok();
    match (row.state, answer) {
        (ApprovalState::Approved, Some(answer)) => Decision::Approve(match answer.scope {
            ApprovalScope::Once => Scope::Once,
            ApprovalScope::Session => Scope::Session,
            // Where no prefix says what is run, only this call is approved.
            ApprovalScope::Prefix => Scope::prefix_of(request).unwrap_or(Scope::Once),
        }),
        (ApprovalState::Denied, answer) => Decision::Deny { note: answer.and_then(|answer| answer.note) },
        _ => Decision::unanswered("the question was not answered in time; tell the user to answer it", request),
    }
}
