//! `McpServer`: what a client can ask for.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, Implementation, InitializeRequestParams, InitializeResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability, ServerCapabilities, ServerConfig, Tool,
        ToolsCapability,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use workden::{Workspace, policy::approvals::ApprovalMemory};
use workden_tools::{CallContext, Toolset, ToolsetOptions};

use crate::{
    answer,
    approvals::{Subject, remembering_in},
    call::{Brought, Calls, Ended, Questions, Request},
    limits::ANSWER_TIME,
    progress,
    resources::Resources,
    room::Room,
    tools,
};

/// What can be done where a listing would have to be approved.
const LISTED_BY_TOOLS: &str = "nobody is asked about a listing of resources; list files with a tool, which is asked \
                               about, or tell the user that it takes a policy that allows it";

/// An MCP server over the tools and files of one workspace. Clones are the same server.
///
/// A client that begins with a handshake is an agent of its own: what it has seen of files is not what
/// another one has seen, and what its user need not be asked again is asked of another. Clients of the revision without a handshake (2026-07-28) cannot be told apart
/// over HTTP, and are one agent together.
#[derive(Clone, Debug)]
pub struct McpServer {
    shared: Arc<Shared>,
    /// The client that this clone is for, once it has begun.
    agent: OnceLock<Agent>,
    /// Who this clone is for, and the share that is theirs.
    clients: Clients,
    room: Room,
    /// How long an answer to a question in the middle of a call is waited for.
    question_time: Duration,
    /// The end of the serving that this clone is for, whose calls end with it.
    stopped: CancellationToken,
}

/// Who a clone of a server is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clients {
    /// One client.
    One,
    /// One client if it begins with a handshake; otherwise any of those that cannot be told apart.
    Unknown,
}

/// One agent: its tools, which know what it has seen, and what its user need not be asked again.
#[derive(Clone, Debug)]
struct Agent {
    toolset: Toolset,
    remembered: Arc<ApprovalMemory>,
}

#[derive(Debug)]
struct Shared {
    /// All clients together that cannot be told apart.
    anybody: Agent,
    resources: Option<Resources>,
    /// Made when first asked for: starting must not wait for schemas.
    tools: OnceLock<Vec<Tool>>,
    calls: Calls,
}

impl McpServer {
    /// A server over a workspace: its tools, and its files as resources. To have clients asked where the
    /// policy asks, build the workspace with [`approvals`](crate::approvals()).
    ///
    /// # Errors
    ///
    /// As [`Workspace::toolset`].
    pub fn new(workspace: &Workspace, options: ToolsetOptions) -> workden::Result<Self> {
        let resources = Resources::new(workspace.clone());
        Ok(Self::with(workspace.toolset(options)?, Some(resources)))
    }

    /// A server over tools alone.
    #[must_use]
    pub fn over(toolset: Toolset) -> Self {
        Self::with(toolset, None)
    }

    fn with(toolset: Toolset, resources: Option<Resources>) -> Self {
        let anybody = Agent { toolset, remembered: Arc::default() };
        let shared = Shared { anybody, resources, tools: OnceLock::new(), calls: Calls::default() };
        Self {
            clients: Clients::Unknown,
            room: shared.calls.room.clone(),
            shared: Arc::new(shared),
            agent: OnceLock::new(),
            question_time: ANSWER_TIME,
            stopped: CancellationToken::new(),
        }
    }

    /// How long a person has to answer a question that is asked in the middle of a call; 15 minutes unless
    /// it is said here. After that the call is refused.
    #[must_use]
    pub fn question_time(mut self, time: Duration) -> Self {
        self.question_time = time;
        self
    }

    /// The same server for another client, whose calls end with `stopped`.
    pub(crate) fn until(&self, stopped: CancellationToken, clients: Clients) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            agent: OnceLock::new(),
            clients,
            room: self.shared.calls.room.for_another_client(),
            question_time: self.question_time,
            stopped,
        }
    }

    /// The room of the server, with the share of the client that this clone is for.
    pub(crate) fn room(&self) -> &Room {
        match self.clients {
            Clients::Unknown if self.agent.get().is_none() => &self.shared.calls.room,
            Clients::Unknown | Clients::One => &self.room,
        }
    }

    fn agent(&self) -> &Agent {
        self.agent.get().unwrap_or(&self.shared.anybody)
    }

    fn toolset(&self) -> &Toolset {
        &self.agent().toolset
    }

    fn request(&self, context: RequestContext<RoleServer>, subject: Subject, brought: Brought) -> Request {
        let questions = Questions::Asked(self.question_time);
        Request { context, subject, brought, questions, room: self.room().clone(), stopped: self.stopped.clone() }
    }

    fn tools(&self) -> &[Tool] {
        let described = || self.toolset().list().iter().map(tools::described).collect();
        self.shared.tools.get_or_init(described)
    }

    fn resources(&self) -> Result<&Resources, ErrorData> {
        let none = || ErrorData::invalid_request("this server has no resources", None);
        self.shared.resources.as_ref().ok_or_else(none)
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(ToolsCapability::default());
        capabilities.resources = self.shared.resources.as_ref().map(|_| ResourcesCapability::default());
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("workden", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.toolset().system_prompt())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let other = || Agent { toolset: self.shared.anybody.toolset.for_another_agent(), remembered: Arc::default() };
        self.agent.get_or_init(other);
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let toolset = self.toolset();
        if !toolset.names().any(|name| name == request.name) {
            let names: Vec<&str> = toolset.names().collect();
            let sentence = format!("there is no tool `{}`; tools: {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(sentence, None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let subject = Subject::of("tools/call", &request.name, &arguments);
        let brought = Brought { state: request.request_state, responses: request.input_responses };
        let mut along = CallContext::new();
        let news = context.meta.get_progress_token().map(|token| {
            let (reporter, news) = progress::follow(token);
            along = std::mem::take(&mut along).progress(Arc::new(reporter));
            news
        });
        let call = remembering_in(&self.agent().remembered, toolset.call_with(&request.name, arguments, along));
        match self.shared.calls.make(self.request(context, subject, brought), news, call).await? {
            Ended::Done(outcome) => Ok(answer::result(outcome).into()),
            Ended::Asks(required) => Ok(required.into()),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.resources()?;
        let cursor = request.and_then(|request| request.cursor);
        let subject = Subject::of("resources/list", "", &json!(cursor));
        let call = remembering_in(&self.agent().remembered, resources.list(cursor.as_deref()));
        let mut request = self.request(context, subject, Brought::default());
        // From the revision of 2026-07-28 on there is no way to ask about a listing, so that none is asked about.
        request.questions = Questions::Left(LISTED_BY_TOOLS);
        match self.shared.calls.make(request, None, call).await? {
            Ended::Done(listed) => listed,
            Ended::Asks(_) => Err(ErrorData::internal_error("a listing cannot be asked about", None)),
        }
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.resources()?;
        Ok(ListResourceTemplatesResult::with_all_items(vec![Resources::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let resources = self.resources()?;
        let subject = Subject::of("resources/read", &request.uri, &Value::Null);
        let brought = Brought { state: request.request_state, responses: request.input_responses };
        let call = remembering_in(&self.agent().remembered, resources.read(&request.uri));
        match self.shared.calls.make(self.request(context, subject, brought), None, call).await? {
            Ended::Done(read) => Ok(read?.into()),
            Ended::Asks(required) => Ok(required.into()),
        }
    }
}
