//! The tools that a model sees: files, search and commands over any place, each with a schema, a
//! description and a bounded answer.
//!
//! A [`Toolset`] is a value: it lists its tools with their JSON Schemas and calls them by name with
//! JSON. It knows no protocol and no agent framework; faces turn what is here into theirs. Who may do
//! what is decided by the gates of the [`Place`], never here.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use serde_json::json;
//! use workden_tools::{Place, Toolset, ToolsetOptions};
//!
//! let tools = Toolset::new(Place::backend(workden_files::memory()), ToolsetOptions::default())?;
//! assert!(tools.list().iter().any(|tool| tool.name == "ls"));
//!
//! let answer = tools.call("ls", json!({})).await.unwrap();
//! assert_eq!(answer.text, "Directory '.' is empty");
//! let failure = tools.call("read_file", json!({ "path": "notes.md" })).await.unwrap_err();
//! assert!(failure.text.starts_with("Error: cannot read `notes.md`"));
//! # Ok::<(), workden_core::Error>(()) }).unwrap();
//! ```

#![forbid(unsafe_code)]

mod answer;
mod approval_flags;
mod arguments;
mod changing;
mod context;
mod freshness;
mod media;
mod options;
mod place;
mod progress;
mod prompt;
mod spec;
mod tools;
mod toolset;
mod wording;

pub use answer::{Content, ToolAnswer, ToolFailure};
pub use options::{Approval, EditFormat, ExtraTool, Profile, ToolsetOptions};
pub use place::Place;
pub use progress::{Progress, ProgressSink};
pub use spec::{Annotations, ToolSpec};
pub use toolset::{CallContext, Toolset};
