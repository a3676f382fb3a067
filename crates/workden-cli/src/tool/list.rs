//! Lists the tools, as text and as JSON.

use std::{io::Write, process::ExitCode};

use anstyle::Style;
use workden::tools::{ToolSpec, Toolset};

use crate::failure::Failure;

const NAME: Style = Style::new().bold();

pub(super) fn run(tools: &Toolset, json: bool) -> Result<ExitCode, Failure> {
    let text = match json {
        true => serde_json::to_string_pretty(tools.list()).map_err(|error| Failure::Request(error.to_string()))? + "\n",
        false => shown(tools.list()),
    };
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)?;
    Ok(ExitCode::SUCCESS)
}

fn shown(tools: &[ToolSpec]) -> String {
    let width = tools.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    let line = |tool: &ToolSpec| {
        let arguments: Vec<String> = arguments_of(tool);
        let sentence = first_sentence(&tool.description);
        format!("{NAME}{:<width$}{NAME:#}  {sentence}\n{:<width$}  {}\n", tool.name, "", arguments.join(", "))
    };
    tools.iter().map(line).collect()
}

/// Returns the names of the arguments, with optional ones in brackets.
fn arguments_of(tool: &ToolSpec) -> Vec<String> {
    let required = tool.input_schema["required"].as_array().cloned().unwrap_or_default();
    let properties = tool.input_schema["properties"].as_object();
    let (needed, others): (Vec<&String>, Vec<&String>) = properties
        .into_iter()
        .flat_map(|properties| properties.keys())
        .partition(|name| required.iter().any(|one| one.as_str() == Some(name)));
    let mut all: Vec<String> =
        needed.into_iter().cloned().chain(others.iter().map(|name| format!("[{name}]"))).collect();
    if all.is_empty() {
        all.push("(no arguments)".to_owned());
    }
    all
}

fn first_sentence(description: &str) -> &str {
    let line = description.lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}
