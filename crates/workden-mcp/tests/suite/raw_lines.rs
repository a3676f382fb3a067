//! Raw lines, also such that no client would send.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use workden_mcp::McpServer;

use crate::test_workspace::TestWorkspace;

pub(crate) struct RawClient {
    answers: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(crate) input: WriteHalf<DuplexStream>,
    pub(crate) server: tokio::task::JoinHandle<workden::Result<()>>,
}

impl RawClient {
    pub(crate) fn to(place: &TestWorkspace) -> Self {
        Self::over(place.server())
    }

    pub(crate) fn over(server: McpServer) -> Self {
        let (ours, theirs) = tokio::io::duplex(1024);
        let (input, output) = tokio::io::split(theirs);
        let server = tokio::spawn(async move { workden_mcp::serve_streams(&server, input, output).await });
        let (answers, input) = tokio::io::split(ours);
        Self { answers: BufReader::new(answers).lines(), input, server }
    }

    pub(crate) async fn send(&mut self, line: impl AsRef<[u8]>) {
        self.input.write_all(line.as_ref()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        let line = self.answers.next_line().await.unwrap().expect("the server is still there");
        serde_json::from_str(&line).expect("every line is JSON")
    }

    /// The answer to the request with this id; other messages are skipped.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let answer = self.next().await;
            if answer["id"] == json!(id) && answer.get("method").is_none() {
                return answer;
            }
        }
    }

    pub(crate) async fn initialize(&mut self) {
        self.initialize_with(&json!({})).await;
    }

    pub(crate) async fn initialize_with(&mut self, capabilities: &Value) {
        let client = json!({ "name": "a pipe", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client });
        self.send(request(0, "initialize", &params)).await;
        let answer = self.answer(0).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    async fn lists(&mut self, id: u64) {
        let call = json!({ "name": "ls", "arguments": {} });
        self.send(request(id, "tools/call", &call)).await;
        assert!(self.answer(id).await["result"]["content"][0]["text"].is_string());
    }
}

pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

const GARBAGE: [&[u8]; 12] = [
    b"",
    b"garbage",
    b"{",
    b"[]",
    b"null",
    b"{}",
    b"\xff\xfe\x00",
    br#"{"jsonrpc":"2.0","id":7}"#,
    br#"{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{}}"#,
    br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}"#,
    br#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
    br#"{"jsonrpc":"2.0","id":98,"error":{"code":1,"message":"what?"}}"#,
];

#[tokio::test]
async fn garbage_before_and_after_the_handshake_is_survived() {
    let place = TestWorkspace::new();
    let mut line = RawClient::to(&place);
    for garbage in GARBAGE {
        line.send(garbage).await;
    }
    line.initialize().await;
    for (garbage, id) in GARBAGE.iter().zip(1..) {
        line.send(garbage).await;
        line.lists(id).await;
    }
    line.send(request(50, "tools/uninstall", &json!({}))).await;
    assert_eq!(line.answer(50).await["error"]["code"], -32601);
    line.send(request(51, "tools/call", &json!({ "arguments": 5 }))).await;
    line.lists(52).await;
    line.send(request(53, "tools/call", &json!({ "name": "ls", "arguments": { "path": 5 } }))).await;
    assert_eq!(line.answer(53).await["result"]["isError"], true);
}

#[tokio::test]
async fn a_line_without_an_end_is_not_held() {
    let place = TestWorkspace::new();
    let mut line = RawClient::to(&place);
    line.initialize().await;
    let much = vec![b'x'; 1024 * 1024];
    for _ in 0..17 {
        line.input.write_all(&much).await.unwrap();
    }
    line.send("").await;
    line.lists(1).await;
}

#[tokio::test]
async fn deep_nesting_does_not_overflow() {
    let place = TestWorkspace::new();
    let mut line = RawClient::to(&place);
    line.initialize().await;
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    line.send(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ls","arguments":{{"path":{deep}}}}}}}"#
    ))
    .await;
    line.lists(2).await;
}

#[tokio::test]
async fn a_client_that_closes_before_the_handshake_is_not_a_failure() {
    let place = TestWorkspace::new();
    let line = RawClient::to(&place);
    drop((line.answers, line.input));
    line.server.await.unwrap().unwrap();
}

#[tokio::test]
async fn input_that_is_not_json_rpc_is_a_failure() {
    let place = TestWorkspace::new();
    let served = async |input: &'static [u8]| {
        workden_mcp::serve_streams(&place.server(), input, tokio::io::sink()).await.map_err(|error| error.to_string())
    };
    for junk in [&b"junk\n"[..], b"junk", b"\nGET / HTTP/1.1\n\n"] {
        let told = served(junk).await.unwrap_err();
        assert!(told.starts_with("the input was not JSON-RPC: "), "{told}");
    }
    for nothing in [&b""[..], b"\n"] {
        assert_eq!(served(nothing).await, Ok(()));
    }
}

#[tokio::test]
async fn a_thousand_requests_at_once_are_all_answered() {
    let place = TestWorkspace::new();
    place.write("a.txt", "text\n");
    let mut line = RawClient::to(&place);
    line.initialize().await;
    let (count, mut input) = (1_000, line.input);
    let sending = tokio::spawn(async move {
        for id in 1..=count {
            let path = if id % 3 == 0 { "nothing" } else { "a.txt" };
            let call = json!({ "name": "read_file", "arguments": { "path": path } });
            let call = request(id, "tools/call", &call);
            input.write_all(format!("{call}\nnot JSON\n").as_bytes()).await.unwrap();
        }
        input
    });
    let mut answered = std::collections::BTreeSet::new();
    while answered.len() < 1_000 {
        let answer: Value = serde_json::from_str(&line.answers.next_line().await.unwrap().unwrap()).unwrap();
        let id = answer["id"].as_u64().unwrap();
        assert_eq!(answer["result"]["isError"], id.is_multiple_of(3), "{answer}");
        assert!(answered.insert(id), "answered twice: {id}");
    }
    drop((sending.await.unwrap(), line.answers));
    line.server.await.unwrap().unwrap();
}
