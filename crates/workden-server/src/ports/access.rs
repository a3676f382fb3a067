//! Who may reach a port by its host name: everyone if it is published, otherwise the holders of a key of the service, of
//! the token of the session, or of the token of the port.
//!
//! A browser cannot send a header with the first request, so a link carries the token of the port in its query. It is
//! exchanged for a cookie of that host name, and the link is answered with a redirect to the address without it.

use std::sync::Arc;

use axum::{
    http::{
        HeaderMap, HeaderValue, StatusCode, Uri,
        header::{COOKIE, LOCATION, SET_COOKIE},
        request::Parts,
    },
    response::{IntoResponse, Response},
};
use percent_encoding::percent_decode_str;

use crate::{
    api_error::ApiError,
    database::SessionRow,
    identity::{Principal, Role, equal, key_in},
    service::{Answer, Service},
    sessions::LiveSession,
};

/// The query parameter of a link, and the name of the cookie.
const TOKEN: &str = "workden_token";
/// The header in which clients of E2B send the token of all ports.
const TRAFFIC_TOKEN: &str = "e2b-traffic-access-token";
/// Tokens of one request that are looked at: a browser sends one.
const MOST_TOKENS: usize = 4;
/// All ports of a session.
pub(crate) const ALL_PORTS: u16 = 0;

/// A port of a session, before it is known who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortAddress {
    pub(crate) session: String,
    pub(crate) port: u16,
}

/// A caller who may reach a port.
pub(crate) struct PortVisit {
    pub(crate) live: Arc<LiveSession>,
    pub(crate) principal: Principal,
    pub(crate) port: u16,
}

impl Service {
    /// Returns the visit of a caller at a host name, or the answer that makes one of it.
    pub(crate) async fn visit(&self, address: &PortAddress, parts: &Parts) -> Answer<Result<PortVisit, Response>> {
        let row = self.database.session(&address.session).await?;
        let Some(row) = row else { return Err(missing(address)) };
        if let Some((token, rest)) = token_in_query(&parts.uri)
            && self.has_token_of(address, &[&token]).await?
        {
            return Ok(Err(remembered(&token, &rest)));
        }
        let principal = self.visitor(address, &row, &parts.headers).await?;
        let live = self.session(&principal, &row.id).await?;
        Ok(Ok(PortVisit { live, principal, port: address.port }))
    }

    async fn visitor(&self, address: &PortAddress, row: &SessionRow, headers: &HeaderMap) -> Answer<Principal> {
        let in_header = headers.get(TRAFFIC_TOKEN).and_then(|token| token.to_str().ok());
        let tokens: Vec<&str> = in_header.into_iter().chain(cookies(headers)).take(MOST_TOKENS).collect();
        if self.has_token_of(address, &tokens).await? || self.database.is_published(&row.id, address.port).await? {
            self.count_request(&row.tenant).await?;
            return Ok(Principal {
                key: format!("port:{}", address.port),
                tenant: row.tenant.clone(),
                role: Role::Session,
                session: Some(row.id.clone()),
            });
        }
        // Without a key, only a published port is open: other pages of this machine's browser could ask for it, too.
        let key = key_in(headers).ok_or_else(|| closed(address))?;
        let principal = self.admit(Some(key), headers).await?;
        match principal.sees(&row.tenant, &row.id) {
            true => Ok(principal),
            false => Err(missing(address)),
        }
    }

    /// Whether one of these is the token of a port, or of all ports of its session. Without any, the database is not asked.
    async fn has_token_of(&self, address: &PortAddress, tokens: &[&str]) -> workden::Result<bool> {
        if tokens.is_empty() {
            return Ok(false);
        }
        let (own, all) = (
            self.port_token(&address.session, address.port).await?,
            self.port_token(&address.session, ALL_PORTS).await?,
        );
        Ok(tokens.iter().any(|token| equal(token, &own) || equal(token, &all)))
    }

    /// Returns the token of a port of a session, until its links are ended; 0 stands for all ports.
    pub(crate) async fn port_token(&self, session: &str, port: u16) -> workden::Result<String> {
        Ok(self.secret.port_token(session, port, self.database.ended_links(session, port).await?))
    }
}

fn missing(address: &PortAddress) -> ApiError {
    ApiError::not_found(format!("session `{}` not found", address.session.escape_debug()))
}

fn closed(address: &PortAddress) -> ApiError {
    let error = ApiError::unauthenticated();
    let hint = format!(
        "port {0} is private: open the link of `GET /v1/sessions/{1}/ports/{0}`, or publish the port with `PUT`",
        address.port, address.session
    );
    error.hint(hint)
}

/// Returns the token in a query, and the path and query without it.
fn token_in_query(uri: &Uri) -> Option<(String, String)> {
    let is_token = |pair: &&str| pair.split_once('=').is_some_and(|(name, _)| name == TOKEN);
    let query = uri.query()?;
    let token = query.split('&').find(is_token)?.split_once('=')?.1;
    let rest: Vec<&str> = query.split('&').filter(|pair| !is_token(pair)).collect();
    // Two slashes at the start would name another host.
    let path = format!("/{}", uri.path().trim_start_matches(['/', '\\']));
    let address = if rest.is_empty() { path } else { format!("{path}?{}", rest.join("&")) };
    Some((percent_decode_str(token).decode_utf8_lossy().into_owned(), address))
}

/// Returns the answer that stores a token in the browser.
fn remembered(token: &str, address: &str) -> Response {
    let cookie = format!("{TOKEN}={token}; Path=/; HttpOnly; SameSite=Lax");
    let value = |text: &str| HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(SET_COOKIE, value(&cookie)), (LOCATION, value(address))]).into_response()
}

/// Returns the tokens among the cookies of a request.
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let texts = headers.get_all(COOKIE).iter().filter_map(|text| text.to_str().ok());
    texts.flat_map(|text| text.split(';')).filter_map(own_cookie)
}

/// Returns the value of the service's own cookie.
pub(super) fn own_cookie(pair: &str) -> Option<&str> {
    pair.trim().split_once('=').filter(|(name, _)| *name == TOKEN).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_out_of_the_address() {
        let taken = |uri: &str| token_in_query(&uri.parse().unwrap());
        let some = |token: &str, rest: &str| Some((token.to_owned(), rest.to_owned()));
        assert_eq!(taken("/a/b?x=1&workden_token=wdp_1&y=2"), some("wdp_1", "/a/b?x=1&y=2"));
        assert_eq!(taken("/?workden_token=a%2Db"), some("a-b", "/"));
        assert_eq!(taken("//evil.example/?workden_token=a"), some("a", "/evil.example/"));
        assert_eq!(taken("/a?x=workden_token"), None);
        assert_eq!(taken("/a"), None);
    }

    #[test]
    fn only_the_own_cookie_is_a_token() {
        let headers: HeaderMap =
            [(COOKIE, HeaderValue::from_static("a=b; workden_token=wdp_1;c=d"))].into_iter().collect();
        assert_eq!(cookies(&headers).collect::<Vec<_>>(), ["wdp_1"]);
    }
}
