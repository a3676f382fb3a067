//! The environment of a tool during one call.

use std::sync::Arc;

use workden_core::{Backend, Error, ErrorKind, Guarded, Sandbox, Spelling, VirtualPath};

use crate::{
    Profile, ProgressSink, ToolFailure, ToolsetOptions,
    agent_record::AgentRecord,
    filesystem_errors::{self, FileAction},
};

/// The environment of a tool during one call.
#[derive(Debug)]
pub(crate) struct ToolContext<'a> {
    /// The files, on behalf of this call.
    pub(crate) files: Guarded<Arc<dyn Backend>>,
    /// The commands, on behalf of this call.
    pub(crate) commands: Option<Guarded<Arc<dyn Sandbox>>>,
    /// Where relative paths start.
    pub(crate) directory: VirtualPath,
    /// Where commands run, unless in the directory of the sandbox.
    pub(crate) named_directory: Option<VirtualPath>,
    pub(crate) options: &'a ToolsetOptions,
    /// The files and outputs that the agent has seen.
    pub(crate) agent: &'a AgentRecord,
    pub(crate) progress: Option<&'a dyn ProgressSink>,
}

impl ToolContext<'_> {
    /// Parses a path as the model typed it.
    pub(crate) fn path(&self, typed: &str) -> Result<VirtualPath, ToolFailure> {
        VirtualPath::parse_from(&self.directory, typed).map_err(|error| self.failed(typed, error))
    }

    /// The spelling of paths in an answer to this one. Below a working directory a short one would be ambiguous.
    fn spelling(&self, typed: &str) -> Spelling {
        if self.directory.is_root() { Spelling::of(typed) } else { Spelling::Rooted }
    }

    /// Spells a path as the model spelled the typed one.
    pub(crate) fn spelled<'p>(&self, typed: &str, path: &'p VirtualPath) -> &'p str {
        self.spelling(typed).spell(path)
    }

    /// Converts an error of an edit or a write.
    pub(crate) fn failed(&self, typed: &str, error: Error) -> ToolFailure {
        self.failed_to(FileAction::Edit, typed, error)
    }

    /// Converts an error of moving or copying.
    pub(crate) fn failed_between(
        &self,
        action: FileAction,
        source: &str,
        destination: &str,
        error: Error,
    ) -> ToolFailure {
        let typed = if error.kind() == ErrorKind::AlreadyExists { destination } else { source };
        self.failed_to(action, typed, error)
    }

    /// Converts an error, with its paths spelled as the model typed them.
    pub(crate) fn failed_to(&self, action: FileAction, typed: &str, error: Error) -> ToolFailure {
        let spelling = self.spelling(typed);
        match self.options.profile {
            Profile::Console => error.spelled(spelling).into(),
            Profile::Filesystem => filesystem_errors::failure(typed, &error.spelled(spelling), spelling, action),
        }
    }

    /// The commands. A toolset without them has no tool that calls this.
    pub(crate) fn commands(&self) -> Result<&Guarded<Arc<dyn Sandbox>>, ToolFailure> {
        self.commands
            .as_ref()
            .ok_or_else(|| ToolFailure::new(ErrorKind::Unsupported, "Error: this workspace runs no commands"))
    }
}
