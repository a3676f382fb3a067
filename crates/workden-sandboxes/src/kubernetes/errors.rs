//! Errors of the cluster, in the cluster's own words.

use kube::{Error as KubeError, client::UpgradeConnectionError};
use workden_core::{Error, ErrorKind};

pub(super) use crate::served::shown;

/// Returns the error of a call to the cluster; `what` is what workden tried, such as "create the pod `x`".
pub(super) fn failed(what: &str, error: &KubeError) -> Error {
    let status = match error {
        KubeError::Api(status) => status,
        KubeError::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(code)) => {
            return stream_refused(what, code.as_u16()).unwrap_or_else(|| unreachable(what, error));
        }
        _ => return unreachable(what, error),
    };
    let said = shown(&status.message);
    let sentence = format!("cannot {what}: {said}");
    match status.code {
        401 => rejected_credentials(what),
        403 if is_permission(&status.message) => forbidden(sentence),
        403 => Error::new(ErrorKind::PermissionDenied, sentence)
            .hint("a quota or an admission policy of the namespace refuses it"),
        404 => Error::new(ErrorKind::NotFound, sentence),
        409 => Error::new(ErrorKind::Conflict, sentence),
        400 | 422 => Error::new(ErrorKind::InvalidArgument, sentence),
        429 | 503 => Error::new(ErrorKind::Busy, sentence).hint("the cluster is overloaded: try again later"),
        _ => Error::new(ErrorKind::Io, sentence),
    }
}

/// Returns the error of a stream that the cluster refuses to open. It gives a status for that, and no message.
fn stream_refused(what: &str, code: u16) -> Option<Error> {
    match code {
        401 => Some(rejected_credentials(what)),
        403 => Some(forbidden(format!("cannot {what}: the cluster does not permit it"))),
        404 => Some(Error::new(ErrorKind::NotFound, format!("cannot {what}: the pod does not run"))),
        _ => None,
    }
}

fn rejected_credentials(what: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, format!("cannot {what}: the cluster rejects the credentials"))
        .hint("they may have expired: log in again, and check with `kubectl auth whoami`")
}

fn forbidden(sentence: String) -> Error {
    Error::new(ErrorKind::PermissionDenied, sentence)
        .hint("`workden doctor --sandbox kubernetes` lists the permissions that workden needs")
}

/// Whether the cluster reports that an object does not exist.
pub(super) fn is_not_found(error: &KubeError) -> bool {
    code(error) == Some(404)
}

/// Whether the cluster reports that an object exists already.
pub(super) fn exists_already(error: &KubeError) -> bool {
    matches!(error, KubeError::Api(status) if status.code == 409 && status.reason == "AlreadyExists")
}

/// Returns the HTTP status of an error of the cluster.
pub(super) fn code(error: &KubeError) -> Option<u16> {
    match error {
        KubeError::Api(status) => Some(status.code),
        _ => None,
    }
}

/// Returns how long to wait before the same call can succeed, in seconds; `None` when repeating it is pointless.
pub(super) fn retry_after(error: &KubeError) -> Option<u64> {
    match error {
        KubeError::Api(status) if matches!(status.code, 429 | 500 | 502 | 503 | 504) => {
            Some(status.details.as_ref().map_or(0, |details| u64::from(details.retry_after_seconds)))
        }
        KubeError::HyperError(_) | KubeError::Service(_) | KubeError::ReadEvents(_) => Some(0),
        _ => None,
    }
}

/// Whether a refusal is about permissions. Quotas and admission policies refuse with the same status.
fn is_permission(message: &str) -> bool {
    message.contains(" cannot ") && message.contains("User ")
}

fn unreachable(what: &str, error: &KubeError) -> Error {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let sentence = format!("cannot {what}: the cluster cannot be reached: {}", shown(&cause.to_string()));
    Error::new(ErrorKind::Unreachable, sentence).hint("check it with `kubectl get pods`; the next call tries again")
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn said(code: u16, message: &str) -> Error {
        failed("create the pod `a`", &KubeError::Api(Status::failure(message, "").with_code(code).boxed()))
    }

    #[test]
    fn the_cluster_is_quoted_and_permissions_are_told_from_quotas() {
        let quota = "pods \"a\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2";
        let error = said(403, quota);
        assert_eq!(error.sentence(), format!("cannot create the pod `a`: {quota}"));
        assert!(error.hint_text().unwrap().contains("quota"));
        let role = "pods is forbidden: User \"u\" cannot create resource \"pods\" in API group \"\"";
        assert!(said(403, role).hint_text().unwrap().contains("doctor"));
        assert_eq!(said(503, "busy").kind(), ErrorKind::Busy);
        let stream = |code| {
            let code = http::StatusCode::from_u16(code).unwrap();
            let error = KubeError::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(code));
            failed("execute a program in `a`", &error).kind()
        };
        assert_eq!(stream(403), ErrorKind::PermissionDenied);
        assert_eq!(stream(404), ErrorKind::NotFound);
        assert_eq!(stream(500), ErrorKind::Unreachable);
        assert_eq!(said(401, "Unauthorized").kind(), ErrorKind::PermissionDenied);
    }
}
