//! The headers of the page: what it may load and do, and how long a client keeps it.

use axum::http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
        VARY, X_CONTENT_TYPE_OPTIONS,
    },
};

use super::files::{Encoding, Lifetime, PageFile};

/// What the page may load and do. Images and PDF files of sessions are shown from memory, as `blob:`.
pub(super) const PAGE: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                               connect-src 'self'; frame-src 'self' blob:; base-uri 'none'; form-action 'none'; \
                               frame-ancestors 'none'";

/// What the frame may do in which HTML of sessions is shown: it has no origin, runs no script but its own, which its hash
/// names, and loads nothing. Styles in the HTML apply, and images that are in it.
pub(super) const PREVIEW: &str = concat!(
    "sandbox allow-scripts; default-src 'none'; script-src '",
    include_str!("../../dashboard/preview.hash"),
    "'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'self'"
);

/// What a script, a style or an image may do when it is opened by itself.
pub(super) const FILE: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// Returns the headers of a file.
pub(super) fn of(
    file: &PageFile,
    policy: &'static str,
    lifetime: Lifetime,
    tag: &str,
) -> [(HeaderName, HeaderValue); 9] {
    let cache = match lifetime {
        Lifetime::Immutable => "public, max-age=31536000, immutable",
        Lifetime::Revalidated => "no-cache",
    };
    let fixed = |name: HeaderName, value: &'static str| (name, HeaderValue::from_static(value));
    [
        (CONTENT_TYPE, file.kind()),
        (ETAG, HeaderValue::from_str(tag).unwrap_or_else(|_| HeaderValue::from_static(""))),
        fixed(CONTENT_SECURITY_POLICY, policy),
        fixed(CACHE_CONTROL, cache),
        fixed(VARY, "accept-encoding"),
        fixed(X_CONTENT_TYPE_OPTIONS, "nosniff"),
        fixed(REFERRER_POLICY, "no-referrer"),
        fixed(HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        fixed(
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        ),
    ]
}

/// Whether the client has the file with this tag.
pub(super) fn names_tag(headers: &HeaderMap, tag: &str) -> bool {
    let texts = headers.get_all(IF_NONE_MATCH).iter().filter_map(|text| text.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|named| named.trim() == tag)
}

/// Returns the encoding that the client takes.
pub(super) fn takes_gzip(headers: &HeaderMap) -> Encoding {
    let texts = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|text| text.to_str().ok());
    let takes = |text: &str| {
        let (name, weight) = text.split_once(';').unwrap_or((text, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    };
    match texts.flat_map(|text| text.split(',')).any(takes) {
        true => Encoding::Gzip,
        false => Encoding::Plain,
    }
}
