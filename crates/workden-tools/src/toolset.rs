//! `Toolset`: the tools of one agent over one place, as a value.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
};

use serde_json::Value;
use workden_core::{Approver, Caller, Error, ErrorKind, Guarded, Result, Sandbox, VirtualPath, sandbox::JobId};

use crate::{
    Place, ProgressSink, ToolAnswer, ToolFailure, ToolSpec, ToolsetOptions,
    approval_flags::ApprovalFlags,
    context::Context,
    freshness::Freshness,
    prompt,
    tools::{self, Offer, Tool},
};

/// The tools of one agent over one place. Clones share what the agent has seen.
///
/// Building one costs next to nothing: schemas are made when they are first asked for.
#[derive(Clone, Debug)]
pub struct Toolset {
    shared: Arc<Shared>,
    memory: Arc<Memory>,
}

#[derive(Debug)]
struct Shared {
    place: Place,
    options: ToolsetOptions,
    tools: Vec<&'static Tool>,
    specs: OnceLock<Vec<ToolSpec>>,
    /// Where relative paths start, once somebody had to know.
    directory: OnceLock<VirtualPath>,
}

/// What one agent has seen and heard.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Which files, and how they were.
    pub(crate) freshness: Freshness,
    /// How far the output of jobs was read.
    pub(crate) heard: Mutex<HashMap<JobId, u64>>,
}

/// What goes along with a call.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    progress: Option<Arc<dyn ProgressSink>>,
    approver: Option<Arc<dyn Approver>>,
}

impl CallContext {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Somebody who wants to know how it is getting on.
    #[must_use]
    pub fn progress(mut self, sink: Arc<dyn ProgressSink>) -> Self {
        self.progress = Some(sink);
        self
    }

    /// Somebody who is asked about this call in place of whoever the workspace would ask.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }
}

impl Toolset {
    /// The tools that fit a place: those for commands only where it has some, and none that its policy
    /// denies everywhere.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` when a description is for a tool that nobody has.
    pub fn new(mut place: Place, options: ToolsetOptions) -> Result<Self> {
        if let Some(unknown) =
            options.descriptions.keys().find(|name| !tools::names().any(|known| known == name.as_str()))
        {
            let all: Vec<&str> = tools::names().collect();
            return Err(Error::new(ErrorKind::InvalidArgument, format!("there is no tool `{unknown}` to describe"))
                .hint(format!("tools: {}", all.join(", "))));
        }
        if let Some(flags) = ApprovalFlags::of(&options) {
            place.files = place.files.gate(Arc::new(flags));
            place.commands = place.commands.map(|commands| commands.gate(Arc::new(flags)));
        }
        let tools = tools::offered(&place, &options);
        let directory = place.directory.clone().map_or_else(OnceLock::new, OnceLock::from);
        let shared = Shared { place, options, tools, specs: OnceLock::new(), directory };
        Ok(Self { shared: Arc::new(shared), memory: Arc::default() })
    }

    /// The same tools for another agent, which has seen nothing yet.
    #[must_use]
    pub fn for_another_agent(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), memory: Arc::default() }
    }

    /// The same tools, of the same agent, for a client that has no way to hand on a document: the model
    /// gets the text of it.
    #[must_use]
    pub fn with_documents_as_text(&self) -> Self {
        let Shared { place, options, tools, directory, .. } = &*self.shared;
        let options = ToolsetOptions { documents: false, ..options.clone() };
        let (place, tools, directory) = (place.clone(), tools.clone(), directory.clone());
        let shared = Shared { place, options, tools, directory, specs: OnceLock::new() };
        Self { shared: Arc::new(shared), memory: Arc::clone(&self.memory) }
    }

    /// The tools, as a model is told of them.
    #[must_use]
    pub fn list(&self) -> &[ToolSpec] {
        let offer = self.offer();
        let spec = |tool: &&'static Tool| tool.spec(&offer);
        self.shared.specs.get_or_init(|| self.shared.tools.iter().map(spec).collect())
    }

    /// The names of the tools, without their schemas.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.shared.tools.iter().map(|tool| tool.name)
    }

    /// What the toolset was made with.
    #[must_use]
    pub fn options(&self) -> &ToolsetOptions {
        &self.shared.options
    }

    /// A paragraph for a model's instructions, about the tools that are there.
    #[must_use]
    pub fn system_prompt(&self) -> String {
        prompt::system_prompt(&self.offer())
    }

    fn offer(&self) -> Offer<'_> {
        Offer { options: &self.shared.options, tools: &self.shared.tools }
    }

    /// Calls a tool. Whoever drops the call ends it, with the command that it runs.
    ///
    /// # Errors
    ///
    /// A failure is for the model, like an answer: an argument that makes no sense, a missing file, a
    /// refusal of the policy.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<ToolAnswer, ToolFailure> {
        self.call_with(name, arguments, CallContext::new()).await
    }

    /// Calls a tool, with somebody who follows it or decides about it.
    ///
    /// # Errors
    ///
    /// As [`Toolset::call`].
    pub async fn call_with(&self, name: &str, arguments: Value, call: CallContext) -> Result<ToolAnswer, ToolFailure> {
        let Some(tool) = self.shared.tools.iter().find(|tool| tool.name == name) else {
            let names: Vec<&str> = self.names().collect();
            let text = format!("Error: there is no tool `{name}`\nhint: tools: {}", names.join(", "));
            return Err(ToolFailure::new(ErrorKind::InvalidArgument, text));
        };
        let arguments = tool.checked(arguments)?;
        // Shared, not copied: the arguments may hold a whole file.
        let caller = Arc::new(Caller { tool: name.to_owned(), arguments });
        let place = &self.shared.place;
        let mut files = place.files.on_behalf_of(Arc::clone(&caller));
        let mut commands = self.commands().map(|commands| commands.on_behalf_of(Arc::clone(&caller)));
        if let Some(approver) = call.approver {
            files = files.approver(Arc::clone(&approver));
            commands = commands.map(|commands| commands.approver(approver));
        }
        let context = Context {
            files,
            commands,
            directory: self.directory().await?,
            named_directory: place.directory.clone(),
            options: &self.shared.options,
            memory: &self.memory,
            progress: call.progress.as_deref(),
        };
        tool.call(&context, &caller.arguments).await
    }

    /// The commands, where the options and the policy leave any.
    fn commands(&self) -> Option<&Guarded<Arc<dyn Sandbox>>> {
        let Shared { place, options, .. } = &*self.shared;
        place.commands.as_ref().filter(|_| options.include_execute && !place.denied.contains("execute"))
    }

    /// Where relative paths start: what the place was told, or what its sandbox says.
    async fn directory(&self) -> Result<VirtualPath, ToolFailure> {
        if let Some(known) = self.shared.directory.get() {
            return Ok(known.clone());
        }
        let told = match &self.shared.place.commands {
            Some(sandbox) => sandbox.directory().await?,
            None => VirtualPath::root(),
        };
        Ok(self.shared.directory.get_or_init(|| told).clone())
    }
}
