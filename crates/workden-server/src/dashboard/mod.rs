//! The dashboard, at `/`: a page that shows what agents do, and answers their questions. It is a client of `/v1` like any
//! other; the service only hands out its files, which `cargo xtask web` builds from `web/`.
//!
//! Invariant: the page loads nothing but these files, runs no script and no style that is written into it, and is shown
//! in no frame.

mod files;
mod headers;

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::get,
};

use self::files::{Lifetime, PageFile};
use crate::api_error::ApiError;

/// Returns the routes of the page, which need no key.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", get(|headers: HeaderMap| async move { answer("index.html", headers::PAGE, &headers) }))
        .route("/preview", get(|headers: HeaderMap| async move { answer("preview.html", headers::PREVIEW, &headers) }))
        .route("/assets/{name}", get(asset))
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    answer(&format!("assets/{name}"), headers::FILE, &headers)
}

/// Answers with a file, as the client accepts it.
fn answer(name: &str, policy: &'static str, headers: &HeaderMap) -> Response {
    let Some(file) = PageFile::find(name) else {
        let sentence = format!("`/{}` is not a file of the dashboard", name.escape_debug());
        return ApiError::not_found(sentence).hint("open `/`").into_response();
    };
    // A file of another build has another name; these have the same one for ever.
    let lifetime = if name.starts_with("assets/") { Lifetime::Immutable } else { Lifetime::Revalidated };
    let tag = file.tag();
    if headers::names_tag(headers, &tag) {
        return (StatusCode::NOT_MODIFIED, headers::of(&file, policy, lifetime, &tag)).into_response();
    }
    (headers::of(&file, policy, lifetime, &tag), file.content(headers::takes_gzip(headers))).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, header};

    use super::*;

    fn get(name: &str, pairs: &[(header::HeaderName, &str)]) -> Response {
        let pairs = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
        answer(name, headers::PAGE, &pairs.collect())
    }

    #[test]
    fn a_file_is_sent_compressed_and_once() {
        let answered = get("index.html", &[(header::ACCEPT_ENCODING, "gzip, br")]);
        assert_eq!(answered.headers()[header::CONTENT_ENCODING], "gzip");
        let tag = answered.headers()[header::ETAG].to_str().unwrap().to_owned();
        assert_eq!(get("index.html", &[(header::IF_NONE_MATCH, &tag)]).status(), StatusCode::NOT_MODIFIED);
        let plain = get("index.html", &[(header::ACCEPT_ENCODING, "gzip;q=0")]);
        assert!(!plain.headers().contains_key(header::CONTENT_ENCODING));
    }

    #[test]
    fn the_page_runs_nothing_that_is_written_into_it() {
        let policy = get("index.html", &[]).headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        let page = PageFile::find("index.html").unwrap();
        let text = String::from_utf8(page.plain()).unwrap();
        assert!(!text.contains("<style") && !text.contains("style=") && !text.contains("http"), "{text}");
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for name in ["assets/x.js", "assets/../index.html", "manifest.json", ""] {
            assert_eq!(get(name, &[]).status(), StatusCode::NOT_FOUND, "{name}");
        }
    }
}
