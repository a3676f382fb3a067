//! `workden mcp`: serves the tools and files of a workspace over the Model Context Protocol.

mod print_config;

use std::{
    io::{IsTerminal, Write},
    net::{SocketAddr, ToSocketAddrs},
    process::ExitCode,
};

use clap::Args;
use print_config::Client;
use workden_mcp::{BearerToken, HttpAccess, HttpOptions, McpServer, approvals, serve_http, serve_stdio};

use crate::{
    failure::{Failure, request},
    signals::ToldToEnd,
    workspace::{ToolWorkspace, WorkspaceArguments},
};

/// The environment variable of the HTTP token.
const TOKEN_VARIABLE: &str = "WORKDEN_MCP_TOKEN";
/// The exit code when the workspace could not be opened.
const NOT_OPENED: u8 = 3;

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden mcp --print-config claude               what to paste
  workden mcp --print-config vscode --root ../project --policy permissive
  claude mcp add workden -- workden mcp --root .  the same by hand
  workden mcp --http 127.0.0.1:8421               for HTTP; prints the token

Rules: without --policy and --config, reading and searching are allowed, and changes and commands require approval: the \
client asks its user, if it can. Otherwise they are refused, unless you add --yes or choose --policy permissive.

Exit codes:
  0  the client disconnected
  1  the server could not listen at the address, or serving failed
  2  invalid command line
  3  the workspace could not be opened
  128+N  ended by signal N

Environment:
  WORKDEN_MCP_TOKEN  the token of clients over HTTP [default: a random one]
  WORKDEN_LOG=info   a line on standard error for each call and each command
  WORKDEN_LOG=debug  also errors of the program inside the sandbox";

/// Arguments of `workden mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Serve over HTTP at http://ADDR/mcp instead of standard input and output. A port alone means an
    /// address of this machine; port 0 is any free port.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    http: Option<SocketAddr>,
    /// Let every program on this machine use the server over HTTP, without a token.
    #[arg(long, requires = "http")]
    no_token: bool,
    /// Accept another host name in HTTP requests.
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,
    /// Accept requests from scripts of this web origin, like https://example.com.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
    /// Print what to paste into the configuration of a client, with these options, and serve nothing.
    #[arg(long, value_name = "CLIENT", value_enum)]
    print_config: Option<Client>,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

/// Parses an address, or a port of this machine.
pub(crate) fn address(typed: &str) -> Result<SocketAddr, String> {
    let wanted = || "use an address like 127.0.0.1:8421, or a port".to_owned();
    if let Ok(port) = typed.trim_start_matches(':').parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    typed.to_socket_addrs().map_err(|_| wanted())?.next().ok_or_else(wanted)
}

/// Serves, or prints what to paste.
pub(crate) fn run(arguments: &McpArguments) -> Result<ExitCode, Failure> {
    if let Some(client) = arguments.print_config {
        return print_config::run(client, arguments).map(|()| ExitCode::SUCCESS);
    }
    // One thread for waiting; files are read on other threads, which start on demand.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(Failure::Machine)?;
    let outcome = runtime.block_on(attended(arguments));
    runtime.shutdown_background();
    outcome
}

async fn attended(arguments: &McpArguments) -> Result<ExitCode, Failure> {
    let mut told = ToldToEnd::listen().map_err(Failure::Machine)?;
    let opened = match arguments.workspace.open(Some(approvals())).await {
        Ok(opened) => opened,
        Err(failure) => {
            failure.tell();
            return Ok(failure.exit_code(NOT_OPENED));
        }
    };
    let outcome = tokio::select! {
        served = serve(arguments, &opened) => served.map(|()| ExitCode::SUCCESS),
        (_, number) = told.next() => Ok(ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX))),
    };
    // The sandbox must not outlive this process.
    opened.close().await;
    outcome
}

async fn serve(arguments: &McpArguments, opened: &ToolWorkspace) -> Result<(), Failure> {
    let server = McpServer::new(&opened.workspace, arguments.workspace.toolset()).map_err(request)?;
    let Some(address) = arguments.http else {
        if std::io::stdin().is_terminal() {
            let about = "workden: serving the Model Context Protocol on standard streams, for a client that starts this \
                         program\nhint: `workden mcp --print-config claude` prints what to paste into a client; \
                         Ctrl-C ends";
            let _ = writeln!(std::io::stderr(), "{about}");
        }
        return serve_stdio(&server).await.map_err(request);
    };
    let (access, token) = access(arguments)?;
    let mut options = HttpOptions::new(access);
    options.allowed_hosts.clone_from(&arguments.allow_host);
    options.allowed_origins.clone_from(&arguments.allow_origin);
    let serving = serve_http(&server, address, options).await.map_err(request)?;
    let mut errors = std::io::stderr().lock();
    let _ = writeln!(errors, "workden: serving {}", serving.url());
    if let Some(token) = token {
        let _ = writeln!(errors, "workden: clients send the header `Authorization: Bearer {}`", token.reveal());
    }
    drop(errors);
    serving.ended().await.map_err(request)
}

/// Returns who may use the server over HTTP, and the token to print if it is a random one.
fn access(arguments: &McpArguments) -> Result<(HttpAccess, Option<BearerToken>), Failure> {
    if arguments.no_token {
        return Ok((HttpAccess::ThisMachine, None));
    }
    match std::env::var(TOKEN_VARIABLE) {
        Ok(token) => Ok((HttpAccess::Token(BearerToken::new(token).map_err(request)?), None)),
        Err(_) => {
            let token = BearerToken::random().map_err(request)?;
            Ok((HttpAccess::Token(token.clone()), Some(token)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_this_machine_unless_it_says_otherwise() {
        for (typed, expected) in [
            ("8421", "127.0.0.1:8421"),
            (":8421", "127.0.0.1:8421"),
            ("0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(address(typed).map(|address| address.to_string()).as_deref(), Ok(expected), "{typed}");
        }
        assert!(address("127.0.0.1").is_err() && address("").is_err() && address("99999").is_err());
    }
}
