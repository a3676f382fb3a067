//! Connections whose request was answered before its body was read.
//!
//! What is left of a body cannot be told from the next request, so the connection ends there. Its client is told, or it
//! would send the next request into a closed connection.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    body::{Body, BodyDataStream, Bytes, HttpBody},
    extract::Request,
    http::{HeaderValue, Version, header::CONNECTION},
    middleware::Next,
    response::Response,
};
use futures_util::{Stream, StreamExt};

/// A body that says whether it was dropped before its end.
struct WatchedBody {
    inner: BodyDataStream,
    is_left: Arc<AtomicBool>,
    is_read: bool,
}

impl Stream for WatchedBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.inner.poll_next_unpin(context);
        self.is_read |= matches!(next, Poll::Ready(None));
        next
    }
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        self.is_left.store(!self.is_read && !self.inner.is_end_stream(), Ordering::Relaxed);
    }
}

/// Tells a client that its connection ends because its body was not read.
pub(crate) async fn told_of_unread_bodies(request: Request, next: Next) -> Response {
    if request.version() > Version::HTTP_11 || request.body().is_end_stream() {
        return next.run(request).await;
    }
    let is_left = Arc::new(AtomicBool::new(false));
    let watched = Arc::clone(&is_left);
    let request = request.map(|body| {
        Body::from_stream(WatchedBody { inner: body.into_data_stream(), is_left: watched, is_read: false })
    });
    let mut response = next.run(request).await;
    if is_left.load(Ordering::Relaxed) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
