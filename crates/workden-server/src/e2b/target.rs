//! `CallTarget`: the sandbox that a call is for, and which of its ports.

use axum::http::{HeaderMap, Uri, header::HOST};

/// The port at which clients reach a sandbox's files and processes.
pub(super) const ENVD: u16 = 49983;

/// The characters of a sandbox's id; other host names may have a number and a hyphen, too.
const ID_CHARS: usize = 20;

/// A port of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallTarget {
    pub(super) sandbox: String,
    pub(super) port: u16,
}

impl CallTarget {
    /// Returns the target that headers name, or else a host name like `PORT-SANDBOX.DOMAIN`.
    pub(super) fn of(headers: &HeaderMap, uri: &Uri) -> Option<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(sandbox) = text("e2b-sandbox-id") {
            // A port that is not one is no port of the sandbox.
            let port = text("e2b-sandbox-port").map_or(ENVD, |port| port.parse().unwrap_or(0));
            return Some(Self { sandbox: sandbox.to_owned(), port });
        }
        let host = uri.host().or_else(|| text(HOST.as_str()))?;
        let (label, _) = host.split_once('.')?;
        let (port, sandbox) = label.split_once('-')?;
        let is_id = sandbox.len() == ID_CHARS && sandbox.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let port = port.parse().ok().filter(|_| is_id)?;
        Some(Self { sandbox: sandbox.to_ascii_lowercase(), port })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn headers_come_before_the_host_name() {
        let of = |pairs: &[(&'static str, &'static str)]| {
            let pairs =
                pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            CallTarget::of(&pairs.collect(), &Uri::from_static("/files")).map(|target| (target.sandbox, target.port))
        };
        let target = |sandbox: &str, port| Some((sandbox.to_owned(), port));
        assert_eq!(of(&[("e2b-sandbox-id", "ab"), ("host", "3000-abcdefghijabcdefghij.e2b.app")]), target("ab", ENVD));
        assert_eq!(of(&[("e2b-sandbox-id", "ab"), ("e2b-sandbox-port", "3000")]), target("ab", 3000));
        assert_eq!(of(&[("e2b-sandbox-id", "ab"), ("e2b-sandbox-port", "x")]), target("ab", 0));
        assert_eq!(of(&[("host", "49983-ABCDEFGHIJabcdefghi2.x:80")]), target("abcdefghijabcdefghi2", ENVD));
        for host in [
            "localhost:8420",
            "127.0.0.1:8420",
            "1-ab.x",
            "70000-abcdefghijabcdefghij.x",
            "a-abcdefghijabcdefghij.x",
            "1-abcdefghij_bcdefghij.x",
        ] {
            assert_eq!(of(&[("host", host)]), None, "{host}");
        }
    }
}
