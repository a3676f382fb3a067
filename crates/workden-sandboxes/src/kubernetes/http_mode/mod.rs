//! HTTP mode: a pod whose image serves files and commands itself, over the HTTP protocol of pydantic-ai-backend.
//!
//! The server in the pod decides how commands run and what files look like. What the protocol has no route for is done
//! by a command if that is exact, and is `Unsupported` otherwise. Every answer is bounded in size and time, because the
//! server is part of the sandbox, and as little trusted.
//!
//! | route | request | answer |
//! |---|---|---|
//! | `GET /health` | | any 2xx |
//! | `POST /exec` | `command`, `timeout_seconds` | `output`, `exit_code`, `truncated` |
//! | `POST /read` | `path`, `offset`, `limit` | `content` |
//! | `POST /write` | `path`, `content_b64` | any 2xx |
//! | `POST /ls` | `path` | rows of `name`, `path`, `is_dir`, `size` |
//! | `POST /glob` | `pattern`, `path` | the same rows |

mod connector;
#[cfg(test)]
mod hostile_servers;
mod messages;
mod plan;
mod pod;
mod rows;
mod server;
mod service;

use std::fmt;

pub(super) use plan::pod;
pub(super) use pod::HttpPod;

/// The port that images serve by default.
const PORT: u16 = 8080;

/// The options of a pod that serves the HTTP protocol itself, instead of a keeper.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpMode {
    pub(super) port: u16,
    pub(super) token: Option<String>,
}

impl HttpMode {
    /// Returns the defaults: port 8080, and a random token.
    #[must_use]
    pub fn new() -> Self {
        Self { port: PORT, token: None }
    }

    /// Sets the port of the server in the pod, which it finds in `SANDBOX_PORT`.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets the token that each call presents, which the server finds in `SANDBOX_EXEC_TOKEN`. By default it is random.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }
}

impl Default for HttpMode {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HttpMode {
    /// Leaves out the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpMode").field("port", &self.port).finish_non_exhaustive()
    }
}
