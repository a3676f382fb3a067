//! `McpServer`: the requests of a client, and the agent behind each client.

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
    approvals::{CallDigest, StateSeal},
    client_call::{CallEnd, ClientCall, Questions, RetryInput},
    limits::{ANSWER_TIMEOUT, DRAIN_TIME},
    progress,
    quota::Quota,
    resources::Resources,
    tool_description,
    tool_result::{self, DataPlace},
};

/// The refusal of a listing that would need approval.
const LISTING_NOT_ASKED: &str = "a listing of resources cannot ask for approval; list files with a tool, which can, or \
                                 tell the user that it takes a policy that allows it";

/// An MCP server over the tools and files of one workspace. Clones are the same server.
///
/// A client that starts with a handshake is an agent of its own, with its own record of seen files and its own
/// remembered approvals. Clients of the revision without a handshake (2026-07-28) cannot be told apart over HTTP, and
/// are one agent together.
#[derive(Clone, Debug)]
pub struct McpServer {
    shared: Arc<Shared>,
    /// The agent of the client that this clone serves, after the handshake.
    agent: OnceLock<Agent>,
    clients: Clients,
    /// The quota with the share of the client that this clone serves.
    quota: Quota,
    /// How long a question in the middle of a call waits for its answer.
    question_timeout: Duration,
    /// How long calls may run on after the end of input.
    pub(crate) drain_time: Duration,
    /// Cancelled when the server stops, which ends the calls of this clone.
    stopped: CancellationToken,
}

/// The clients that a clone of a server serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clients {
    /// One client.
    One,
    /// One client after a handshake; without one, any client without a handshake.
    Unknown,
}

/// One agent: its tools, with its record of seen files, and the remembered approvals of its user.
#[derive(Clone, Debug)]
struct Agent {
    toolset: Toolset,
    remembered: Arc<ApprovalMemory>,
}

#[derive(Debug)]
struct Shared {
    /// The agent of all clients without a handshake.
    common_agent: Agent,
    /// The quota with the share of all clients without a handshake.
    common_quota: Quota,
    resources: Option<Resources>,
    /// Created by the first request for it: starting does not wait for schemas.
    tools: OnceLock<Vec<Tool>>,
    seal: StateSeal,
}

impl McpServer {
    /// Creates a server over a workspace: its tools, and its files as resources. Build the workspace with
    /// [`approvals`](crate::approvals()) to ask clients where the policy asks.
    ///
    /// # Errors
    ///
    /// As [`Workspace::toolset`].
    pub fn new(workspace: &Workspace, options: ToolsetOptions) -> workden::Result<Self> {
        let resources = Resources::new(workspace.clone());
        Ok(Self::with(workspace.toolset(options)?, Some(resources)))
    }

    /// Creates a server over tools alone.
    #[must_use]
    pub fn over(toolset: Toolset) -> Self {
        Self::with(toolset, None)
    }

    fn with(toolset: Toolset, resources: Option<Resources>) -> Self {
        let common_agent = Agent { toolset, remembered: Arc::default() };
        let common_quota = Quota::default();
        Self {
            clients: Clients::Unknown,
            quota: common_quota.clone(),
            shared: Arc::new(Shared {
                common_agent,
                common_quota,
                resources,
                tools: OnceLock::new(),
                seal: StateSeal::default(),
            }),
            agent: OnceLock::new(),
            question_timeout: ANSWER_TIMEOUT,
            drain_time: DRAIN_TIME,
            stopped: CancellationToken::new(),
        }
    }

    /// Sets how long a person has to answer a question in the middle of a call, after which the call is refused.
    /// Default: 15 minutes.
    #[must_use]
    pub fn question_timeout(mut self, timeout: Duration) -> Self {
        self.question_timeout = timeout;
        self
    }

    /// Sets how long the calls of a client on streams may run on after it has closed its end, after which they are
    /// cancelled. Default: half a second.
    #[must_use]
    pub fn drain_time(mut self, time: Duration) -> Self {
        self.drain_time = time;
        self
    }

    /// Returns the same server for another client, whose calls end with `stopped`.
    pub(crate) fn for_client(&self, stopped: CancellationToken, clients: Clients) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            agent: OnceLock::new(),
            clients,
            quota: self.shared.common_quota.for_another_client(),
            question_timeout: self.question_timeout,
            drain_time: self.drain_time,
            stopped,
        }
    }

    /// The quota of the server, with the share of the client that this clone serves.
    pub(crate) fn quota(&self) -> &Quota {
        match self.clients {
            Clients::Unknown if self.agent.get().is_none() => &self.shared.common_quota,
            Clients::Unknown | Clients::One => &self.quota,
        }
    }

    fn agent(&self) -> &Agent {
        self.agent.get().unwrap_or(&self.shared.common_agent)
    }

    fn call(&self, context: RequestContext<RoleServer>, digest: CallDigest, retry: RetryInput) -> ClientCall {
        ClientCall {
            context,
            digest,
            retry,
            questions: Questions::Asked(self.question_timeout),
            remembered: Arc::clone(&self.agent().remembered),
            progress: None,
            quota: self.quota().clone(),
            stopped: self.stopped.clone(),
        }
    }

    fn tools(&self) -> &[Tool] {
        let described = || self.agent().toolset.list().iter().map(tool_description::described).collect();
        self.shared.tools.get_or_init(described)
    }

    /// Where the data of a tool's answers goes.
    fn data_place(&self, tool: &str) -> DataPlace {
        match self.tools().iter().any(|known| known.name == tool && known.output_schema.is_some()) {
            true => DataPlace::StructuredContent,
            false => DataPlace::Metadata,
        }
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
            .with_instructions(self.agent().toolset.system_prompt())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let toolset = || self.shared.common_agent.toolset.for_another_agent();
        self.agent.get_or_init(|| Agent { toolset: toolset(), remembered: Arc::default() });
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
        let toolset = &self.agent().toolset;
        if !toolset.names().any(|name| name == request.name) {
            let names: Vec<&str> = toolset.names().collect();
            let text = format!("tool `{}` not found; tools: {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(text, None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let digest = CallDigest::of("tools/call", &request.name, &arguments);
        let retry = RetryInput { state: request.request_state, responses: request.input_responses };
        let token = context.meta.get_progress_token();
        let mut call = self.call(context, digest, retry);
        let mut during = CallContext::new();
        if let Some(token) = token {
            let (sender, queue) = progress::channel(token);
            call.progress = Some(queue);
            during = during.progress(Arc::new(sender));
        }
        match call.run(&self.shared.seal, toolset.call_with(&request.name, arguments, during)).await? {
            CallEnd::Done(outcome) => Ok(tool_result::tool_result(outcome, self.data_place(&request.name)).into()),
            CallEnd::InputRequired(required) => Ok(required.into()),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.resources()?;
        let cursor = request.and_then(|request| request.cursor);
        let digest = CallDigest::of("resources/list", "", &json!(cursor));
        let mut call = self.call(context, digest, RetryInput::default());
        // From the revision of 2026-07-28 on a listing cannot require input, so that none asks.
        call.questions = Questions::Refused(LISTING_NOT_ASKED);
        match call.run(&self.shared.seal, resources.list(cursor.as_deref())).await? {
            CallEnd::Done(listed) => listed,
            CallEnd::InputRequired(_) => Err(ErrorData::internal_error(LISTING_NOT_ASKED, None)),
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
        let digest = CallDigest::of("resources/read", &request.uri, &Value::Null);
        let retry = RetryInput { state: request.request_state, responses: request.input_responses };
        match self.call(context, digest, retry).run(&self.shared.seal, resources.read(&request.uri)).await? {
            CallEnd::Done(read) => Ok(read?.into()),
            CallEnd::InputRequired(required) => Ok(required.into()),
        }
    }
}
