//! `/v1/activity`: what sessions did last and use now, for a list of them. It opens no session, and is no use of one.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::events::EventView;
use crate::{
    api_error::{ApiError, ApiErrorBody},
    api_input::ApiQuery,
    identity::Principal,
    service::{Answer, Service},
    usage::UsageSample,
};

/// The most sessions of one call.
const MOST: usize = 200;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(list))
}

/// The sessions to look at.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ActivityFilter {
    /// Ids of sessions, separated by commas; at most 200.
    sessions: String,
}

/// What a session did last, and uses.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionActivity {
    /// Its last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<EventView>,
    /// The last two samples, from which the use of processors follows; fewer if it has not started.
    samples: Vec<UsageSample>,
}

/// List what sessions did last
#[utoipa::path(get, operation_id = "list_activity", path = "/v1/activity", tag = "sessions", params(ActivityFilter),
    responses(
        (status = 200, description = "By id; ids that you may not see are left out",
            body = BTreeMap<String, SessionActivity>),
        (status = 400, description = "Too many ids", body = ApiErrorBody),
    ))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    principal: Principal,
    ApiQuery(filter): ApiQuery<ActivityFilter>,
) -> Answer<Json<BTreeMap<String, SessionActivity>>> {
    let ids: Vec<&str> = filter.sessions.split(',').filter(|id| !id.is_empty()).collect();
    if ids.len() > MOST {
        return Err(ApiError::invalid(format!("invalid `sessions`: {} ids", ids.len()))
            .hint(format!("send at most {MOST} ids in a call")));
    }
    let mut all = BTreeMap::new();
    for id in ids {
        let Some(row) = service.database.session(id).await? else { continue };
        if !principal.sees(&row.tenant, &row.id) {
            continue;
        }
        let last = service.database.last_event(&row.id).await?.map(EventView::of);
        let samples = service.usage.last_of(&row.id, 2);
        all.insert(row.id, SessionActivity { last, samples });
    }
    Ok(Json(all))
}
