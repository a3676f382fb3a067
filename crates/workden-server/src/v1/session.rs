//! What the routes of one session start with: the session that the path names, opened or as its record; and a path in
//! it that the query names.

use std::sync::Arc;

use axum::{extract::FromRequestParts, http::request::Parts};
use serde::Deserialize;
use utoipa::IntoParams;
use workden::Workspace;
use workden_core::VirtualPath;
use workden_mcp::HttpEndpoint;
use workden_tools::Toolset;

use crate::{
    api_error::ApiError,
    api_input::{ApiPath, ApiQuery},
    database::SessionRow,
    identity::Principal,
    service::{Answer, Service},
    sessions::{LiveSession, SessionUse},
};

/// The session of a route.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NamedSession {
    /// Id or name
    pub(super) id: String,
}

/// A session that the caller may use, opened.
pub(super) struct OpenSession {
    pub(super) service: Arc<Service>,
    pub(super) principal: Principal,
    pub(super) live: Arc<LiveSession>,
}

impl OpenSession {
    /// Opens a session that the caller may use.
    pub(super) async fn of(service: Arc<Service>, principal: Principal, id: &str) -> Answer<Self> {
        let live = service.session(&principal, id).await?;
        Ok(Self { service, principal, live })
    }

    /// Returns its workspace, in which the calls of the caller are recorded.
    pub(super) fn workspace(&self) -> Workspace {
        self.live.workspace(&self.service, &self.principal)
    }

    /// Returns its workspace, and a path in it; relative paths start at its working directory.
    pub(super) async fn at(&self, typed: &str) -> Answer<SessionPath> {
        let workspace = self.workspace();
        let path = VirtualPath::parse_from(&workspace.working_directory().await?, typed)?;
        Ok(SessionPath { workspace, path })
    }

    /// Returns its tools.
    pub(super) fn toolset(&self) -> Answer<Toolset> {
        Ok(self.live.toolset(&self.service, &self.principal)?)
    }

    /// Returns its MCP endpoint for the key of the caller.
    pub(super) fn mcp(&self) -> Answer<HttpEndpoint> {
        Ok(self.live.mcp(&self.service, &self.principal)?)
    }

    /// Counts a use until the value is dropped.
    pub(super) fn begin_use(&self) -> SessionUse {
        self.live.begin_use()
    }
}

impl FromRequestParts<Arc<Service>> for OpenSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, ApiError> {
        let principal = Principal::from_request_parts(parts, service).await?;
        let ApiPath(NamedSession { id }) = ApiPath::from_request_parts(parts, service).await?;
        Self::of(Arc::clone(service), principal, &id).await
    }
}

/// The record of a session that the caller may use, which need not run.
pub(super) struct KnownSession {
    pub(super) service: Arc<Service>,
    pub(super) principal: Principal,
    pub(super) row: SessionRow,
}

impl KnownSession {
    /// Records an event of the session that the caller caused.
    pub(super) fn tell(&self, kind: &'static str, data: &serde_json::Value) {
        self.service.recorder(&self.row.id, &self.row.tenant, &self.principal).tell(kind, data);
    }
}

impl FromRequestParts<Arc<Service>> for KnownSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, ApiError> {
        let principal = Principal::from_request_parts(parts, service).await?;
        let ApiPath(NamedSession { id }) = ApiPath::from_request_parts(parts, service).await?;
        let row = service.session_row(&principal, &id).await?;
        Ok(Self { service: Arc::clone(service), principal, row })
    }
}

/// The path of a file or directory.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FilePath {
    /// A path in the session; relative paths start at its working directory.
    pub(super) path: String,
}

/// The path of a directory.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DirectoryPath {
    /// A directory; the working directory by default.
    #[serde(default)]
    path: String,
}

/// A path in an opened session, which the query names.
pub(crate) struct SessionPath {
    pub(crate) workspace: Workspace,
    pub(crate) path: VirtualPath,
}

impl FromRequestParts<Arc<Service>> for SessionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, ApiError> {
        let ApiQuery(FilePath { path }) = ApiQuery::from_request_parts(parts, service).await?;
        OpenSession::from_request_parts(parts, service).await?.at(&path).await
    }
}

/// A directory in an opened session; without one in the query, its working directory.
pub(super) struct SessionDirectory(pub(super) SessionPath);

impl FromRequestParts<Arc<Service>> for SessionDirectory {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, ApiError> {
        let ApiQuery(DirectoryPath { path }) = ApiQuery::from_request_parts(parts, service).await?;
        OpenSession::from_request_parts(parts, service).await?.at(&path).await.map(Self)
    }
}
