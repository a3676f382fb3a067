//! Trees to and from a sandbox at the other end of a byte stream, as archives.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, Method};
use hyper::body::{Body as _, Incoming};
use workden_core::{ContentStream, Result, VirtualPath};

use super::{
    RemoteSandbox,
    connection::{answer, broken},
    files::body_of,
};
use crate::{
    calls::Tree,
    errors,
    header::{ANSWER, FAILURE, from_header},
    tree::TreeReport,
};

impl RemoteSandbox {
    /// Sends an archive, which the other side unpacks while it arrives; see [`unpack`](crate::tree::unpack).
    ///
    /// # Errors
    ///
    /// Returns the errors of `unpack` and of the archive itself.
    pub async fn upload_tree(&self, at: &VirtualPath, archive: ContentStream) -> Result<TreeReport> {
        let (body, failure) = body_of(archive);
        let report = match self.connection.with_body(Method::PUT, &Tree::new(at), body).await {
            Ok(response) => answer::<Tree<'_>>(response).await,
            Err(error) => Err(error),
        };
        failure.instead_of(report)
    }

    /// Downloads a directory or a file as an archive; see [`Packer`](crate::tree::Packer).
    ///
    /// # Errors
    ///
    /// Returns an error if packing cannot start. Later errors are in the stream.
    pub async fn download_tree(&self, at: &VirtualPath) -> Result<TreeDownload> {
        let response = self.connection.with_body(Method::GET, &Tree::new(at), Body::empty()).await?;
        Ok(TreeDownload { body: Some(response.into_body()), report: None })
    }
}

/// An archive in pieces. It is complete if the stream ends without an error.
#[derive(Debug)]
pub struct TreeDownload {
    body: Option<Incoming>,
    report: Option<TreeReport>,
}

impl TreeDownload {
    /// Returns the report of the transfer; `None` before the end of the stream.
    #[must_use]
    pub fn report(&self) -> Option<TreeReport> {
        self.report
    }

    fn end(&mut self, trailers: &HeaderMap) -> Option<Result<Bytes>> {
        if trailers.contains_key(FAILURE) {
            return Some(Err(from_header(trailers, FAILURE).unwrap_or_else(|error| error)));
        }
        match from_header(trailers, ANSWER) {
            Ok(report) => {
                self.report = Some(report);
                None
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl Stream for TreeDownload {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let last = match ready!(Pin::new(body).poll_frame(context)) {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(piece) => return Poll::Ready(Some(Ok(piece))),
                Err(frame) => self.end(&frame.into_trailers().unwrap_or_default()),
            },
            Some(Err(error)) => Some(Err(broken(error))),
            None => Some(Err(errors::gone())),
        };
        self.body = None;
        Poll::Ready(last)
    }
}
