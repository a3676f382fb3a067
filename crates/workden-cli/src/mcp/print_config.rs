//! Prints what to paste into the configuration of a client. Paths are absolute, because the client starts the server
//! in another directory.

use std::{io::Write, path::PathBuf};

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
    if arguments.workspace.asks() {
        let note = "The client asks you before each change and command; `--policy permissive` asks about few.";
        let _ = writeln!(anstream::stderr(), "{note}");
    }
    Ok(())
}

fn reached(arguments: &McpArguments) -> Result<Reached, Failure> {
    if let Some(address) = arguments.http {
        return Ok(Reached::Over { url: format!("http://{address}/mcp"), has_token: !arguments.no_token });
    }
    let here = std::env::current_dir().map_err(Failure::Machine)?;
    let program = called_program().map_err(Failure::Machine)?;
    let mut words = vec!["mcp".to_owned()];
    words.extend(arguments.workspace.words(&here));
    Ok(Reached::Started { command: program.display().to_string(), arguments: words })
}

/// Returns the path by which this program was called. A link stays a link: the file behind it may change its name with
/// the next version.
fn called_program() -> std::io::Result<PathBuf> {
    let real = std::env::current_exe()?;
    let Some(called) = std::env::args_os().next().map(PathBuf::from) else { return Ok(real) };
    let search = std::env::var_os("PATH").unwrap_or_default();
    let found: Vec<PathBuf> = match called.components().count() {
        1 => std::env::split_paths(&search).map(|directory| directory.join(&called)).collect(),
        _ => vec![called],
    };
    let is_this = |path: &PathBuf| path.canonicalize().is_ok_and(|there| there == real);
    found.into_iter().find(is_this).map_or(Ok(real.clone()), std::path::absolute)
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
