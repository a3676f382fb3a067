//! The official client, with a scripted user behind it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
        ElicitationCapability, Implementation, ProgressNotificationParam, ProtocolVersion,
    },
    service::{NotificationContext, RequestContext, RunningService, ServiceError},
};
use serde_json::{Value, json};
use workden_mcp::McpServer;

pub(crate) type Client = RunningService<RoleClient, User>;

/// The revision of the protocol that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revision {
    Handshake,
    Stateless,
}

impl Revision {
    pub(crate) fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Self::Handshake => ClientLifecycleMode::Initialize,
            Self::Stateless => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
        }
    }
}

/// The user behind a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct User {
    can_be_asked: bool,
    answers: Arc<Mutex<VecDeque<Value>>>,
    pub(crate) questions: Arc<Mutex<Vec<String>>>,
    pub(crate) progress: Arc<Mutex<Vec<ProgressNotificationParam>>>,
}

impl User {
    /// A user who cannot be asked.
    pub(crate) fn silent() -> Self {
        Self::default()
    }

    /// A user who gives these answers in turn; one more question is an error.
    pub(crate) fn answering(answers: impl IntoIterator<Item = Value>) -> Self {
        let answers = Arc::new(Mutex::new(answers.into_iter().collect()));
        Self { can_be_asked: true, answers, ..Self::default() }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.questions.lock().unwrap().clone()
    }

    /// Connects to a server through memory.
    pub(crate) async fn connect(self, server: &McpServer, revision: Revision) -> Client {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (input, output) = tokio::io::split(theirs);
        let server = server.clone();
        tokio::spawn(async move { workden_mcp::serve_streams(&server, input, output).await.unwrap() });
        self.serve_with_lifecycle(ours, revision.lifecycle()).await.unwrap()
    }
}

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = self.can_be_asked.then(ElicitationCapability::default);
        ClientConfig::new(capabilities, Implementation::new("a test", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else {
            return Err(ErrorData::invalid_params("only forms", None));
        };
        self.questions.lock().unwrap().push(message);
        let answer = self.answers.lock().unwrap().pop_front();
        let answer = answer.ok_or_else(|| ErrorData::internal_error("asked once too often", None))?;
        Ok(serde_json::from_value(answer).unwrap())
    }

    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().unwrap().push(report);
    }
}

pub(crate) fn yes() -> Value {
    json!({ "action": "accept", "content": {} })
}

pub(crate) fn yes_and_remember() -> Value {
    json!({ "action": "accept", "content": { "remember": true } })
}

pub(crate) fn no() -> Value {
    json!({ "action": "decline" })
}

pub(crate) fn calling(tool: &str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
}

pub(crate) async fn try_call(client: &Client, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
    client.call_tool(calling(tool, arguments)).await
}

pub(crate) async fn call(client: &Client, tool: &str, arguments: Value) -> CallToolResult {
    try_call(client, tool, arguments).await.unwrap()
}

/// The text of an answer that is not a failure.
pub(crate) async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let result = call(client, tool, arguments).await;
    assert_eq!(result.is_error, Some(false), "{tool}: {result:?}");
    said(&result)
}

/// The text of a failure.
pub(crate) async fn failure(client: &Client, tool: &str, arguments: Value) -> String {
    let result = call(client, tool, arguments).await;
    assert_eq!(result.is_error, Some(true), "{tool}: {result:?}");
    said(&result)
}

pub(crate) fn said(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap().text.clone()
}

/// The kind of a failure, for programs.
pub(crate) fn kind(result: &CallToolResult) -> String {
    let meta = serde_json::to_value(&result.meta).unwrap();
    meta["workden/facts"]["kind"].as_str().unwrap().to_owned()
}
