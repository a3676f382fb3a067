//! `Api`: the client of Daytona's API, version 0. Another version can come beside it.
//!
//! Invariant: the key goes to the API and to the toolbox of a sandbox, and nowhere else; a port inside a sandbox is
//! opened by a token of its own ([`Api::open_port`]).

mod control;
mod counted_stream;
mod failure;
mod http;
mod key;
mod multipart;
#[cfg(test)]
mod scripted_server;
mod toolbox;
mod types;

use ::http::{HeaderValue, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use workden_core::{Error, ErrorKind, Result};
use workden_wire::{MessageStream, websocket_request};

use self::http::HttpClient;
pub(crate) use self::{
    failure::{Failure, Progress},
    http::jittered,
    key::ApiKey,
    toolbox::Toolbox,
    types::{BuildInfo, CreateSandbox, FileInfo, PreviewLink, SandboxInfo, SandboxState, VolumeMount},
};
use crate::dial::NetStream;

/// The address of the service, unless another is set.
pub(crate) const URL: &str = "https://app.daytona.io/api";
/// The header with the token of a port.
const PREVIEW_TOKEN: &str = "x-daytona-preview-token";
/// Characters that stay as they are in a segment of a path or in a value of a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The API of one account. Clones share the connections.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    http: HttpClient,
    /// Without a slash at its end.
    url: String,
}

impl Api {
    pub(crate) fn new(key: ApiKey, url: &str) -> Result<Self> {
        let url = url.trim_end_matches('/');
        let is_address = url.parse::<Uri>().is_ok_and(|address| {
            matches!(address.scheme_str(), Some("http" | "https"))
                && address.host().is_some()
                && address.query().is_none()
        });
        if !is_address {
            let sentence = format!("invalid Daytona API URL `{}`", key.shown(url));
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint(format!("use an address like `{URL}`")));
        }
        Ok(Self { http: HttpClient::new(key)?, url: url.to_owned() })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn key(&self) -> &ApiKey {
        &self.http.key
    }

    /// Returns a text of the service as it can be shown.
    pub(crate) fn shown(&self, text: &str) -> String {
        self.http.key.shown(text)
    }

    /// Whether calls to this address are encrypted, or as little as those to the API.
    fn is_safe(&self, url: &str) -> bool {
        url.starts_with("https://") || self.url.starts_with("http://") && url.starts_with("http://")
    }

    /// Opens a WebSocket to a port inside a sandbox. Any process there could listen, so the key is not sent.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the proxy answers, and opens no WebSocket.
    pub(crate) async fn open_port(&self, link: &PreviewLink) -> Result<MessageStream<Box<dyn NetStream>>> {
        let failed = |kind: ErrorKind, why: &str| {
            Error::new(kind, format!("the keeper's port cannot be reached: {}", self.shown(why)))
        };
        let unreachable = |why: &str| failed(ErrorKind::Unreachable, why);
        let invalid = || failed(ErrorKind::Unsupported, "invalid address of the port");
        let address: Uri = link.url.replacen("http", "ws", 1).parse().map_err(|_| invalid())?;
        let mut request = websocket_request(&address).map_err(|_| invalid())?;
        if let Some(token) = &link.token {
            let token = HeaderValue::from_str(token).map_err(|_| unreachable("invalid token of the port"))?;
            request.headers_mut().insert(PREVIEW_TOKEN, token);
        }
        let stream = self.http.dialer.dial(&address).await.map_err(|error| unreachable(&error.to_string()))?;
        MessageStream::connect(request, stream).await.map_err(|refused| match refused {
            Ok(answer) => {
                let status = answer.status().as_u16();
                let is_silent = matches!(status, 429 | 500 | 502..=504);
                let kind = if is_silent { ErrorKind::Unreachable } else { ErrorKind::Unsupported };
                failed(kind, &format!("HTTP {status}"))
            }
            Err(error) => unreachable(&error.to_string()),
        })
    }
}

/// Escapes a segment of a path, or a value of a query. No segment is `.` or `..`, which servers resolve.
fn escaped(text: &str) -> String {
    match text {
        "." | ".." => text.replace('.', "%2E"),
        text => utf8_percent_encode(text, PLAIN).to_string(),
    }
}
