//! The server: connections, who may call, and the record of requests.

use std::{io, sync::Arc};

use hyper::{
    Method, Request, StatusCode, body::Incoming, header::AUTHORIZATION, server::conn::http1, service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    Fault, SeenRequest,
    answer::{Answer, Answered, Refused, empty, ok},
    call::Call,
    control, faulty,
    shared::Shared,
    toolbox,
};

/// The header with the token of a port.
pub(crate) const PREVIEW_TOKEN: &str = "x-daytona-preview-token";
/// The same as a parameter, for browsers.
const PREVIEW_PARAMETER: &str = "DAYTONA_SANDBOX_AUTH_KEY";

/// Accepts connections until the task is aborted, which also ends the connections.
pub(crate) async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(connection(stream, Arc::clone(&shared)));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| serve(Arc::clone(&shared), request));
    // A client that goes away is not our failure, and a connection that a fault cuts is meant.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}

/// Answers a request. An error cuts the connection.
async fn serve(shared: Arc<Shared>, request: Request<Incoming>) -> io::Result<Answer> {
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let mut call = Call::new(request);
    let refused = |refused: Refused| refused.answer(&method, &path);
    if call.segments.first().is_some_and(|first| first == "stub") {
        return Ok(steer(&shared, call.below(1)).await.unwrap_or_else(refused));
    }
    shared.requests.add(SeenRequest::of(&call.request));
    if let Err(why) = check_caller(&shared, &call) {
        return Ok(refused(why));
    }
    call.fault = shared.faults.take(&method, path.strip_prefix("/api").unwrap_or(&path));
    let fault = call.fault.clone();
    let answer = async { route(shared, call).await.unwrap_or_else(refused) };
    faulty::answer(fault, answer).await
}

async fn route(shared: Arc<Shared>, call: Call) -> Answered {
    match call.segments.first().map(String::as_str) {
        Some("api") => control::route(&shared, call.below(1)).await,
        Some("toolbox") => toolbox::route(&shared, call.below(1)).await,
        Some("preview") => toolbox::preview(&shared, call.below(1)).await,
        _ => Err(Refused::not_found("route not found")),
    }
}

/// Checks the key, or the token where a port is asked for.
fn check_caller(shared: &Shared, call: &Call) -> Result<(), Refused> {
    let key = call.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if key.and_then(|key| key.strip_prefix("Bearer ")) == Some(&shared.options.api_key) {
        return Ok(());
    }
    let segments: Vec<&str> = call.segments.iter().map(String::as_str).collect();
    let (id, port) = match segments[..] {
        ["preview", id, port, ..] | ["toolbox", id, "proxy", port, ..] => (id, port),
        _ => return Err(unauthorized()),
    };
    let token = call.header(PREVIEW_TOKEN).or_else(|| call.parameter(PREVIEW_PARAMETER));
    let record = shared.record(id).ok_or_else(unauthorized)?;
    match port.parse() {
        Ok(port) if record.is_public() || token.is_some_and(|token| record.accepts(port, token)) => Ok(()),
        _ => Err(unauthorized()),
    }
}

fn unauthorized() -> Refused {
    Refused::new(StatusCode::UNAUTHORIZED, "invalid credentials").code("UNAUTHORIZED")
}

/// The routes by which tests in other processes control the stub.
async fn steer(shared: &Shared, mut call: Call) -> Answered {
    let name = call.segments.first().cloned().unwrap_or_default();
    match (call.method(), name.as_str()) {
        (&Method::POST, "faults") => {
            shared.faults.add(call.json::<Fault>().await?);
            empty(StatusCode::NO_CONTENT)
        }
        (&Method::DELETE, "faults") => {
            shared.faults.clear();
            empty(StatusCode::NO_CONTENT)
        }
        (&Method::GET, "requests") => ok(&shared.requests.all()),
        (&Method::DELETE, "requests") => {
            shared.requests.forget();
            empty(StatusCode::NO_CONTENT)
        }
        (&Method::GET, "counters") => ok(&shared.counters()),
        _ => Err(Refused::not_found("route not found")),
    }
}
