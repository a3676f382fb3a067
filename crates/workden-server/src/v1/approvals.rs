//! `/v1/approvals`: the questions of policies, over all sessions that a key sees.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json,
    extract::State,
    response::{
        Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::{Error, ErrorKind};

use super::description::ServerEvent;
use crate::{
    api_error::{ApiError, ApiErrorBody},
    api_input::{ApiJson, ApiPath, ApiQuery},
    approvals::ApprovalAnswer,
    clock::Moment,
    database::{ApprovalRow, ApprovalState},
    identity::{Principal, TenantKey},
    service::{Answer, Service},
};

/// The most questions in one answer.
const MOST: i64 = 1000;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(follow)).routes(routes!(describe, answer))
}

/// A question for approval.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ApprovalView {
    id: String,
    session: String,
    state: ApprovalState,
    /// What the call would do, why the policy asks, and a preview of the change.
    #[schema(value_type = Object)]
    request: Value,
    /// The answer, once there is one.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    asked_at: Moment,
    expires_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_at: Option<Moment>,
    /// The id of the key that answered.
    #[serde(skip_serializing_if = "String::is_empty")]
    answered_by: String,
}

impl ApprovalView {
    fn of(row: ApprovalRow) -> Self {
        Self {
            id: row.id,
            session: row.session,
            state: row.state,
            request: serde_json::from_str(&row.request).unwrap_or_default(),
            answer: serde_json::from_str(&row.answer).ok(),
            asked_at: row.asked_at,
            expires_at: row.expires_at,
            answered_at: row.answered_at,
            answered_by: row.answered_by,
        }
    }
}

/// The questions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ApprovalFilter {
    /// Only of this session.
    #[serde(default)]
    session: String,
    /// Only in this state; `pending` by default, `any` for all.
    state: Option<String>,
}

impl ApprovalFilter {
    async fn rows(&self, service: &Service, principal: &Principal) -> Answer<Vec<ApprovalRow>> {
        let session = match (&principal.session, self.session.as_str()) {
            (Some(own), _) => own.clone(),
            (None, "") => String::new(),
            (None, id) => service.session_row(principal, id).await?.id,
        };
        let state = match self.state.as_deref() {
            None => "pending",
            Some("any") => "",
            Some(state) => state,
        };
        let tenant = principal.scope().unwrap_or_default();
        Ok(service.database.approvals(tenant, &session, state, MOST).await?)
    }
}

/// List questions for approval
#[utoipa::path(get, operation_id = "list_approvals", path = "/v1/approvals", tag = "approvals", params(ApprovalFilter),
    responses(
        (status = 200, description = "Oldest first", body = Vec<ApprovalView>),
        (status = 404, description = "Session not found", body = ApiErrorBody),
    ))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    principal: Principal,
    ApiQuery(filter): ApiQuery<ApprovalFilter>,
) -> Answer<Json<Vec<ApprovalView>>> {
    let rows = filter.rows(&service, &principal).await?;
    Ok(Json(rows.into_iter().map(ApprovalView::of).collect()))
}

/// Follow questions for approval
///
/// Server-sent events `approvals`, each with the list as it is now: at once, and after every change.
#[utoipa::path(get, operation_id = "follow_approvals", path = "/v1/approvals/stream", tag = "approvals",
    params(ApprovalFilter),
    responses(
        (status = 200, description = "The list after each change",
            body = ServerEvent, content_type = "text/event-stream"),
        (status = 404, description = "Session not found", body = ApiErrorBody),
    ))]
pub(super) async fn follow(
    State(service): State<Arc<Service>>,
    principal: Principal,
    ApiQuery(filter): ApiQuery<ApprovalFilter>,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    // Another process of the service tells nothing, so the list is also read from time to time.
    const LOOK: std::time::Duration = std::time::Duration::from_secs(1);
    let mut changes = service.approvals.follow();
    // A session that is not there is refused, and not an empty stream.
    filter.rows(&service, &principal).await?;
    let events = async_stream::stream! {
        let mut before = String::new();
        loop {
            let Ok(rows) = filter.rows(&service, &principal).await else { return };
            let views: Vec<_> = rows.into_iter().map(ApprovalView::of).collect();
            let data = serde_json::to_string(&views).unwrap_or_default();
            if data != before {
                yield Ok(Event::default().event("approvals").data(&data));
                before = data;
            }
            let _ = tokio::time::timeout(LOOK, changes.changed()).await;
        }
    };
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

async fn row(service: &Service, principal: &Principal, id: &str) -> Answer<ApprovalRow> {
    let row = service.database.approval(id).await?.filter(|row| principal.sees(&row.tenant, &row.session));
    row.ok_or_else(|| {
        ApiError::not_found(format!("approval `{}` not found", id.escape_debug()))
            .hint("`GET /v1/approvals` lists the open ones")
    })
}

/// The question of a route.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NamedApproval {
    /// Id of the question
    id: String,
}

/// Describe a question for approval
#[utoipa::path(get, operation_id = "describe_approval", path = "/v1/approvals/{id}", tag = "approvals",
    params(NamedApproval),
    responses(
        (status = 200, description = "The question", body = ApprovalView),
        (status = 404, description = "There is none that you may see", body = ApiErrorBody),
    ))]
pub(super) async fn describe(
    State(service): State<Arc<Service>>,
    principal: Principal,
    ApiPath(NamedApproval { id }): ApiPath<NamedApproval>,
) -> Answer<Json<ApprovalView>> {
    Ok(Json(ApprovalView::of(row(&service, &principal, &id).await?)))
}

/// Answer a question
///
/// Only the first answer counts. The token of a session cannot answer: the agent has it.
#[utoipa::path(post, operation_id = "answer_approval", path = "/v1/approvals/{id}", tag = "approvals",
    params(NamedApproval),
    request_body = ApprovalAnswer, responses(
        (status = 200, description = "It is answered", body = ApprovalView),
        (status = 409, description = "It was answered before, or its time has passed", body = ApiErrorBody),
    ))]
pub(super) async fn answer(
    State(service): State<Arc<Service>>,
    TenantKey(principal): TenantKey,
    ApiPath(NamedApproval { id }): ApiPath<NamedApproval>,
    ApiJson(answer): ApiJson<ApprovalAnswer>,
) -> Answer<Json<ApprovalView>> {
    let question = row(&service, &principal, &id).await?;
    if !service.approvals.answer(&id, &answer, &principal.key).await? {
        let now = row(&service, &principal, &id).await?;
        let sentence = format!("the question was {} before", now.state.name());
        return Err(Error::new(ErrorKind::Conflict, sentence).into());
    }
    let recorder = service.recorder(&question.session, &question.tenant, &principal);
    recorder.tell("approval_answered", &serde_json::json!({ "id": id, "answer": answer }));
    Ok(Json(ApprovalView::of(row(&service, &principal, &id).await?)))
}
