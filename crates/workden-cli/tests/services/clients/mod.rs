//! Clients of MCP that others wrote, with the real `workden mcp`: the official Python client, the MCP inspector
//! and Pydantic AI list the tools, call every one of them, are asked, are denied, and cancel.
//!
//! What is asked of a client, and what must come back, is written once (`every_tool`, `media`, `refusals`), for
//! whatever can make a call (`Client`). Nothing waits without an end.

mod agent;
mod cancelling;
mod every_tool;
mod inspector;
mod installed;
mod media;
mod process;
mod python;
mod refusals;
mod resources;
mod served;

use serde_json::Value;

/// Something that makes calls to one server.
trait Client {
    /// The tools that the server lists.
    fn tools(&mut self) -> Vec<Value>;

    /// Calls a tool; the result, failure or not.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value;
}

/// Something with a person behind it who can be asked.
trait Askable: Client {
    /// Calls a tool about which there is a question, and answers that; the result, and the question.
    fn call_and_answer(&mut self, tool: &str, arguments: &Value, answer: Answer) -> (Value, String);
}

/// What a person says to a question.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Yes,
    YesAndDoNotAskAgain,
    No,
}

/// How a client starts.
#[derive(Clone, Copy, Debug)]
enum Era {
    /// With a handshake, as all revisions do but the last.
    Handshake,
    /// Without one: 2026-07-28.
    Modern,
}

/// The text of a result.
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}
