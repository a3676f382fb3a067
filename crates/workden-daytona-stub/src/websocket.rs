//! WebSockets: the handshake, over the connection of a request.

use futures_util::future::BoxFuture;
use hyper::{
    Response, StatusCode,
    header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL, UPGRADE},
    upgrade::Upgraded,
};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role, frame::coding::CloseCode},
    },
};

use crate::{
    answer::{Answered, Refused, full},
    call::Call,
};

pub(crate) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Whether a request asks for a WebSocket.
pub(crate) fn is_wanted(call: &Call) -> bool {
    call.header("upgrade").is_some_and(|to| to.eq_ignore_ascii_case("websocket"))
}

/// Returns whether the client offers a subprotocol whose name starts so, and its whole name.
pub(crate) fn offered(call: &Call, start: &str) -> Option<String> {
    let offered = call.header(SEC_WEBSOCKET_PROTOCOL.as_str())?.split(',').map(str::trim);
    offered.into_iter().find(|name| name.starts_with(start)).map(str::to_owned)
}

/// Accepts a WebSocket and serves it in a task of its own.
pub(crate) fn accept(
    mut call: Call,
    protocol: Option<&str>,
    serve: impl FnOnce(Socket) -> BoxFuture<'static, ()> + Send + 'static,
) -> Answered {
    let key = call.header("sec-websocket-key").filter(|_| is_wanted(&call));
    let key = key.ok_or_else(|| Refused::invalid("this route requires a WebSocket"))?;
    let accepted = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    let accepted = accepted.map_err(|_| Refused::invalid("invalid WebSocket key"))?;
    let upgrade = hyper::upgrade::on(&mut call.request);
    tokio::spawn(async move {
        if let Ok(connection) = upgrade.await {
            serve(WebSocketStream::from_raw_socket(TokioIo::new(connection), Role::Server, None).await).await;
        }
    });
    let mut answer = Response::new(full(bytes::Bytes::new()));
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = answer.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    if let Some(protocol) = protocol.and_then(|name| HeaderValue::from_str(name).ok()) {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    Ok(answer)
}

/// Closes a WebSocket, and waits until the client has closed it.
pub(crate) async fn close(mut socket: Socket, reason: &str) {
    use futures_util::StreamExt;
    let frame = CloseFrame { code: CloseCode::Normal, reason: reason.into() };
    if socket.close(Some(frame)).await.is_ok() {
        while socket.next().await.is_some_and(|message| message.is_ok()) {}
    }
}
