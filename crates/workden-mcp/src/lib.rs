//! The tools and files of a workspace as a server of the Model Context Protocol, over standard streams and streamable
//! HTTP.
//!
//! The server converts and decides nothing. Tools, their schemas and their answers come from a
//! [`Toolset`](workden_tools::Toolset); files are read under the policy of the workspace. Where the policy asks, the
//! person behind the client is asked ([`approvals`]); where that is impossible, the call is refused with a sentence on
//! what to do. Logs go to `tracing`, never to standard output, which belongs to the protocol.
//!
//! ```no_run
//! # async fn example() -> workden::Result<()> {
//! use workden::{Preset, Workspace, tools::ToolsetOptions};
//! use workden_mcp::McpServer;
//!
//! let workspace = Workspace::builder()
//!     .root("project")
//!     .preset(Preset::Default)
//!     .approvals(workden_mcp::approvals()) // the client is asked
//!     .build()?;
//! let server = McpServer::new(&workspace, ToolsetOptions::default())?;
//! workden_mcp::serve_stdio(&server).await
//! # }
//! ```

#![forbid(unsafe_code)]

mod approvals;
mod client_call;
#[cfg(doctest)]
mod doctests;
mod http;
mod limits;
mod line_transport;
mod message_header;
mod progress;
mod quota;
mod resources;
mod server;
mod stdio;
mod tool_description;
mod tool_result;

pub use approvals::{ClientQuestions, approvals, approvals_or};
pub use http::{BearerToken, HttpAccess, HttpEndpoint, HttpOptions, HttpServer, serve_http};
pub use server::McpServer;
pub use stdio::{serve_stdio, serve_streams};
