//! `ServiceSessions`: the sessions at a service that a key may use: list, find, pause and delete them.

use bytes::Bytes;
use http::Method;
use serde::{Deserialize, Serialize};
use workden_core::{Error, ErrorKind, Result};

use super::api::ServiceApi;
use crate::SessionId;

/// Sessions in one page of the service.
const PAGE: usize = 500;
/// The most sessions in a list.
const MOST: usize = 100_000;

/// The sessions at a service.
#[derive(Clone, Debug)]
pub struct ServiceSessions {
    api: ServiceApi,
}

/// A session at a service, as the service describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServiceSession {
    /// Its id.
    pub id: String,
    /// Its name, unique among the sessions of its tenant.
    pub name: String,
    /// Its tenant.
    pub tenant: String,
    /// Its runtime.
    pub runtime: String,
    /// `running`, `paused` or `ending`.
    pub state: String,
    /// When it was created, in RFC 3339.
    pub created_at: String,
    /// When it was last used.
    pub used_at: String,
    /// When it ends, used or not.
    pub ends_at: String,
}

/// A page of a list.
#[derive(Debug, Deserialize)]
struct Page {
    sessions: Vec<ServiceSession>,
    next: Option<String>,
}

impl ServiceSessions {
    /// Returns the sessions at the service with this URL that a key may use.
    ///
    /// # Errors
    ///
    /// When the URL or the key is invalid.
    pub fn at(url: &str, key: Option<&str>) -> Result<Self> {
        ServiceApi::new(url, key).map(|api| Self { api })
    }

    /// Lists the sessions.
    ///
    /// # Errors
    ///
    /// When the service cannot be reached, or refuses the key.
    pub async fn list(&self) -> Result<Vec<ServiceSession>> {
        let (mut all, mut after) = (Vec::new(), String::new());
        while all.len() < MOST {
            let path = format!("/v1/sessions?limit={PAGE}&after={after}");
            let page: Page = self.api.json(Method::GET, &path, Bytes::new()).await?;
            all.extend(page.sessions);
            match page.next.and_then(|next| next.parse::<SessionId>().ok()) {
                Some(next) => after = next.to_string(),
                None => return Ok(all),
            }
        }
        Ok(all)
    }

    /// Returns the session of this id or name.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none that the key may use, and as [`list`](Self::list).
    pub async fn find(&self, id: &SessionId) -> Result<ServiceSession> {
        let found = self.api.json(Method::GET, &format!("/v1/sessions/{id}"), Bytes::new()).await;
        found.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::new(ErrorKind::NotFound, format!("session `{id}` not found at the service"))
                .hint("`workden sessions list --remote URL` lists your sessions"),
            _ => error,
        })
    }

    /// Ends the processes of a session, whose files stay until it is resumed or deleted.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find), and `Unsupported` when its files are in its sandbox.
    pub async fn pause(&self, id: &SessionId) -> Result<()> {
        let found = self.find(id).await?;
        self.api.call(Method::POST, &format!("/v1/sessions/{}/pause", path_of(&found)?), Bytes::new()).await.map(drop)
    }

    /// Deletes a session with its files.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub async fn delete(&self, id: &SessionId) -> Result<()> {
        let found = self.find(id).await?;
        self.api.delete(&path_of(&found)?.to_string()).await
    }
}

/// Returns the id of a session as a part of a path. The answer of a service is hostile input.
fn path_of(session: &ServiceSession) -> Result<SessionId> {
    session.id.parse()
}
