//! Faults: what tests make go wrong, by route and count. The server takes the first one that matches a request.
//!
//! Invariant: a fault is used up by the requests it affects, and no request has more than one.

use std::{sync::Mutex, time::Duration};

use serde::{Deserialize, Serialize};

use crate::shared::locked;

/// What goes wrong, on which route, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The method and the path below the service, like `POST /sandbox` or `GET /toolbox/*/files/info`. `*` matches one
    /// segment, or any method; `**` at the end matches the rest.
    pub route: String,
    /// How many matching requests pass before the first that fails.
    #[serde(default)]
    pub skip: usize,
    /// How many requests fail; all if absent.
    #[serde(default)]
    pub times: Option<usize>,
    /// What goes wrong.
    pub kind: FaultKind,
}

/// What goes wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FaultKind {
    /// Nothing is done, and this status is the answer.
    Status {
        /// The status.
        status: u16,
        /// The value of `Retry-After`.
        #[serde(default)]
        retry_after: Option<String>,
        /// The body, in place of the usual error.
        #[serde(default)]
        body: Option<String>,
    },
    /// The call is done; the connection ends in the middle of the body. The WebSocket of a log ends after one byte.
    TruncatedBody,
    /// The call is done; this many spaces follow the body.
    OversizedBody {
        /// The number of spaces.
        bytes: u64,
    },
    /// The call is done; a multipart body ends without its last boundary.
    NoEndBoundary,
    /// Log frames have one byte each, so that every stream mark is split.
    SplitMarks,
    /// Nothing is done, and no answer comes.
    Hang,
    /// Nothing is done, and the connection is closed.
    CloseBeforeAnswer,
    /// The call is done, and the connection is closed without an answer.
    LostAnswer,
    /// A sandbox that is created or started ends in `error`, with this reason.
    EndsInError {
        /// The `errorReason`.
        reason: String,
    },
    /// A sandbox that is created or started needs this much longer.
    SlowStart {
        /// The additional time.
        milliseconds: u64,
    },
}

impl FaultKind {
    /// Answers with this status.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Status { status, retry_after: None, body: None }
    }

    /// Makes a start slower.
    #[must_use]
    pub fn slow_start(by: Duration) -> Self {
        Self::SlowStart { milliseconds: u64::try_from(by.as_millis()).unwrap_or(u64::MAX) }
    }
}

impl Fault {
    /// The next matching request fails.
    pub fn once(route: impl Into<String>, kind: FaultKind) -> Self {
        Self::times(route, 1, kind)
    }

    /// The next matching requests fail.
    pub fn times(route: impl Into<String>, times: usize, kind: FaultKind) -> Self {
        Self { route: route.into(), skip: 0, times: Some(times), kind }
    }

    /// All matching requests fail.
    pub fn always(route: impl Into<String>, kind: FaultKind) -> Self {
        Self { route: route.into(), skip: 0, times: None, kind }
    }

    /// Lets matching requests pass before the first that fails.
    #[must_use]
    pub fn after(mut self, skip: usize) -> Self {
        self.skip = skip;
        self
    }

    fn matches(&self, method: &str, path: &str) -> bool {
        let (named, pattern) = self.route.split_once(' ').unwrap_or(("*", &self.route));
        (named == "*" || named == method) && matches_path(pattern, path)
    }
}

fn matches_path(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    for part in pattern.split('/') {
        match (part, segments.next()) {
            ("**", _) => return true,
            ("*", Some(_)) => {}
            (part, Some(segment)) if part == segment => {}
            _ => return false,
        }
    }
    segments.next().is_none()
}

/// The faults that are set.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Vec<Fault>>);

impl Faults {
    pub(crate) fn add(&self, fault: Fault) {
        locked(&self.0).push(fault);
    }

    pub(crate) fn clear(&self) {
        locked(&self.0).clear();
    }

    /// Returns the fault of a request, and counts it.
    pub(crate) fn take(&self, method: &str, path: &str) -> Option<FaultKind> {
        let mut faults = locked(&self.0);
        for fault in faults.iter_mut().filter(|fault| fault.matches(method, path)) {
            match (&mut fault.skip, &mut fault.times) {
                (skip @ 1.., _) => *skip -= 1,
                (_, Some(0)) => {}
                (_, Some(times)) => {
                    *times -= 1;
                    return Some(fault.kind.clone());
                }
                (_, None) => return Some(fault.kind.clone()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_a_method_and_segments() {
        for (route, method, path, expected) in [
            ("POST /sandbox", "POST", "/sandbox", true),
            ("POST /sandbox", "GET", "/sandbox", false),
            ("POST /sandbox", "POST", "/sandbox/x", false),
            ("* /sandbox/*", "DELETE", "/sandbox/x", true),
            ("GET /sandbox/*", "GET", "/sandbox", false),
            ("GET /toolbox/*/files/**", "GET", "/toolbox/x/files/info", true),
            ("GET /toolbox/*/files/**", "GET", "/toolbox/x/process", false),
            ("/**", "PUT", "/anything/at/all", true),
        ] {
            assert_eq!(Fault::once(route, FaultKind::Hang).matches(method, path), expected, "{route}: {method} {path}");
        }
    }

    #[test]
    fn a_fault_waits_fails_and_is_used_up() {
        let faults = Faults::default();
        faults.add(Fault::times("GET /a", 2, FaultKind::Hang).after(1));
        faults.add(Fault::always("GET /**", FaultKind::LostAnswer));
        let taken: Vec<_> = (0..4).map(|_| faults.take("GET", "/a")).collect();
        let (hang, lost) = (Some(FaultKind::Hang), Some(FaultKind::LostAnswer));
        assert_eq!(taken, [lost.clone(), hang.clone(), hang, lost]);
        assert_eq!(faults.take("POST", "/a"), None);
    }
}
