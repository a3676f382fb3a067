//! Deadlines of a request: its body keeps arriving, and its answer starts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header::CONNECTION},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::{Stream, StreamExt};
use tokio::time::timeout;
use workden::{Error, ErrorKind};

use crate::{api_error::ApiError, service::Service};

/// Gives up requests whose body stops arriving, and calls that are not answered in time. What a call has started in a
/// sandbox ends with it, as when its client goes away.
pub(crate) async fn within_deadlines(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let limits = service.config().limits.clone();
    let is_late = Arc::new(AtomicBool::new(false));
    let request = match request.body().is_end_stream() {
        true => request,
        false => request.map(|body| Body::from_stream(patient(body, limits.body(), Arc::clone(&is_late)))),
    };
    let answered = timeout(limits.answer(), next.run(request)).await;
    if is_late.load(Ordering::Relaxed) {
        return too_slow(limits.body_seconds);
    }
    answered.unwrap_or_else(|_| {
        let sentence = format!("the call timed out after {} s", limits.answer_seconds);
        let hint = "follow the output, or start a background job; `limits.answer_seconds` is in the configuration";
        ApiError::from(Error::new(ErrorKind::TimedOut, sentence).hint(hint)).into_response()
    })
}

/// Returns a body that fails when nothing of it arrives for a time.
fn patient(body: Body, patience: Duration, is_late: Arc<AtomicBool>) -> impl Stream<Item = Result<Bytes, axum::Error>> {
    let mut pieces = body.into_data_stream();
    async_stream::stream! {
        loop {
            match timeout(patience, pieces.next()).await {
                Ok(Some(piece)) => yield piece,
                Ok(None) => return,
                Err(late) => {
                    is_late.store(true, Ordering::Relaxed);
                    yield Err(axum::Error::new(late));
                    return;
                }
            }
        }
    }
}

fn too_slow(seconds: u64) -> Response {
    let error = Error::new(ErrorKind::TimedOut, format!("nothing of the body of the request arrived for {seconds} s"));
    let mut response = ApiError { status: StatusCode::REQUEST_TIMEOUT, error }.into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
