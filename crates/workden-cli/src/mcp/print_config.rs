//! Prints what to paste into the configuration of a client. Paths are absolute, because the client starts the server
//! in another directory.

use std::io::Write;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{McpArguments, TOKEN_VARIABLE};
use crate::failure::Failure;

/// A client, or a family of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Client {
    /// Claude Code: `.mcp.json` of a project. Claude Desktop takes the same.
    Claude,
    /// Cursor: `.cursor/mcp.json`.
    Cursor,
    /// Visual Studio Code: `.vscode/mcp.json`.
    Vscode,
    /// Pydantic AI: a few lines of Python.
    PydanticAi,
}

impl Client {
    fn file(self) -> &'static str {
        match self {
            Self::Claude => ".mcp.json in your project (Claude Desktop: claude_desktop_config.json)",
            Self::Cursor => ".cursor/mcp.json in your project, or ~/.cursor/mcp.json",
            Self::Vscode => ".vscode/mcp.json in your project",
            Self::PydanticAi => "your program, with pydantic-ai-slim[mcp,anthropic] 2.45 or newer",
        }
    }
}

/// How a client reaches the server.
enum Reached {
    Started { command: String, arguments: Vec<String> },
    Over { url: String, has_token: bool },
}

pub(super) fn run(client: Client, arguments: &McpArguments) -> Result<(), Failure> {
    let text = pasted(client, &reached(arguments)?);
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)?;
    let _ = writeln!(anstream::stderr(), "Paste this into {}.", client.file());
    Ok(())
}

fn reached(arguments: &McpArguments) -> Result<Reached, Failure> {
    if let Some(address) = arguments.http {
        return Ok(Reached::Over { url: format!("http://{address}/mcp"), has_token: !arguments.no_token });
    }
    let here = std::env::current_dir().map_err(Failure::Machine)?;
    let program = std::env::current_exe().map_err(Failure::Machine)?;
    let mut words = vec!["mcp".to_owned()];
    words.extend(arguments.workspace.words(&here));
    Ok(Reached::Started { command: program.display().to_string(), arguments: words })
}

fn pasted(client: Client, reached: &Reached) -> String {
    match client {
        Client::Claude => document("mcpServers", &entry(reached, "http", &format!("${{{TOKEN_VARIABLE}}}"))),
        Client::Cursor => document("mcpServers", &entry(reached, "http", &format!("${{env:{TOKEN_VARIABLE}}}"))),
        Client::Vscode => document("servers", &entry(reached, "http", &format!("${{env:{TOKEN_VARIABLE}}}"))),
        Client::PydanticAi => python(reached),
    }
}

fn document(servers: &str, entry: &Value) -> String {
    let document = json!({ servers: { "workden": entry } });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn entry(reached: &Reached, over: &str, token: &str) -> Value {
    match reached {
        Reached::Started { command, arguments } => json!({ "type": "stdio", "command": command, "args": arguments }),
        Reached::Over { url, has_token: false } => json!({ "type": over, "url": url }),
        Reached::Over { url, has_token: true } => {
            json!({ "type": over, "url": url, "headers": { "Authorization": format!("Bearer {token}") } })
        }
    }
}

fn python(reached: &Reached) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let (imports, made) = match reached {
        Reached::Started { command, arguments } => {
            let words: Vec<String> = arguments.iter().map(|word| text(word)).collect();
            let made = format!("StdioTransport({}, [{}])", text(command), words.join(", "));
            ("from fastmcp.client.transports import StdioTransport\n", made)
        }
        Reached::Over { url, has_token: false } => ("", text(url)),
        Reached::Over { url, has_token: true } => {
            let header = format!("{{\"Authorization\": f\"Bearer {{os.environ['{TOKEN_VARIABLE}']}}\"}}");
            ("import os\n\n", format!("{}, headers={header}", text(url)))
        }
    };
    format!(
        "{imports}from pydantic_ai import Agent\n\
         from pydantic_ai.mcp import MCPToolset\n\n\
         workden = MCPToolset({made})\n\
         agent = Agent(\"anthropic:claude-sonnet-4-5\", toolsets=[workden])\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_named_and_never_printed() {
        let over = Reached::Over { url: "http://127.0.0.1:8421/mcp".to_owned(), has_token: true };
        for client in [Client::Claude, Client::Cursor, Client::Vscode, Client::PydanticAi] {
            assert!(pasted(client, &over).contains(TOKEN_VARIABLE), "{client:?}");
        }
    }
}
