//! Tool results of the protocol. A failure is a result as well: the model reads it and can act on it.

use base64::{Engine, engine::general_purpose::STANDARD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};
use workden_tools::{Attachment, ToolAnswer, ToolFailure};

/// Converts the answer or the failure of a tool.
pub(crate) fn tool_result(outcome: Result<ToolAnswer, ToolFailure>) -> CallToolResult {
    match outcome {
        Ok(answer) => answered(answer),
        Err(failure) => failed(&failure),
    }
}

fn answered(answer: ToolAnswer) -> CallToolResult {
    let mut blocks = vec![ContentBlock::text(answer.text)];
    blocks.extend(answer.attachments.iter().filter_map(block));
    let mut result = CallToolResult::success(blocks);
    // Clients of older revisions take nothing but objects.
    result.structured_content = answer.structured.map(|data| match data {
        Value::Object(_) => data,
        other => json!({ "result": other }),
    });
    result
}

fn block(attachment: &Attachment) -> Option<ContentBlock> {
    match attachment {
        Attachment::Image { media_type, bytes } => Some(ContentBlock::image(STANDARD.encode(bytes), media_type)),
        Attachment::Document { media_type, name, bytes } => {
            let uri = format!("workden://document/{}", utf8_percent_encode(name, NON_ALPHANUMERIC));
            let document = ResourceContents::blob(STANDARD.encode(bytes), uri).with_mime_type(media_type);
            Some(ContentBlock::resource(document))
        }
        other => {
            tracing::warn!(?other, "left out content of a kind that the protocol does not have");
            None
        }
    }
}

fn failed(failure: &ToolFailure) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(&failure.text)]);
    result.structured_content = Some(json!({ "error": failure.text, "kind": failure.kind }));
    result
}

#[cfg(test)]
mod tests {
    use workden::ErrorKind;

    use super::*;

    #[test]
    fn documents_are_resources_with_a_name_that_cannot_break_out_of_its_address() {
        let document = Attachment::Document {
            media_type: "application/pdf".to_owned(),
            name: "a b/../?x#y.pdf".to_owned(),
            bytes: b"%PDF-1.7"[..].into(),
        };
        let result = answered(ToolAnswer::text("a document").attach(document));
        let shown = serde_json::to_value(&result.content).unwrap();
        assert_eq!(shown[0], json!({ "type": "text", "text": "a document" }));
        assert_eq!(shown[1]["resource"]["uri"], "workden://document/a%20b%2F%2E%2E%2F%3Fx%23y%2Epdf");
        assert_eq!(shown[1]["resource"]["mimeType"], "application/pdf");
        assert_eq!(shown[1]["resource"]["blob"], "JVBERi0xLjc=");
    }

    #[test]
    fn other_data_is_wrapped_in_an_object() {
        let result = answered(ToolAnswer::text("x").structured(json!(["a"])));
        assert_eq!(result.structured_content, Some(json!({ "result": ["a"] })));
    }

    #[test]
    fn a_failure_is_an_answer_with_its_kind() {
        let result = failed(&ToolFailure::new(ErrorKind::NotFound, "Error: nothing is there"));
        assert_eq!(result.is_error, Some(true));
        assert_eq!(result.structured_content, Some(json!({ "error": "Error: nothing is there", "kind": "not_found" })));
    }
}
