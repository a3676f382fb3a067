//! The code interpreter: port 49999 of a sandbox, which this service answers itself.
//!
//! Code needs the token of the sandbox. Its clients send none with calls for contexts, so those follow the rules of
//! ports: open to everyone who knows the name of a published sandbox. Such a call starts no process.

mod answer;
mod budget;
mod context;
mod jobs;
mod kernel;
mod messages;

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json, Router,
    body::Body,
    extract::{DefaultBodyLimit, Path},
    http::{StatusCode, header::CONTENT_TYPE},
    middleware,
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
pub(crate) use context::CodeContexts;
use context::{CodeContext, ContextView};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;

use super::{
    envd::EnvdCall,
    failure::{E2bBody, E2bFailure},
};
use crate::{operations::stored_before_answered, service::Service, sessions::LiveSession};

/// The port at which clients reach the interpreter.
pub(super) const INTERPRETER: u16 = 49999;
/// Where the contexts are: their calls come without the token of the sandbox.
pub(super) const CONTEXTS: &str = "/contexts";
/// Bytes of a body: those of the longest code, with its escapes.
const BODY_BYTES: usize = 4 << 20;
/// Characters of code in a record.
const RECORDED: usize = 4000;

/// A context to create.
#[derive(Debug, Deserialize)]
struct NewContext {
    language: Option<String>,
    cwd: Option<String>,
}

/// Code to run, in a context or in the default one.
#[derive(Debug, Deserialize)]
struct NewExecution {
    code: String,
    context_id: Option<String>,
    language: Option<String>,
    env_vars: Option<BTreeMap<String, String>>,
}

/// Returns the routes of the interpreter of a sandbox.
pub(super) fn router(service: &Arc<Service>) -> Router {
    Router::new()
        .route("/execute", post(execute))
        .route(CONTEXTS, get(list).post(create))
        .route("/contexts/{id}", delete(remove))
        .route("/contexts/{id}/restart", post(restart))
        .fallback(async || E2bFailure::new(StatusCode::NOT_FOUND, "path not found"))
        .layer(middleware::from_fn_with_state(Arc::clone(service), stored_before_answered))
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .with_state(Arc::clone(service))
}

/// Refuses every language but Python.
fn check_language(language: Option<&str>) -> Result<(), E2bFailure> {
    match language.map(str::to_ascii_lowercase).as_deref() {
        None | Some("" | "python" | "python3") => Ok(()),
        Some(other) => {
            Err(E2bFailure::not_offered(&format!("the language `{}`: use python; it", other.escape_debug())))
        }
    }
}

fn missing(id: &str) -> E2bFailure {
    E2bFailure::new(StatusCode::NOT_FOUND, format!("Context {} not found", id.escape_debug()))
}

async fn list(call: EnvdCall) -> Result<Json<Vec<ContextView>>, E2bFailure> {
    let home = call.home().await?;
    // Clients expect that it is there before they use it.
    call.live.contexts.default_context(&home)?;
    Ok(Json(call.live.contexts.all().iter().map(|context| context.view()).collect()))
}

async fn create(call: EnvdCall, E2bBody(new): E2bBody<NewContext>) -> Result<Json<ContextView>, E2bFailure> {
    check_language(new.language.as_deref())?;
    // Whether the directory exists is seen by the first code: callers without a token must not learn it.
    let directory = match new.cwd.as_deref().filter(|cwd| !cwd.is_empty()) {
        Some(cwd) => call.path(cwd).await?,
        None => call.home().await?,
    };
    Ok(Json(call.live.contexts.create(directory)?.view()))
}

async fn remove(call: EnvdCall, Path(id): Path<String>) -> Result<StatusCode, E2bFailure> {
    match call.live.contexts.remove(&id) {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(missing(&id)),
    }
}

/// Ends the kernel of a context. The next code starts another, without the variables.
async fn restart(call: EnvdCall, Path(id): Path<String>) -> Result<StatusCode, E2bFailure> {
    call.live.contexts.find(&id).ok_or_else(|| missing(&id))?.stop();
    Ok(StatusCode::NO_CONTENT)
}

/// Runs code, and answers with what it prints and shows, as it comes. A client that goes away interrupts it.
async fn execute(call: EnvdCall, E2bBody(new): E2bBody<NewExecution>) -> Result<Response, E2bFailure> {
    check_language(new.language.as_deref())?;
    let context: Arc<CodeContext> = match new.context_id.as_deref().filter(|id| !id.is_empty()) {
        Some(_) if new.language.is_some() => {
            return Err(E2bFailure::invalid("use `context_id` or `language`, not both"));
        }
        Some(id) => call.live.contexts.find(id).ok_or_else(|| missing(id))?,
        None => call.live.contexts.default_context(&call.home().await?)?,
    };
    let shown: String = new.code.chars().take(RECORDED).collect();
    call.recorder().tell("code_run", &json!({ "context": context.id(), "code": shown }));
    let in_use = LiveSession::begin_use(&call.live);
    let answer = context.run(&call, new.code, new.env_vars.unwrap_or_default()).await?;
    answer.look_after();
    let body = stream::unfold((answer, in_use), async |(answer, in_use)| {
        let piece = answer.next().await?;
        Some((piece, (answer, in_use)))
    });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(body)).into_response())
}
