//! Trees as archives: an archive arrives or is sent as a body. A trailer after a sent body has its outcome.

use std::sync::Arc;

use axum::{Router, body::Body, extract::State, http::HeaderMap, response::Response, routing::get};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderName, HeaderValue};
use http_body_util::StreamBody;
use hyper::body::Frame;
use workden_core::{Backend, Error, Result};

use super::{
    Shared,
    answer::{answer, refusal},
    content::{pieces, raw},
};
use crate::{
    calls::{Call, Tree},
    header::{self, ANSWER, ARGUMENTS, FAILURE},
    tree::{Packer, unpack},
};

pub(super) fn routes() -> Router<Shared> {
    Router::new().route(Tree::PATH, get(download).put(upload))
}

async fn upload(State(served): State<Shared>, headers: HeaderMap, body: Body) -> Response {
    let outcome = async {
        let call: Tree = header::from_header(&headers, ARGUMENTS)?;
        let files: &dyn Backend = &*served.sandbox;
        unpack(files, &call.at, pieces(body)).await
    };
    answer(outcome.await)
}

async fn download(State(served): State<Shared>, headers: HeaderMap) -> Response {
    let begun = async {
        let call: Tree = header::from_header(&headers, ARGUMENTS)?;
        let files: Arc<dyn Backend> = Arc::clone(&served.sandbox) as Arc<dyn Backend>;
        let mut packer = Packer::new(files, call.at.into_owned());
        // An error before the first piece is an ordinary response.
        let first = packer.next().await?;
        Ok((packer, first))
    };
    match begun.await {
        Ok((packer, first)) => raw(archive(packer, first)),
        Err(error) => refusal(&error),
    }
}

fn archive(packer: Packer, first: Option<Bytes>) -> Body {
    let frames = stream::unfold((Some(packer), first), |(packer, first)| async move {
        let mut packer = packer?;
        let next = match first {
            Some(piece) => Ok(Some(piece)),
            None => packer.next().await,
        };
        match next {
            Ok(Some(piece)) => Some((Ok::<_, Error>(Frame::data(piece)), (Some(packer), None))),
            Ok(None) => Some((trailer(ANSWER, header::to_header(&packer.report())), (None, None))),
            Err(error) => Some((trailer(FAILURE, header::to_header(&error)), (None, None))),
        }
    });
    Body::new(StreamBody::new(frames))
}

fn trailer(name: &'static str, value: Result<HeaderValue>) -> Result<Frame<Bytes>> {
    let name = HeaderName::from_static(name);
    value.map(|value| Frame::trailers(HeaderMap::from_iter([(name, value)])))
}
