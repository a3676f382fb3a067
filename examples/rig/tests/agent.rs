//! A rig agent with the tools of workden, driven by a scripted model.

use rig_agent::AgentBuilder;
use rig_core::test_utils::{MockCompletionModel, MockTurn};
use serde_json::json;
use workden_rig::rig_tools;
use workden_tools::{ToolTarget, Toolset, ToolsetOptions};

fn toolset() -> Toolset {
    Toolset::new(ToolTarget::backend(workden_files::memory()), ToolsetOptions::default()).unwrap()
}

#[tokio::test]
async fn an_agent_writes_reads_and_goes_on_after_a_failure() {
    let tools = toolset();
    let model = MockCompletionModel::from_turns([
        MockTurn::tool_call("1", "write_file", json!({ "path": "a.md", "content": "one\n" })),
        MockTurn::tool_call("2", "read_file", json!({ "path": "b.md" })),
        MockTurn::tool_call("3", "read_file", json!({ "path": "a.md", "lines": 3 })),
        MockTurn::tool_call("4", "edit_file", json!({ "path": "a.md", "old_string": "one", "new_string": "two" })),
        MockTurn::text("done"),
    ]);
    let agent = AgentBuilder::new(model.clone())
        .preamble(tools.system_prompt())
        .dynamic_tools(rig_tools(&tools))
        .default_max_turns(10)
        .build();
    assert_eq!(agent.prompt("go").await.unwrap().to_string(), "done");
    assert_eq!(tools.call("read_file", json!({ "path": "a.md" })).await.unwrap().text, "     1\ttwo");
    // The last request to the model holds every answer, the failures included.
    let sent = format!("{:?}", model.requests().last().unwrap());
    for answer in [
        "Wrote 1 line to /a.md",
        "Error: cannot read `b.md`",
        "Error: read_file has no argument `lines`",
        "Edited a.md: replaced 1 occurrence",
    ] {
        assert!(sent.contains(answer), "{answer}: {sent}");
    }
}

#[tokio::test]
async fn every_tool_is_there_with_its_schema() {
    let tools = toolset();
    let for_rig = rig_tools(&tools);
    assert_eq!(for_rig.len(), tools.list().len());
    for (tool, spec) in for_rig.iter().zip(tools.list()) {
        assert_eq!((tool.name().as_str(), &tool.definition().parameters), (spec.name.as_str(), &spec.input_schema));
    }
}

#[tokio::test]
async fn an_image_is_an_image_and_a_document_is_text() {
    let files = std::sync::Arc::new(workden_files::memory());
    let tools = Toolset::new(ToolTarget::backend(files.clone()), ToolsetOptions::default()).unwrap();
    let put = async |typed: &str, content: &[u8]| {
        use workden_core::BackendExt;
        let path = workden_core::VirtualPath::parse(typed).unwrap();
        files.write_path(&path, content.to_vec().into(), workden_core::Expect::Anything).await.unwrap();
    };
    // One pixel.
    let gif = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xFF\xFF\xFF,\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0;";
    put("/a.gif", gif).await;
    put("/a.pdf", b"%PDF-1.4\nnot much of one").await;
    let read = rig_tools(&tools).into_iter().find(|tool| tool.name().as_str() == "read_file").unwrap();
    let image = read.execute(json!({ "path": "a.gif" })).await.unwrap();
    let shown = format!("{:?}", image.as_content());
    assert!(shown.contains("1x1 pixels") && shown.contains("Base64(\"R0lGODlhAQAB"), "{shown}");
    let document = read.execute(json!({ "path": "a.pdf" })).await.unwrap_err();
    assert!(document.message().starts_with("Error: cannot read the text of 'a.pdf'"), "{document}");
}
