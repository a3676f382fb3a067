//! What a tool has at hand during one call.

use std::sync::Arc;

use workden_core::{Backend, Error, ErrorKind, Guarded, Sandbox, Spelling, VirtualPath};

use crate::{
    Profile, ProgressSink, ToolFailure, ToolsetOptions,
    toolset::Memory,
    wording::{self, Deed},
};

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

    /// How paths are spelled to somebody who typed this. Below a working directory what is meant would
    /// be guesswork, so there they are whole.
    fn spelling(&self, typed: &str) -> Spelling {
        if self.directory.is_root() { Spelling::of(typed) } else { Spelling::Rooted }
    }

    /// A path as somebody spells it who typed this.
    pub(crate) fn spelled<'p>(&self, typed: &str, path: &'p VirtualPath) -> &'p str {
        self.spelling(typed).spell(path)
    }

    /// An error, with its paths as they were typed.
    pub(crate) fn failed(&self, typed: &str, error: Error) -> ToolFailure {
        self.told(typed, error, Deed::Edit)
    }

    /// An error of reading.
    pub(crate) fn failed_reading(&self, typed: &str, error: Error) -> ToolFailure {
        self.told(typed, error, Deed::Read)
    }

    /// An error of deleting.
    pub(crate) fn failed_deleting(&self, typed: &str, error: Error) -> ToolFailure {
        self.told(typed, error, Deed::Delete)
    }

    /// An error of moving or copying.
    pub(crate) fn failed_between(&self, verb: &str, source: &str, destination: &str, error: Error) -> ToolFailure {
        let deed = if verb == "move" { Deed::Move } else { Deed::Copy };
        let typed = if error.kind() == ErrorKind::AlreadyExists { destination } else { source };
        self.told(typed, error, deed)
    }

    fn told(&self, typed: &str, error: Error, deed: Deed) -> ToolFailure {
        let spelling = self.spelling(typed);
        match self.options.profile {
            Profile::Console => error.spelled(spelling).into(),
            Profile::Filesystem => wording::for_documents(typed, &error.spelled(spelling), spelling, deed),
        }
    }

    /// The commands; a toolset without them has no tool that gets here.
    pub(crate) fn commands(&self) -> Result<&Guarded<Arc<dyn Sandbox>>, ToolFailure> {
        self.commands
            .as_ref()
            .ok_or_else(|| ToolFailure::new(ErrorKind::Unsupported, "Error: there are no commands in this workspace"))
    }
}
