//! What a tool has at hand during one call.

use std::sync::Arc;

use workden_core::{Backend, Error, Guarded, Sandbox, Spelling, VirtualPath};

use crate::{ProgressSink, ToolFailure, ToolsetOptions, toolset::Memory};

/// What a tool has at hand during one call.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The files, on behalf of this call.
    pub(crate) files: Guarded<Arc<dyn Backend>>,
    /// The commands, on behalf of this call.
    pub(crate) commands: Option<Guarded<Arc<dyn Sandbox>>>,
    /// Where relative paths start.
    pub(crate) directory: VirtualPath,
    /// Where commands run, if not where the sandbox says.
    pub(crate) named_directory: Option<VirtualPath>,
    pub(crate) options: &'a ToolsetOptions,
    /// What this agent has seen and heard so far.
    pub(crate) memory: &'a Memory,
    pub(crate) progress: Option<&'a dyn ProgressSink>,
}

impl Context<'_> {
    /// The path that was meant by what was typed.
    pub(crate) fn path(&self, typed: &str) -> Result<VirtualPath, ToolFailure> {
        VirtualPath::parse_from(&self.directory, typed).map_err(|error| self.failed(typed, error))
    }

    /// An error, with its paths as they were typed. Below a working directory that would be
    /// guesswork, so there they are whole.
    pub(crate) fn failed(&self, typed: &str, error: Error) -> ToolFailure {
        let spelling = if self.directory.is_root() { Spelling::of(typed) } else { Spelling::Rooted };
        error.spelled(spelling).into()
    }

    /// The commands; a toolset without them has no tool that gets here.
    pub(crate) fn commands(&self) -> Result<&Guarded<Arc<dyn Sandbox>>, ToolFailure> {
        self.commands.as_ref().ok_or_else(|| {
            ToolFailure::new(workden_core::ErrorKind::Unsupported, "Error: there are no commands in this workspace")
        })
    }
}
