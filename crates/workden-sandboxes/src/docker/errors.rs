//! Converts errors of the daemon.

use bollard::errors::Error as DaemonError;
use workden_core::{Error, ErrorKind};

/// Longest message of a daemon that is passed on, in characters.
const LONGEST: usize = 600;

/// Converts the error of a call; `None` when the daemon did not answer at all.
pub(super) fn failed(what: &str, error: &DaemonError) -> Option<Error> {
    match error {
        DaemonError::DockerResponseServerError { status_code, message } => Some(answered(what, *status_code, message)),
        DaemonError::DockerStreamError { error } => {
            Some(Error::new(ErrorKind::Io, format!("cannot {what}: {}", shown(error))))
        }
        DaemonError::RequestTimeoutError => {
            Some(Error::new(ErrorKind::Unreachable, format!("cannot {what}: the Docker daemon does not answer")))
        }
        DaemonError::JsonDataError { .. } | DaemonError::JsonSerdeError { .. } => {
            Some(Error::new(ErrorKind::Io, format!("cannot {what}: the Docker daemon sent an invalid response")))
        }
        _ => None,
    }
}

/// Whether the daemon reports that the object does not exist.
pub(super) fn is_not_found(error: &DaemonError) -> bool {
    matches!(error, DaemonError::DockerResponseServerError { status_code: 404, .. })
}

/// Whether the daemon reports a conflict with an existing object or its state. Podman answers 500 when two clients
/// create something of one name at the same moment.
pub(super) fn is_conflict(error: &DaemonError) -> bool {
    match error {
        DaemonError::DockerResponseServerError { status_code: 409, .. } => true,
        DaemonError::DockerResponseServerError { status_code: 500, message } => message.contains("is already in use"),
        _ => false,
    }
}

fn answered(what: &str, status: u16, message: &str) -> Error {
    let kind = match status {
        400 => ErrorKind::InvalidArgument,
        403 => ErrorKind::PermissionDenied,
        404 => ErrorKind::NotFound,
        409 => ErrorKind::Busy,
        _ if message.contains("no space left on device") => ErrorKind::NoSpace,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("cannot {what}: {}", shown(message)))
}

/// Returns the innermost cause of an error: "Connection refused", not "client error (Connect)".
pub(super) fn innermost(error: &DaemonError) -> String {
    if let DaemonError::SocketNotFoundError(_) = error {
        return "socket not found".to_owned();
    }
    let mut at: &dyn std::error::Error = error;
    while let Some(deeper) = at.source() {
        at = deeper;
    }
    shown(&at.to_string())
}

/// Shortens a message to one line of bounded length.
pub(super) fn shown(message: &str) -> String {
    let line: String = message.trim().chars().map(|each| if each.is_control() { ' ' } else { each }).collect();
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(status_code: u16, message: &str) -> DaemonError {
        DaemonError::DockerResponseServerError { status_code, message: message.to_owned() }
    }

    #[test]
    fn a_name_that_is_taken_is_a_conflict_however_it_is_told() {
        let by_podman =
            "container create: creating container storage: the container name \"x\" is already in use by 1635";
        assert!(is_conflict(&server(409, "Conflict")) && is_conflict(&server(500, by_podman)));
        assert!(!is_conflict(&server(500, "no space left on device")) && !is_conflict(&server(404, by_podman)));
    }

    #[test]
    fn answers_have_kinds() {
        for (status, message, kind) in [
            (404, "No such image: x", ErrorKind::NotFound),
            (409, "Conflict", ErrorKind::Busy),
            (500, "write /x: no space left on device", ErrorKind::NoSpace),
            (500, "else", ErrorKind::Io),
        ] {
            let error = failed("create a container", &server(status, message)).unwrap();
            assert_eq!((error.kind(), error.sentence().contains(message)), (kind, true));
        }
        assert!(failed("x", &DaemonError::SocketNotFoundError("/x".to_owned())).is_none());
    }

    #[test]
    fn messages_are_one_line_of_bounded_length() {
        let said = shown(&format!("a\nb\u{1b}[2J{}", "x".repeat(5000)));
        assert!(said.starts_with("a b") && said.len() < 700 && !said.contains(['\n', '\u{1b}']));
    }
}
