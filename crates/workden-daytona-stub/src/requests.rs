//! The record of requests: what tests read to prove what a client sent, and what it did not.

use std::sync::Mutex;

use hyper::{Request, body::Incoming};
use serde::{Deserialize, Serialize};

use crate::shared::locked;

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SeenRequest {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// Names, in lower case, and values of the headers, in order.
    pub headers: Vec<(String, String)>,
}

impl SeenRequest {
    pub(crate) fn of(request: &Request<Incoming>) -> Self {
        let headers = request.headers().iter();
        Self {
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            headers: headers
                .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
                .collect(),
        }
    }

    /// Returns the first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(named, _)| named.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// All requests, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<Vec<SeenRequest>>);

impl Requests {
    pub(crate) fn add(&self, request: SeenRequest) {
        locked(&self.0).push(request);
    }

    pub(crate) fn all(&self) -> Vec<SeenRequest> {
        locked(&self.0).clone()
    }

    pub(crate) fn forget(&self) {
        locked(&self.0).clear();
    }
}
