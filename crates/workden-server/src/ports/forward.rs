//! One request to a server in a session, and its answer. Websockets, too.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::Request,
    http::{StatusCode, Uri, Version, uri::PathAndQuery},
    response::Response,
};
use futures_util::StreamExt;
use hyper::{client::conn::http1, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio_util::compat::FuturesAsyncReadCompatExt;
use workden::{Error, ErrorKind, Result, Sandbox};

use super::{
    Place, PortVisit,
    headers::{to_client, to_server, upgrade_of},
};
use crate::{
    listening::Arrival,
    service::Service,
    sessions::{LiveSession, SessionUse},
};

/// Forwards a request. The session is in use until the answer, or the connection it became, has ended.
pub(crate) async fn forward(
    service: &Arc<Service>,
    visit: &PortVisit,
    place: &Place,
    request: Request,
) -> Result<Response> {
    let in_use = LiveSession::begin_use(&visit.live);
    let workspace = visit.live.workspace(service, &visit.principal);
    let stream = workspace.commands()?.connect_port(visit.port).await?;
    let opened = http1::handshake(TokioIo::new(stream.compat())).await;
    let (mut server, connection) = opened.map_err(|error| unreadable(visit.port).with_source(error))?;
    service.tasks.spawn(async move {
        // The caller gets the error of its own call.
        let _ = connection.with_upgrades().await;
    });
    let (request, of_client) = to_send(request, place, visit.port)?;
    let answered = server.send_request(request).await;
    let mut answer = answered.map_err(|error| unreadable(visit.port).with_source(error))?;
    let of_server = hyper::upgrade::on(&mut answer);
    let (mut head, body) = answer.into_parts();
    to_client(&mut head.headers, place);
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        let Some(of_client) = of_client else { return Err(unreadable(visit.port)) };
        service.tasks.spawn(joined(of_client, of_server, in_use));
        return Ok(Response::from_parts(head, Body::empty()));
    }
    let pieces = Body::new(body).into_data_stream().map(move |piece| {
        let _ = &in_use;
        piece
    });
    Ok(Response::from_parts(head, Body::from_stream(pieces)))
}

/// Returns the request for the server, and the connection of the client if it is to change its protocol.
fn to_send(mut request: Request, place: &Place, port: u16) -> Result<(Request, Option<OnUpgrade>)> {
    let arrival = request.extensions().get::<Arrival>().copied().unwrap_or_default();
    let is_upgrade = request.version() == Version::HTTP_11 && upgrade_of(request.headers()).is_some();
    let of_client = is_upgrade.then(|| hyper::upgrade::on(&mut request));
    let inside = match place {
        Place::Path(prefix) => request.uri().path().strip_prefix(prefix.as_str()).unwrap_or("/"),
        Place::HostName => request.uri().path(),
    };
    let inside = request.uri().query().map_or_else(|| inside.to_owned(), |query| format!("{inside}?{query}"));
    let inside: PathAndQuery =
        inside.parse().map_err(|_| Error::new(ErrorKind::InvalidArgument, "invalid path: it is not one of a URL"))?;
    let host = request.uri().host().map(str::to_owned);
    *request.uri_mut() = Uri::from(inside);
    *request.version_mut() = Version::HTTP_11;
    // HTTP/2 has the host name in the address.
    if let (false, Some(Ok(host))) = (request.headers().contains_key("host"), host.map(TryInto::try_into)) {
        request.headers_mut().insert("host", host);
    }
    to_server(request.headers_mut(), place, port, &arrival);
    Ok((request, of_client))
}

/// Copies bytes both ways until one side ends.
async fn joined(of_client: OnUpgrade, of_server: OnUpgrade, _in_use: SessionUse) {
    // A side that is gone is the end of the connection.
    let (Ok(client), Ok(server)) = (of_client.await, of_server.await) else { return };
    let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(server)).await;
}

fn unreadable(port: u16) -> Error {
    Error::new(ErrorKind::Unreachable, format!("the server on port {port} does not answer in HTTP/1.1"))
        .hint("look at its output: it may have ended, or speak another protocol")
}
