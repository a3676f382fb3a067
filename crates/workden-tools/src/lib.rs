//! The tools of a model: files, search and commands over any backend or sandbox, each with a schema, a description and a
//! bounded answer.
//!
//! A [`Toolset`] is a value: it lists its tools with their JSON Schemas and calls them by name with JSON. It depends on
//! no protocol and no agent framework. The gates of the [`ToolTarget`] decide what is allowed; the tools never do.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use serde_json::json;
//! use workden_tools::{ToolTarget, Toolset, ToolsetOptions};
//!
//! let tools = Toolset::new(ToolTarget::backend(workden_files::memory()), ToolsetOptions::default())?;
//! assert!(tools.list().iter().any(|tool| tool.name == "ls"));
//!
//! let answer = tools.call("ls", json!({})).await.unwrap();
//! assert_eq!(answer.text, "Directory '.' is empty");
//! let failure = tools.call("read_file", json!({ "path": "notes.md" })).await.unwrap_err();
//! assert!(failure.text.starts_with("Error: cannot read `notes.md`"));
//! # Ok::<(), workden_core::Error>(()) }).unwrap();
//! ```

#![forbid(unsafe_code)]

mod agent_record;
mod answer;
mod approval_flags;
mod arguments;
mod command_facts;
mod dialect;
mod files;
mod filesystem_errors;
mod media;
mod options;
mod progress;
mod seen_files;
mod system_prompt;
mod target;
mod tool_context;
mod tool_spec;
mod tools;
mod toolset;

pub use answer::{Attachment, ToolAnswer, ToolFailure};
pub use dialect::Dialect;
pub use options::{EditFormat, ExtraTool, Profile, RequireApproval, ToolsetOptions};
pub use progress::{Progress, ProgressSink};
pub use target::ToolTarget;
pub use tool_spec::{Annotations, ToolSpec};
pub use toolset::{CallContext, Toolset};
