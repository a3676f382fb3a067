//! Tool descriptions of the protocol.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};
use workden_tools::ToolSpec;

/// Converts the description of a tool.
pub(crate) fn described(spec: &ToolSpec) -> Tool {
    let schema = match &spec.input_schema {
        Value::Object(schema) => schema.clone(),
        _ => Map::new(),
    };
    let hints = ToolAnnotations::from_raw(
        None,
        Some(spec.annotations.read_only),
        Some(spec.annotations.destructive),
        Some(spec.annotations.idempotent),
        Some(spec.annotations.open_world),
    );
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema)).with_annotations(hints)
}
