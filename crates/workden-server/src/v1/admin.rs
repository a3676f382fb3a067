//! `/v1/keys` and `/v1/tenants`: who may use the service, and how much.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::SessionId;

use crate::{
    TenantQuotas,
    api_error::{ApiError, ApiErrorBody},
    api_input::{ApiJson, ApiPath},
    clock::Moment,
    database::{KeyRow, TenantRow},
    described_values::object,
    identity::{AdminKey, Role, TenantKey},
    service::{Answer, Service},
    sessions::SessionPolicy,
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(create_key, list_keys))
        .routes(routes!(revoke_key))
        .routes(routes!(list_tenants))
        .routes(routes!(put_tenant))
}

/// A request for a key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKeyRequest {
    /// `tenant` or `admin`.
    role: Role,
    /// The tenant; your own by default.
    tenant: Option<String>,
    /// What it is for.
    #[serde(default)]
    label: String,
}

/// A key, without the key itself.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct KeyView {
    id: String,
    tenant: String,
    role: String,
    label: String,
    created_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Moment>,
}

impl KeyView {
    fn of(row: KeyRow) -> Self {
        let KeyRow { id, tenant, role, label, created_at, revoked_at, .. } = row;
        Self { id, tenant, role, label, created_at, revoked_at }
    }
}

/// A new key.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CreatedKey {
    #[serde(flatten)]
    view: KeyView,
    /// The key. It is not stored, and cannot be shown again.
    key: String,
}

fn check_tenant(tenant: &str) -> Answer<()> {
    tenant.parse::<SessionId>().map(drop).map_err(|_| {
        ApiError::invalid(format!("invalid tenant `{}`", tenant.escape_debug()))
            .hint("use at most 64 letters, digits, `.`, `_` and `-`, starting with a letter or digit")
    })
}

/// Create a key
#[utoipa::path(post, path = "/v1/keys", tag = "keys", request_body = NewKeyRequest, responses(
    (status = 201, description = "The key, shown once", body = CreatedKey),
    (status = 403, description = "Only an administrator may", body = ApiErrorBody),
))]
pub(super) async fn create_key(
    State(service): State<Arc<Service>>,
    AdminKey(principal): AdminKey,
    ApiJson(new): ApiJson<NewKeyRequest>,
) -> Answer<(StatusCode, Json<CreatedKey>)> {
    if new.role == Role::Session {
        return Err(ApiError::invalid("invalid role `session`").hint("creating a session answers with its token"));
    }
    let tenant = new.tenant.unwrap_or_else(|| principal.tenant.clone());
    check_tenant(&tenant)?;
    let (row, key) = service.create_key(&tenant, new.role, &new.label).await?;
    let created = json!({ "key": row.id, "role": row.role, "label": row.label });
    service.recorder("", &tenant, &principal).tell("key_created", &created);
    Ok((StatusCode::CREATED, Json(CreatedKey { view: KeyView::of(row), key })))
}

/// List keys
#[utoipa::path(get, path = "/v1/keys", tag = "keys", responses(
    (status = 200, description = "Oldest first", body = Vec<KeyView>),
))]
pub(super) async fn list_keys(
    State(service): State<Arc<Service>>,
    TenantKey(principal): TenantKey,
) -> Answer<Json<Vec<KeyView>>> {
    Ok(Json(service.database.keys(principal.scope()).await?.into_iter().map(KeyView::of).collect()))
}

/// The key of a route.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NamedKey {
    /// Id of the key
    id: String,
}

/// Revoke a key
#[utoipa::path(delete, path = "/v1/keys/{id}", tag = "keys", params(NamedKey), responses(
    (status = 204, description = "It is no longer valid; other processes notice within two seconds"),
    (status = 404, description = "There is no such valid key", body = ApiErrorBody),
))]
pub(super) async fn revoke_key(
    State(service): State<Arc<Service>>,
    AdminKey(principal): AdminKey,
    ApiPath(NamedKey { id }): ApiPath<NamedKey>,
) -> Answer<StatusCode> {
    let revoked = service.database.revoke_key(&id, principal.scope(), Moment::now()).await?;
    service.trusted.clear();
    match revoked {
        true => {
            service.recorder("", &principal.tenant, &principal).tell("key_revoked", &json!({ "key": id }));
            Ok(StatusCode::NO_CONTENT)
        }
        false => Err(ApiError::not_found(format!("key `{}` not found", id.escape_debug()))),
    }
}

/// What a tenant may do.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TenantSettings {
    /// Its quotas; those of the configuration by default.
    #[serde(default, deserialize_with = "object")]
    quotas: TenantQuotas,
    /// Rules for all of its sessions, which can only be stricter.
    #[serde(default, deserialize_with = "object")]
    policy: SessionPolicy,
}

/// A tenant.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TenantView {
    id: String,
    quotas: TenantQuotas,
    policy: SessionPolicy,
    created_at: Moment,
    /// Sessions that run.
    running: i64,
}

/// List tenants
#[utoipa::path(get, path = "/v1/tenants", tag = "tenants", responses(
    (status = 200, description = "Tenants by id", body = Vec<TenantView>),
))]
pub(super) async fn list_tenants(
    State(service): State<Arc<Service>>,
    TenantKey(principal): TenantKey,
) -> Answer<Json<Vec<TenantView>>> {
    let mut views = Vec::new();
    for row in service.database.tenants(principal.scope()).await? {
        views.push(TenantView {
            running: service.database.running_sessions(Some(&row.id)).await?,
            quotas: serde_json::from_str(&row.quotas).unwrap_or_default(),
            policy: serde_json::from_str(&row.policy).unwrap_or_default(),
            id: row.id,
            created_at: row.created_at,
        });
    }
    Ok(Json(views))
}

/// The tenant of a route.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NamedTenant {
    /// Name of the tenant
    id: String,
}

/// Set what a tenant may do
///
/// Sessions that run keep the policy that they started with.
#[utoipa::path(put, path = "/v1/tenants/{id}", tag = "tenants", params(NamedTenant),
    request_body = TenantSettings, responses(
        (status = 204, description = "It is set"),
        (status = 403, description = "Only an administrator may", body = ApiErrorBody),
    ))]
pub(super) async fn put_tenant(
    State(service): State<Arc<Service>>,
    AdminKey(principal): AdminKey,
    ApiPath(NamedTenant { id }): ApiPath<NamedTenant>,
    ApiJson(settings): ApiJson<TenantSettings>,
) -> Answer<StatusCode> {
    check_tenant(&id)?;
    settings.policy.rulesets()?;
    settings.quotas.check()?;
    let row = TenantRow {
        id,
        quotas: serde_json::to_string(&settings.quotas).unwrap_or_default(),
        policy: serde_json::to_string(&settings.policy).unwrap_or_default(),
        created_at: Moment::now(),
    };
    service.database.put_tenant(&row).await?;
    service.rates.renew(std::time::Instant::now());
    service.recorder("", &row.id, &principal).tell("tenant_set", &settings);
    Ok(StatusCode::NO_CONTENT)
}
