//! MCP clients of other projects with the real `workden mcp`: the official Python client, the MCP inspector and
//! Pydantic AI list the tools, call each of them, answer questions, are refused, and cancel.
//!
//! The requests and expected answers are written once (`every_tool`, `media`, `refusals`), for every `Client`. Every
//! wait has a deadline.

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

/// A client that is connected to one server.
trait Client {
    /// Returns the tools that the server lists.
    fn tools(&mut self) -> Vec<Value>;

    /// Calls a tool and returns the result, failed or not.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value;
}

/// A client that can ask its user.
trait Askable: Client {
    /// Calls a tool that requires approval and answers the question; returns the result and the question.
    fn call_and_answer(&mut self, tool: &str, arguments: &Value, answer: Answer) -> (Value, String);
}

/// The user's answer to a question.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Yes,
    YesAndDoNotAskAgain,
    No,
}

/// How a client connects.
#[derive(Clone, Copy, Debug)]
enum Era {
    /// With a handshake, as in all protocol revisions but the last.
    Handshake,
    /// Without a handshake: revision 2026-07-28.
    Modern,
}

/// Returns the text of a result.
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}
