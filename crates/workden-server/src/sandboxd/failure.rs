//! `SandboxdFailure`: an error in the form of sandboxd, `{"detail": ...}`.

use axum::{
    Json,
    body::to_bytes,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use workden::{Error, ErrorKind};

use crate::api_error::ApiError;

/// The status of a file route that says: use a command instead.
const BY_COMMAND: StatusCode = StatusCode::CONFLICT;
/// Bytes of an error that is put into another form.
const ERROR_BYTES: usize = 64 * 1024;
/// Marks an answer that is in their form already.
const IN_FORM: &str = "application/json; charset=utf-8";

/// An error of a call.
#[derive(Debug)]
pub(super) struct SandboxdFailure {
    status: StatusCode,
    detail: Value,
}

/// The result of a route.
pub(super) type SandboxdResult<T> = Result<T, SandboxdFailure>;

impl SandboxdFailure {
    pub(super) fn new(status: StatusCode, detail: impl Into<Value>) -> Self {
        Self { status, detail: detail.into() }
    }

    /// Returns the error of a session that does not exist for the caller.
    pub(super) fn no_session(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("No such session: {}", id.escape_debug()))
    }

    /// Returns the error of a file call: with the name of the exception that their client raises, or the status that
    /// tells it to use a command.
    pub(super) fn of_path(error: impl Into<ApiError>) -> Self {
        let error = error.into();
        let name = match error.error.kind() {
            ErrorKind::NotFound => "FileNotFoundError",
            ErrorKind::IsDirectory => "IsADirectoryError",
            ErrorKind::NotDirectory => "NotADirectoryError",
            ErrorKind::AlreadyExists => "FileExistsError",
            // A refusal, too: the client raises it, and a model reads why.
            ErrorKind::InvalidPath
            | ErrorKind::InvalidArgument
            | ErrorKind::Escapes
            | ErrorKind::Denied
            | ErrorKind::ApprovalNeeded
            | ErrorKind::ReadOnly => "ValueError",
            ErrorKind::NotRegular | ErrorKind::LinkLoop | ErrorKind::PermissionDenied => {
                return Self::by_command(error.error.sentence());
            }
            _ => return error.into(),
        };
        let status = if name == "FileNotFoundError" { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
        Self::new(status, json!({ "error": name, "message": sentence(&error.error) }))
    }

    /// Tells the client to do this by a command.
    pub(super) fn by_command(why: &str) -> Self {
        Self::new(BY_COMMAND, why)
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn detail(&self) -> &Value {
        &self.detail
    }
}

/// Returns an error with its hint, as a reader sees it.
pub(super) fn sentence(error: &Error) -> String {
    match error.hint_text() {
        Some(hint) => format!("{} (hint: {hint})", error.sentence()),
        None => error.sentence().to_owned(),
    }
}

impl From<ApiError> for SandboxdFailure {
    fn from(error: ApiError) -> Self {
        Self::new(error.status, sentence(&error.error))
    }
}

impl From<Error> for SandboxdFailure {
    fn from(error: Error) -> Self {
        ApiError::from(error).into()
    }
}

impl IntoResponse for SandboxdFailure {
    fn into_response(self) -> Response {
        let body = Json(json!({ "detail": self.detail }));
        (self.status, [(CONTENT_TYPE, IN_FORM)], body).into_response()
    }
}

/// Returns an error of another layer in this form.
pub(super) async fn translated(response: Response) -> Response {
    if response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == IN_FORM) {
        return response;
    }
    let (head, body) = response.into_parts();
    let body = to_bytes(body, ERROR_BYTES).await.unwrap_or_default();
    let ours = serde_json::from_slice::<Value>(&body).ok();
    let message = ours.as_ref().and_then(|ours| ours.pointer("/error/message")?.as_str());
    let detail = message.map_or_else(|| String::from_utf8_lossy(&body).into_owned(), str::to_owned);
    SandboxdFailure::new(head.status, detail).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_path_has_the_name_of_their_exception_or_asks_for_a_command() {
        for (kind, status, name) in [
            (ErrorKind::NotFound, 404, Some("FileNotFoundError")),
            (ErrorKind::IsDirectory, 400, Some("IsADirectoryError")),
            (ErrorKind::Denied, 400, Some("ValueError")),
            (ErrorKind::NotRegular, 409, None),
            (ErrorKind::Gone, 410, None),
            (ErrorKind::NoSpace, 507, None),
        ] {
            let failure = SandboxdFailure::of_path(Error::new(kind, "no").hint("ask"));
            assert_eq!(failure.status().as_u16(), status, "{kind:?}");
            assert_eq!(failure.detail().get("error").and_then(Value::as_str), name, "{kind:?}");
        }
    }
}
