//! Tool descriptions of the protocol.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};
use workden_tools::ToolSpec;

/// Converts the description of a tool.
pub(crate) fn described(spec: &ToolSpec) -> Tool {
    let hints = ToolAnnotations::from_raw(
        None,
        Some(spec.annotations.read_only),
        Some(spec.annotations.destructive),
        Some(spec.annotations.idempotent),
        Some(spec.annotations.open_world),
    );
    let tool = Tool::new(spec.name.clone(), spec.description.clone(), object(&spec.input_schema))
        .with_title(spec.title.clone())
        .with_annotations(hints);
    match &spec.output_schema {
        Some(schema) => tool.with_raw_output_schema(object(schema)),
        None => tool,
    }
}

fn object(schema: &Value) -> Arc<Map<String, Value>> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}
