//! Control of a running process: its input, its signals, and the size of its terminal.

use std::{future::Future, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::HeaderMap,
    response::Response,
    routing::{MethodRouter, post, put},
};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use workden_core::{Result, sandbox::ProcessControl};

use super::{
    Shared,
    answer::{answer, arguments},
    content::pieces,
};
use crate::{
    calls::{Call, CloseInput, Input, Resize, SendSignal},
    header::{self, ARGUMENTS},
};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route(Input::PATH, put(input))
        .route(CloseInput::PATH, control(|c: &CloseInput| *c.process, |to, _| async move { to?.close_input().await }))
        .route(
            SendSignal::PATH,
            control(
                |c: &SendSignal| *c.process,
                |to, c| async move {
                    match to {
                        Ok(process) => process.signal(*c.signal).await,
                        // A signal to an ended process is not an error.
                        Err(_) => Ok(()),
                    }
                },
            ),
        )
        .route(Resize::PATH, control(|c: &Resize| *c.process, |to, c| async move { to?.resize(*c.size).await }))
}

/// Returns the route of a control call for a process.
fn control<C, F, R>(process: fn(&C) -> u64, run: F) -> MethodRouter<Shared>
where
    C: Call + DeserializeOwned + Send + 'static,
    F: Fn(Result<Arc<dyn ProcessControl>>, C) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<()>> + Send + 'static,
{
    post(move |State(served): State<Shared>, body: Body| async move {
        let outcome = async {
            let call = arguments::<C>(body).await?;
            run(served.processes.find(process(&call)), call).await
        };
        answer(outcome.await)
    })
}

/// Streams input to the process: the next piece is read when the process has accepted the last.
async fn input(State(served): State<Shared>, headers: HeaderMap, body: Body) -> Response {
    let outcome = async {
        let call: Input = header::from_header(&headers, ARGUMENTS)?;
        let process = served.processes.find(*call.process)?;
        let mut pieces = pieces(body);
        while let Some(piece) = pieces.next().await {
            process.write(piece?).await?;
        }
        Ok(())
    };
    answer(outcome.await)
}
