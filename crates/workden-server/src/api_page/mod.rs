//! `/docs`: a page that shows the description of the API, and makes calls.
//!
//! Invariant: the page is three files of this program and loads nothing else. It puts every text of the description and
//! of an answer into the page as text, never as markup.

use axum::{
    Router,
    http::{
        HeaderValue,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    },
    response::IntoResponse,
    routing::get,
};

/// What the page may load and do.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of the page, which need no key.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/docs", get(|| file("text/html; charset=utf-8", include_str!("page.html"))))
        .route("/docs/page.css", get(|| file("text/css; charset=utf-8", include_str!("page.css"))))
        .route("/docs/page.js", get(|| file("text/javascript; charset=utf-8", include_str!("page.js"))))
}

async fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, text)
}
