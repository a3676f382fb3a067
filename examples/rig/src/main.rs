//! A rig agent in a workden workspace, driven by a scripted model: no key, no network. With a real model,
//! only the line that creates it differs. Start it with `cargo run` in this directory.

use rig_agent::AgentBuilder;
use rig_core::test_utils::{MockCompletionModel, MockTurn};
use serde_json::json;
use workden_rig::rig_tools;
use workden_tools::{ToolTarget, Toolset, ToolsetOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = Toolset::new(ToolTarget::backend(workden_files::memory()), ToolsetOptions::default())?;
    let model = MockCompletionModel::from_turns([
        MockTurn::tool_call("1", "write_file", json!({ "path": "notes.md", "content": "- [ ] try workden\n" })),
        MockTurn::tool_call("2", "read_file", json!({ "path": "note.md" })), // a wrong name: the agent goes on
        MockTurn::tool_call("3", "glob", json!({ "pattern": "*.md" })),
        MockTurn::tool_call("4", "edit_file", json!({ "path": "notes.md", "old_string": "[ ]", "new_string": "[x]" })),
        MockTurn::tool_call("5", "read_file", json!({ "path": "notes.md" })),
        MockTurn::text("It is done: workden is tried."),
    ]);
    let agent = AgentBuilder::new(model)
        .preamble(tools.system_prompt())
        .dynamic_tools(rig_tools(&tools))
        .default_max_turns(10)
        .build();
    println!("{}", agent.prompt("Note that I want to try workden, then tick it off.").await?);
    println!("{}", tools.call("read_file", json!({ "path": "notes.md" })).await?.text);
    Ok(())
}
