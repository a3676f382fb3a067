//! What routes take from a request: bodies, queries and parameters of the path. A request that is not what a route takes
//! is refused as every other call is, with an [`ApiError`].

use axum::{
    Json,
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path, Query, Request, WebSocketUpgrade},
    http::{HeaderMap, Method, StatusCode, Uri, header::CONTENT_TYPE, request::Parts},
};
use serde::de::DeserializeOwned;
use workden::{Error, ErrorKind};

use crate::{api_error::ApiError, identity::WEBSOCKET_PROTOCOL};

/// A body of JSON.
pub(crate) struct ApiJson<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for ApiJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            let sentence = "invalid content type: the body must be JSON".to_owned();
            return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, sentence)
                .hint("send the header `Content-Type: application/json`"));
        }
        let ApiBytes(bytes) = ApiBytes::from_request(request, state).await?;
        match Json::from_bytes(&bytes) {
            // serde takes the fields of a struct from a list, too.
            Ok(_) if bytes.trim_ascii_start().first() != Some(&b'{') => {
                Err(refused(StatusCode::UNPROCESSABLE_ENTITY, "invalid body: it must be an object".to_owned()))
            }
            Ok(Json(value)) => Ok(Self(value)),
            Err(rejection) => Err(refused(rejection.status(), format!("invalid body: {}", reason(&rejection)))),
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// A body of bytes, which is held in memory.
pub(crate) struct ApiBytes(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for ApiBytes {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await;
        bytes
            .map(Self)
            .map_err(|rejection| refused(rejection.status(), format!("invalid body: {}", reason(&rejection))))
    }
}

/// The query of a URL.
pub(crate) struct ApiQuery<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for ApiQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = Query::from_request_parts(parts, state).await;
        query
            .map(|Query(query)| Self(query))
            .map_err(|rejection| refused(rejection.status(), format!("invalid query: {}", reason(&rejection))))
    }
}

/// Parameters of the path, by name.
pub(crate) struct ApiPath<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for ApiPath<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = <Path<T> as FromRequestParts<S>>::from_request_parts(parts, state).await;
        path.map(|Path(path)| Self(path))
            .map_err(|rejection| refused(rejection.status(), format!("invalid path: {}", reason(&rejection))))
    }
}

/// A request that asks for a websocket.
pub(crate) struct ApiWebSocket(pub(crate) WebSocketUpgrade);

impl<S: Send + Sync> FromRequestParts<S> for ApiWebSocket {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let upgrade = <WebSocketUpgrade as FromRequestParts<S>>::from_request_parts(parts, state).await;
        // A browser closes a websocket whose answer names none of its protocols.
        upgrade.map(|upgrade| Self(upgrade.protocols([WEBSOCKET_PROTOCOL]))).map_err(|rejection| {
            refused(rejection.status(), "the request does not ask for a websocket".to_owned())
                .hint("connect with a client of websockets")
        })
    }
}

/// Answers a request to a path that no route has.
pub(crate) async fn no_such_path(uri: Uri) -> ApiError {
    let path = uri.path().escape_debug().to_string();
    ApiError::not_found(format!("path `{path}` not found"))
        .hint("`GET /openapi.json` lists all calls; `/docs` shows them")
}

/// Answers a request with a method that its path does not have. The header `Allow` of the answer lists the others.
pub(crate) async fn no_such_method(method: Method, uri: Uri) -> ApiError {
    let path = uri.path().escape_debug().to_string();
    refused(StatusCode::METHOD_NOT_ALLOWED, format!("`{method}` is not supported with `{path}`"))
        .hint("use a method of the header `Allow`")
}

fn refused(status: StatusCode, sentence: String) -> ApiError {
    let kind = match status {
        StatusCode::PAYLOAD_TOO_LARGE => ErrorKind::TooLarge,
        status if status.is_server_error() => ErrorKind::Io,
        _ => ErrorKind::InvalidArgument,
    };
    ApiError { status, error: Error::new(kind, sentence) }
}

/// Returns the first cause of a rejection, which alone says what is wrong.
fn reason(rejection: &(dyn std::error::Error + 'static)) -> String {
    let mut first = rejection;
    while let Some(source) = first.source() {
        first = source;
    }
    first.to_string()
}
