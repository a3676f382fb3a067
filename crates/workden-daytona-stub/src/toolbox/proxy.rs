//! Requests to a port of a sandbox, passed on as they are, upgrades included. No header is removed, `Authorization`
//! neither: a test can see at the port whether a client sends its key there.

use http_body_util::BodyExt;
use hyper::{
    Response, StatusCode, Uri,
    client::conn::http1,
    header::UPGRADE,
    upgrade::{OnUpgrade, Upgraded},
};
use hyper_util::rt::TokioIo;

use super::relay::{self, Relay, RelayGuard};
use crate::{
    answer::{Answered, Refused, full},
    call::Call,
    place::Place,
};

/// Passes a request on, without the first segments of its path.
pub(super) async fn pass_on(place: &Place, port: &str, call: Call, depth: usize) -> Answered {
    let port: u16 = port.parse().map_err(|_| Refused::invalid(format!("invalid port `{port}`")))?;
    let mut request = call.request;
    *request.uri_mut() = below(request.uri(), depth)?;
    let upgrade = request.headers().contains_key(UPGRADE).then(|| hyper::upgrade::on(&mut request));
    let Relay { stream, guard } = relay::connect(place, port).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
    tokio::spawn(connection.with_upgrades());
    let mut response = sender.send_request(request).await.map_err(|error| broken(&error))?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS
        && let Some(upgrade) = upgrade
    {
        tokio::spawn(join(upgrade, hyper::upgrade::on(&mut response), guard));
        return Ok(response.map(|_| full(bytes::Bytes::new())));
    }
    Ok(held(response, guard))
}

fn broken(error: &hyper::Error) -> Refused {
    Refused::new(StatusCode::BAD_GATEWAY, format!("the port of the sandbox does not answer: {error}"))
}

/// Returns what follows the first segments, with the query.
fn below(uri: &Uri, depth: usize) -> Result<Uri, Refused> {
    let path: Vec<&str> = uri.path().splitn(depth + 2, '/').collect();
    let path = path.get(depth + 1).copied().unwrap_or_default();
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("/{path}{query}").parse().map_err(|_| Refused::invalid("invalid path"))
}

/// Keeps the connection to the port until the body has been passed on.
fn held(response: Response<hyper::body::Incoming>, guard: RelayGuard) -> Response<crate::answer::Body> {
    response.map(|body| {
        let body = body.map_frame(move |frame| {
            let _ = &guard;
            frame
        });
        body.map_err(std::io::Error::other).boxed_unsync()
    })
}

/// Copies both ways until one side ends.
async fn join(client: OnUpgrade, port: OnUpgrade, guard: RelayGuard) {
    let (Ok(client), Ok(port)) = tokio::join!(client, port) else { return };
    let split = |side: Upgraded| tokio::io::split(TokioIo::new(side));
    let ((mut from_client, mut to_client), (mut from_port, mut to_port)) = (split(client), split(port));
    tokio::select! {
        // The relay cannot pass on that only one direction ends.
        _ = tokio::io::copy(&mut from_client, &mut to_port) => {}
        _ = tokio::io::copy(&mut from_port, &mut to_client) => {
            let _ = tokio::io::AsyncWriteExt::shutdown(&mut to_client).await;
        }
    }
    drop(guard);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_sees_its_own_path() {
        for (uri, depth, expected) in [
            ("/toolbox/id/proxy/80/a/b%20c?d=e", 4, "/a/b%20c?d=e"),
            ("/toolbox/id/proxy/80/", 4, "/"),
            ("/preview/id/80", 3, "/"),
            ("/preview/id/80//x", 3, "//x"),
        ] {
            assert_eq!(below(&uri.parse().unwrap(), depth).unwrap().to_string(), expected, "{uri}");
        }
    }
}
