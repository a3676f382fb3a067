//! `Toolset`: the tools of one agent, as a value.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use serde_json::Value;
use workden_core::{Approver, Caller, Error, ErrorKind, Guarded, Result, Sandbox, VirtualPath};

use crate::{
    ProgressSink, ToolAnswer, ToolFailure, ToolSpec, ToolTarget, ToolsetOptions,
    agent_record::AgentRecord,
    approval_flags::ApprovalFlags,
    system_prompt,
    tool_context::ToolContext,
    tools::{self, OfferedTools, Tool},
};

/// The tools of one agent. Clones share the record of files that the agent has seen.
///
/// Creating one is cheap: schemas are generated when the first call needs them.
#[derive(Clone, Debug)]
pub struct Toolset {
    shared: Arc<Shared>,
    agent: Arc<AgentRecord>,
}

#[derive(Debug)]
struct Shared {
    target: ToolTarget,
    options: ToolsetOptions,
    tools: Vec<&'static Tool>,
    specs: OnceLock<Vec<ToolSpec>>,
    /// Where relative paths start, once a call has looked it up.
    directory: OnceLock<VirtualPath>,
}

/// Options of one call.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    progress: Option<Arc<dyn ProgressSink>>,
    approver: Option<Arc<dyn Approver>>,
}

impl CallContext {
    /// Returns a context without progress reports and with the approver of the workspace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the sink for progress reports.
    #[must_use]
    pub fn progress(mut self, sink: Arc<dyn ProgressSink>) -> Self {
        self.progress = Some(sink);
        self
    }

    /// Sets the approver of this call, in place of that of the workspace.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }
}

impl Toolset {
    /// Creates the tools for a target: those for commands only if it runs commands, and none that its policy denies
    /// everywhere.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` when an option describes an unknown tool.
    pub fn new(mut target: ToolTarget, options: ToolsetOptions) -> Result<Self> {
        if let Some(unknown) =
            options.descriptions.keys().find(|name| !tools::names().any(|known| known == name.as_str()))
        {
            let all: Vec<&str> = tools::names().collect();
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("tool `{unknown}` not found, cannot describe it"),
            )
            .hint(format!("tools: {}", all.join(", "))));
        }
        if let Some(flags) = ApprovalFlags::of(&options) {
            target.files = target.files.gate(Arc::new(flags));
            target.commands = target.commands.map(|commands| commands.gate(Arc::new(flags)));
        }
        let tools = tools::offered(&target, &options);
        let directory = target.directory.clone().map_or_else(OnceLock::new, OnceLock::from);
        let shared = Shared { target, options, tools, specs: OnceLock::new(), directory };
        Ok(Self { shared: Arc::new(shared), agent: Arc::default() })
    }

    /// Returns the same tools for another agent, which has not seen any file yet.
    #[must_use]
    pub fn for_another_agent(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), agent: Arc::default() }
    }

    /// Returns the same tools of the same agent for a client that cannot pass on documents: the model gets their text.
    #[must_use]
    pub fn with_documents_as_text(&self) -> Self {
        let Shared { target, options, tools, directory, .. } = &*self.shared;
        let options = ToolsetOptions { documents: false, ..options.clone() };
        let (target, tools, directory) = (target.clone(), tools.clone(), directory.clone());
        let shared = Shared { target, options, tools, directory, specs: OnceLock::new() };
        Self { shared: Arc::new(shared), agent: Arc::clone(&self.agent) }
    }

    /// Returns the descriptions of the tools for a model.
    #[must_use]
    pub fn list(&self) -> &[ToolSpec] {
        let offered = self.offered();
        let spec = |tool: &&'static Tool| tool.spec(&offered);
        self.shared.specs.get_or_init(|| self.shared.tools.iter().map(spec).collect())
    }

    /// Returns the names of the tools, without generating schemas.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.shared.tools.iter().map(|tool| tool.name)
    }

    /// Returns the options.
    #[must_use]
    pub fn options(&self) -> &ToolsetOptions {
        &self.shared.options
    }

    /// Returns a paragraph about the tools, for the instructions of a model.
    #[must_use]
    pub fn system_prompt(&self) -> String {
        system_prompt::system_prompt(&self.offered())
    }

    fn offered(&self) -> OfferedTools<'_> {
        let Shared { options, tools, target, .. } = &*self.shared;
        OfferedTools { options, tools, facts: &target.facts }
    }

    /// Calls a tool. Dropping the future ends the call, with the command that it runs.
    ///
    /// # Errors
    ///
    /// A failure is for the model, like an answer: an invalid argument, a missing file, a refusal of the policy.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<ToolAnswer, ToolFailure> {
        self.call_with(name, arguments, CallContext::new()).await
    }

    /// Calls a tool with a sink for progress reports or an approver of its own.
    ///
    /// # Errors
    ///
    /// As [`Toolset::call`].
    pub async fn call_with(&self, name: &str, arguments: Value, call: CallContext) -> Result<ToolAnswer, ToolFailure> {
        let Some(tool) = self.shared.tools.iter().find(|tool| tool.name == name) else {
            let names: Vec<&str> = self.names().collect();
            let text = format!("Error: tool `{name}` not found\nhint: tools: {}", names.join(", "));
            return Err(ToolFailure::new(ErrorKind::InvalidArgument, text));
        };
        let started = Instant::now();
        tracing::debug!(tool = name, "tool call started");
        let outcome = self.run(tool, arguments, call).await;
        let elapsed = started.elapsed();
        match &outcome {
            Ok(answer) => tracing::debug!(tool = name, ?elapsed, chars = answer.text.len(), "tool call answered"),
            Err(failure) => tracing::debug!(tool = name, ?elapsed, kind = ?failure.kind, "tool call failed"),
        }
        outcome
    }

    async fn run(&self, tool: &Tool, arguments: Value, call: CallContext) -> Result<ToolAnswer, ToolFailure> {
        let arguments = tool.checked(arguments)?;
        // Shared, not copied: the arguments may hold a whole file.
        let caller = Arc::new(Caller { tool: tool.name.to_owned(), arguments });
        let target = &self.shared.target;
        let mut files = target.files.on_behalf_of(Arc::clone(&caller));
        let mut commands = self.commands().map(|commands| commands.on_behalf_of(Arc::clone(&caller)));
        if let Some(approver) = call.approver {
            files = files.approver(Arc::clone(&approver));
            commands = commands.map(|commands| commands.approver(approver));
        }
        let context = ToolContext {
            files,
            commands,
            directory: self.directory().await?,
            named_directory: target.directory.clone(),
            options: &self.shared.options,
            agent: &self.agent,
            progress: call.progress.as_deref(),
        };
        (tool.run)(&context, &caller.arguments).await
    }

    /// The commands, unless the options or the policy exclude them.
    fn commands(&self) -> Option<&Guarded<Arc<dyn Sandbox>>> {
        let Shared { target, options, .. } = &*self.shared;
        target.commands.as_ref().filter(|_| options.include_execute && !target.denied.contains("execute"))
    }

    /// Where relative paths start: in the directory of the target, or in that of its sandbox.
    async fn directory(&self) -> Result<VirtualPath, ToolFailure> {
        if let Some(known) = self.shared.directory.get() {
            return Ok(known.clone());
        }
        let directory = match &self.shared.target.commands {
            Some(sandbox) => sandbox.directory().await?,
            None => VirtualPath::root(),
        };
        Ok(self.shared.directory.get_or_init(|| directory).clone())
    }
}
