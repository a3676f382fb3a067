//! Tool results of the protocol. A failure is a result as well: the model reads it and can act on it.

use base64::{Engine, engine::general_purpose::STANDARD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde_json::{Map, Value, json};
use workden_tools::{Attachment, ToolAnswer, ToolFailure};

/// The key of facts about an answer, like an exit code or the kind of a failure, for programs and not for models.
const FACTS: &str = "workden/facts";

/// Where the data of an answer goes.
///
/// Many clients show a model the structured content alone, so that it must say everything that the text says. Data that
/// does not is sent beside the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataPlace {
    /// Into the structured content, as the output schema of the tool says.
    StructuredContent,
    /// Into the metadata of the result.
    Metadata,
}

/// Converts the answer or the failure of a tool.
pub(crate) fn tool_result(outcome: Result<ToolAnswer, ToolFailure>, data: DataPlace) -> CallToolResult {
    match outcome {
        Ok(answer) => answered(answer, data),
        Err(failure) => failed(&failure),
    }
}

fn answered(answer: ToolAnswer, place: DataPlace) -> CallToolResult {
    let mut blocks = vec![ContentBlock::text(answer.text)];
    blocks.extend(answer.attachments.iter().filter_map(block));
    let mut result = CallToolResult::success(blocks);
    match place {
        DataPlace::StructuredContent => result.structured_content = answer.structured,
        DataPlace::Metadata => result.meta = answer.structured.map(facts),
    }
    result
}

fn facts(facts: Value) -> MetaObject {
    MetaObject(Map::from_iter([(FACTS.to_owned(), facts)]))
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
    // Not as structured content: clients check that against the schema of answers, for failures too.
    result.meta = Some(facts(json!({ "kind": failure.kind })));
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
        let result = answered(ToolAnswer::text("a document").attach(document), DataPlace::Metadata);
        let shown = serde_json::to_value(&result.content).unwrap();
        assert_eq!(shown[0], json!({ "type": "text", "text": "a document" }));
        assert_eq!(shown[1]["resource"]["uri"], "workden://document/a%20b%2F%2E%2E%2F%3Fx%23y%2Epdf");
        assert_eq!(shown[1]["resource"]["mimeType"], "application/pdf");
        assert_eq!(shown[1]["resource"]["blob"], "JVBERi0xLjc=");
    }

    #[test]
    fn data_is_sent_in_one_place() {
        let answer = || ToolAnswer::text("x").structured(json!({ "a": 1 }));
        let result = answered(answer(), DataPlace::StructuredContent);
        assert_eq!((result.structured_content, result.meta), (Some(json!({ "a": 1 })), None));
        let result = serde_json::to_value(answered(answer(), DataPlace::Metadata)).unwrap();
        assert_eq!(result.get("structuredContent"), None);
        assert_eq!(result["_meta"], json!({ "workden/facts": { "a": 1 } }));
    }

    #[test]
    fn a_failure_is_an_answer_with_its_kind() {
        let result = failed(&ToolFailure::new(ErrorKind::NotFound, "Error: nothing is there"));
        assert_eq!((result.is_error, &result.structured_content), (Some(true), &None));
        assert_eq!(result.content[0].as_text().unwrap().text, "Error: nothing is there");
        assert_eq!(serde_json::to_value(result.meta).unwrap(), json!({ "workden/facts": { "kind": "not_found" } }));
    }
}
