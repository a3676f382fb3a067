//! The tools and files of a workspace as a server of the Model Context Protocol, over standard
//! streams and streamable HTTP.
//!
//! A face: it converts, and decides nothing. Tools, their schemas and their answers are those of a
//! [`Toolset`](workden_tools::Toolset); files are read under the policy of the workspace; where the
//! policy asks, the person behind the client is asked ([`approvals`]), and where that is impossible
//! the call is refused with a sentence on what can be done. Logs go to `tracing`, never to standard
//! output, which belongs to the protocol.
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

mod answer;
mod approvals;
mod call;
#[cfg(doctest)]
mod doctests;
mod envelope;
mod first_request;
mod http;
mod limits;
mod lines;
mod progress;
mod resources;
mod room;
mod server;
mod stdio;
mod tools;

pub use approvals::approvals;
pub use http::{Access, BearerToken, HttpOptions, HttpServer, serve_http};
pub use server::McpServer;
pub use stdio::{serve_stdio, serve_streams};
