//! `Principal`: the caller of a request, from its key.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{
        HeaderMap,
        header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL},
        request::Parts,
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use workden::Result;

use super::{
    local_names::is_local,
    secret::{equal, hash, key_id},
};
use crate::{api_error::ApiError, database::Database, operations::note_caller, service::Service};

/// How long a key that was found valid is not looked up again: a revoked key works for as long elsewhere.
const TRUST: Duration = Duration::from_secs(2);
/// How many keys are remembered.
const MOST_TRUSTED: usize = 10_000;
/// The headers of a key besides `Authorization`: ours and that of E2B, and that of sandboxd.
const KEY_HEADERS: [&str; 3] = ["x-api-key", "x-sandbox-token", "x-access-token"];
/// What a key follows in the name of a protocol of a websocket. The client also names `WEBSOCKET_PROTOCOL`, which is the
/// one that the service chooses: an answer must not repeat the key.
pub(crate) const KEY_PROTOCOL: &str = "workden.key.";
/// The protocol of websockets of clients that name one.
pub(crate) const WEBSOCKET_PROTOCOL: &str = "workden";

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Everything, for every tenant.
    Admin,
    /// The sessions, approvals and events of its tenant.
    Tenant,
    /// One session.
    Session,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Tenant => "tenant",
            Self::Session => "session",
        }
    }
}

/// The caller of a request.
#[derive(Clone, Debug)]
pub(crate) struct Principal {
    /// The id of the key, for records.
    pub(crate) key: String,
    /// The tenant whose things it sees, and to which new sessions belong.
    pub(crate) tenant: String,
    pub(crate) role: Role,
    /// The only session that it may use.
    pub(crate) session: Option<String>,
}

impl Principal {
    /// Returns the tenant to which queries are limited; `None` for all.
    pub(crate) fn scope(&self) -> Option<&str> {
        match self.role {
            Role::Admin => None,
            Role::Tenant | Role::Session => Some(&self.tenant),
        }
    }

    /// Whether it may use a session of a tenant.
    pub(crate) fn sees(&self, tenant: &str, session: &str) -> bool {
        match self.role {
            Role::Admin => true,
            Role::Tenant => self.tenant == tenant,
            Role::Session => self.session.as_deref() == Some(session),
        }
    }

    /// Refuses a call that only an administrator may make.
    pub(crate) fn require_admin(&self) -> Result<(), ApiError> {
        match self.role {
            Role::Admin => Ok(()),
            Role::Tenant | Role::Session => Err(ApiError::forbidden("this call requires a key of the role `admin`")),
        }
    }

    /// Refuses a call that the token of one session may not make.
    pub(crate) fn require_tenant(&self) -> Result<(), ApiError> {
        match self.role {
            Role::Admin | Role::Tenant => Ok(()),
            Role::Session => Err(ApiError::forbidden("the token of a session is valid for its own session only")
                .hint("use the API key with which the session was created")),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(ApiError::unauthenticated)
    }
}

/// A caller with an API key: the token of one session is refused.
pub(crate) struct TenantKey(pub(crate) Principal);

impl<S: Sync> FromRequestParts<S> for TenantKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let principal = Principal::from_request_parts(parts, state).await?;
        principal.require_tenant().map(|()| Self(principal))
    }
}

/// A caller with a key of an administrator.
pub(crate) struct AdminKey(pub(crate) Principal);

impl<S: Sync> FromRequestParts<S> for AdminKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let principal = Principal::from_request_parts(parts, state).await?;
        principal.require_admin().map(|()| Self(principal))
    }
}

/// Keys that were found valid a moment ago, by their hash.
#[derive(Debug, Default)]
pub(crate) struct TrustedKeys(Mutex<HashMap<String, (Principal, Instant)>>);

impl TrustedKeys {
    fn get(&self, hash: &str) -> Option<Principal> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(hash).filter(|(_, at)| at.elapsed() < TRUST).map(|(principal, _)| principal.clone())
    }

    fn put(&self, hash: String, principal: &Principal) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_TRUSTED {
            known.clear();
        }
        known.insert(hash, (principal.clone(), Instant::now()));
    }

    /// Forgets all keys: one was revoked.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Admits requests with a valid key, at the rate of its tenant. The key is checked before anything of the body is read.
pub(crate) async fn authenticate(State(service): State<Arc<Service>>, mut request: Request, next: Next) -> Response {
    match service.admit(key_in(request.headers()), request.headers()).await {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(refused) => refused.into_response(),
    }
}

/// Returns the key that a request carries.
pub(crate) fn key_in(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim);
    let named = || KEY_HEADERS.iter().find_map(|name| headers.get(*name)?.to_str().ok());
    bearer.or_else(named).or_else(|| key_of_websocket(headers)).filter(|key| !key.is_empty())
}

/// Returns the key among the protocols of a websocket: a page in a browser can set no header of one.
fn key_of_websocket(headers: &HeaderMap) -> Option<&str> {
    let protocols = headers.get(SEC_WEBSOCKET_PROTOCOL)?.to_str().ok()?;
    protocols.split(',').find_map(|protocol| protocol.trim().strip_prefix(KEY_PROTOCOL))
}

impl Service {
    /// Returns the caller with this key, or without one, and counts the call.
    pub(crate) async fn admit(&self, key: Option<&str>, headers: &HeaderMap) -> Result<Principal, ApiError> {
        let principal = match key {
            Some(key) => self.principal(key).await?,
            None => self.anonymous(headers).ok_or_else(ApiError::unauthenticated)?,
        };
        note_caller(&principal);
        self.count_request(&principal.tenant).await.map(|()| principal)
    }

    /// Returns the owner of a key or of the token of a session.
    async fn principal(&self, key: &str) -> Result<Principal, ApiError> {
        let hashed = hash(key);
        if let Some(known) = self.trusted.get(&hashed) {
            return Ok(known);
        }
        let principal = match self.secret.session_of(key) {
            Some(session) => session_principal(&self.database, session).await?,
            None => key_principal(&self.database, key, &hashed).await?,
        };
        self.trusted.put(hashed, &principal);
        Ok(principal)
    }

    /// Returns the caller without a key, where the configuration permits that on a loopback address.
    fn anonymous(&self, headers: &HeaderMap) -> Option<Principal> {
        let tenant = self.config().default_tenant.clone();
        let admin = || Principal { key: "none".to_owned(), tenant, role: Role::Admin, session: None };
        (self.config().no_key && is_local(headers)).then(admin)
    }
}

async fn session_principal(database: &Database, session: &str) -> Result<Principal, ApiError> {
    let row = database.session(session).await?.ok_or_else(ApiError::unauthenticated)?;
    let key = format!("session:{session}");
    Ok(Principal { key, tenant: row.tenant, role: Role::Session, session: Some(row.id) })
}

async fn key_principal(database: &Database, key: &str, hashed: &str) -> Result<Principal, ApiError> {
    let id = key_id(key).ok_or_else(ApiError::unauthenticated)?;
    let row = database.key(id).await?.ok_or_else(ApiError::unauthenticated)?;
    if row.revoked_at.is_some() || !equal(&row.hash, hashed) {
        return Err(ApiError::unauthenticated());
    }
    let role = if row.role == Role::Admin.name() { Role::Admin } else { Role::Tenant };
    Ok(Principal { key: row.id, tenant: row.tenant, role, session: None })
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn a_key_is_a_header_or_a_protocol_of_a_websocket() {
        for (name, value, expected) in [
            ("authorization", "Bearer e2b_1", Some("e2b_1")),
            ("x-api-key", "e2b_1", Some("e2b_1")),
            ("sec-websocket-protocol", "workden, workden.key.e2b_1", Some("e2b_1")),
            ("sec-websocket-protocol", "workden", None),
            ("sec-websocket-protocol", "workden.key.", None),
            ("authorization", "Basic e2b_1", None),
        ] {
            let headers = HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
            assert_eq!(key_in(&headers), expected, "{name}: {value}");
        }
    }
}
