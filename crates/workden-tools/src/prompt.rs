//! The paragraph for a system prompt: what there is to work with, and no word of what there is not.

use crate::tools::Tool;

/// What a model is told about its tools as a whole.
pub(crate) fn system_prompt(tools: &[&'static Tool]) -> String {
    let names: Vec<String> = tools.iter().map(|tool| format!("`{}`", tool.name)).collect();
    format!("You work in a workspace with these tools: {}.", names.join(", "))
}
