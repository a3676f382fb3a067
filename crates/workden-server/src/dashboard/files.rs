//! The files of the page, as the build left them: compressed, each once.

use std::{borrow::Cow, io::Read};

use axum::http::HeaderValue;
use bytes::Bytes;
use flate2::read::GzDecoder;
use rust_embed::{EmbeddedFile, RustEmbed};

/// What `cargo xtask web` has built.
#[derive(RustEmbed)]
#[folder = "dashboard/built"]
struct Built;

/// How long a client may keep a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// Its name has the hash of its content.
    Immutable,
    /// It may be another one tomorrow.
    Revalidated,
}

/// A file of the page.
pub(super) struct PageFile {
    kind: &'static str,
    compressed: EmbeddedFile,
}

impl PageFile {
    /// Returns the file with this name.
    pub(super) fn find(name: &str) -> Option<Self> {
        let kind = kind_of(name)?;
        Built::get(&format!("{name}.gz")).map(|compressed| Self { kind, compressed })
    }

    /// Returns its media type.
    pub(super) fn kind(&self) -> HeaderValue {
        HeaderValue::from_static(self.kind)
    }

    /// Returns its version.
    pub(super) fn tag(&self) -> String {
        let digits: String =
            self.compressed.metadata.sha256_hash().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        // Weak: both encodings of the file have it.
        format!("W/\"{digits}\"")
    }

    /// Returns its content, compressed if the client takes that.
    pub(super) fn content(&self, encoding: Encoding) -> Content {
        match encoding {
            Encoding::Gzip => Content { bytes: self.stored(), encoding },
            Encoding::Plain => Content { bytes: self.plain().into(), encoding },
        }
    }

    /// Returns its content. Every browser takes the compressed one; this is for other programs.
    pub(super) fn plain(&self) -> Vec<u8> {
        let mut plain = Vec::new();
        // It is part of this program.
        let _ = GzDecoder::new(&*self.compressed.data).read_to_end(&mut plain);
        plain
    }

    fn stored(&self) -> Bytes {
        match &self.compressed.data {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => Bytes::from(bytes.clone()),
        }
    }
}

/// How a content is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Gzip,
    Plain,
}

/// The body of an answer.
pub(super) struct Content {
    bytes: Bytes,
    encoding: Encoding,
}

impl axum::response::IntoResponse for Content {
    fn into_response(self) -> axum::response::Response {
        let mut answer = self.bytes.into_response();
        answer.headers_mut().remove(axum::http::header::CONTENT_TYPE);
        if self.encoding == Encoding::Gzip {
            let gzip = HeaderValue::from_static("gzip");
            answer.headers_mut().insert(axum::http::header::CONTENT_ENCODING, gzip);
        }
        answer
    }
}

/// Returns the media type of a file by its name; `None` for a name that no file of the page has.
fn kind_of(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}
