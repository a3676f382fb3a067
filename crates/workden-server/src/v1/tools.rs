//! `/v1/sessions/{id}/tools`: the tools of a model, as JSON Schema, and one call for all of them.

use std::sync::Arc;

use axum::Json;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use workden_tools::{Attachment, ToolSpec};

use super::session::{NamedSession, OpenSession};
use crate::{
    api_input::ApiJson,
    service::{Answer, Service},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(call))
}

/// List the tools
///
/// The tools that the policy of the session permits, with descriptions and schemas for a model.
#[utoipa::path(get, operation_id = "list_tools", path = "/v1/sessions/{id}/tools", tag = "tools", params(NamedSession),
    responses((status = 200, description = "The tools", body = Vec<Object>)))]
pub(super) async fn list(session: OpenSession) -> Answer<Json<Vec<ToolSpec>>> {
    Ok(Json(session.toolset()?.list().to_vec()))
}

/// A call of a tool.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolCall {
    /// The name of the tool.
    #[schema(example = "read_file")]
    name: String,
    /// Its arguments.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Map<String, Value>>,
}

/// The answer of a tool, for a model.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ToolCallAnswer {
    /// The text for the model.
    text: String,
    /// Whether the call failed or was refused; the text says why and what to do.
    is_error: bool,
    /// The same as data, if the tool has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    structured: Option<Value>,
    /// Images and documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<AttachmentView>,
}

/// An image or a document.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AttachmentView {
    media_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    base64: String,
}

/// Call a tool
///
/// A refusal or a failure of the tool is an answer for the model, with status 200.
#[utoipa::path(post, operation_id = "call_tool", path = "/v1/sessions/{id}/tools", tag = "tools", params(NamedSession),
    request_body = ToolCall, responses((status = 200, description = "The answer", body = ToolCallAnswer)))]
pub(super) async fn call(session: OpenSession, ApiJson(call): ApiJson<ToolCall>) -> Answer<Json<ToolCallAnswer>> {
    let _in_use = session.begin_use();
    let answered = session.toolset()?.call(&call.name, call.arguments.unwrap_or_default().into()).await;
    Ok(Json(match answered {
        Ok(answer) => ToolCallAnswer {
            text: answer.text,
            is_error: false,
            structured: answer.structured,
            attachments: answer.attachments.into_iter().filter_map(attachment).collect(),
        },
        Err(failure) => {
            ToolCallAnswer { text: failure.text, is_error: true, structured: None, attachments: Vec::new() }
        }
    }))
}

fn attachment(attachment: Attachment) -> Option<AttachmentView> {
    let (media_type, name, bytes) = match attachment {
        Attachment::Image { media_type, bytes } => (media_type, None, bytes),
        Attachment::Document { media_type, name, bytes } => (media_type, Some(name), bytes),
        _ => return None,
    };
    Some(AttachmentView { media_type, name, base64: BASE64_STANDARD.encode(bytes) })
}
