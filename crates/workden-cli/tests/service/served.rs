//! A service of a test, and calls to it.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use crate::database;
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

#[path = "../shared/state_directory.rs"]
mod state_directory;

pub(crate) use state_directory::StateDirectory;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running service, which ends with this value.
pub(crate) struct Served {
    program: Child,
    pub(crate) url: String,
    pub(crate) key: String,
    client: Client,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Served {
    /// Starts a service in a directory; a new one prints its first key.
    pub(crate) fn start(state: &Path, more: &[&str]) -> Self {
        Self::start_with(state, more, &[])
    }

    /// Starts a service in a directory, with variables.
    pub(crate) fn start_with(state: &Path, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_workden"));
        program.args(["serve", "--listen", "127.0.0.1:0", "--state"]).arg(state).args(database::arguments(state));
        Self::run(program.args(more).envs(variables.iter().copied()))
    }

    /// Starts a service by a command, and waits until it has said everything.
    pub(crate) fn run(command: &mut Command) -> Self {
        Self::until_line(command, |line| line == "Read the API, also in a browser:")
    }

    /// Starts a service that tells its address only.
    pub(crate) fn quiet(command: &mut Command) -> Self {
        Self::until_line(command, |line| line.starts_with("workden: serving "))
    }

    fn until_line(command: &mut Command, is_last: impl Fn(&str) -> bool) -> Self {
        let mut program = command.stderr(Stdio::piped()).spawn().unwrap();
        let (sender, told) = mpsc::channel();
        let errors = BufReader::new(program.stderr.take().unwrap());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let _ = writeln!(std::io::stderr(), "{line}");
                kept.lock().unwrap().push(line.clone());
                let _ = sender.send(line);
            }
        });
        let (mut url, mut key) = (String::new(), String::new());
        loop {
            let line = told.recv_timeout(PATIENCE).unwrap();
            if let Some(found) = line.strip_prefix("workden: serving ") {
                url = found.to_owned();
            }
            if let Some(found) = line.strip_prefix("workden: your key, shown once: ") {
                key = found.to_owned();
            }
            if is_last(&line) {
                break;
            }
        }
        Self { program, url, key, client: Client::new(), lines }
    }

    /// Returns what it has written to standard error.
    pub(crate) fn log(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Returns the address without `http://`.
    pub(crate) fn address(&self) -> &str {
        self.url.split_once("://").unwrap().1
    }

    /// Returns the number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.program.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.id().to_string()).status();
        assert!(status.unwrap().success());
    }

    /// Ends it as an operator does, and returns its log.
    pub(crate) fn end(mut self) -> Vec<String> {
        self.signal("TERM");
        assert!(self.program.wait().unwrap().success());
        self.log()
    }

    /// Starts a service in a new directory.
    pub(crate) fn new() -> (StateDirectory, Self) {
        let state = StateDirectory::new();
        let served = Self::start(state.path(), &[]);
        (state, served)
    }

    /// Uses another key from now on.
    pub(crate) fn with_key(&self, key: &str) -> Caller<'_> {
        Caller { served: self, key: key.to_owned() }
    }

    /// Calls as the administrator.
    pub(crate) fn admin(&self) -> Caller<'_> {
        self.with_key(&self.key)
    }

    /// Ends the service at once, as a crash does.
    pub(crate) fn kill(mut self) -> String {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
        std::mem::take(&mut self.key)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if matches!(self.program.try_wait(), Ok(None)) {
            let pid = self.program.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &pid]).status();
            let _ = self.program.wait();
        }
    }
}

/// A client with a key.
pub(crate) struct Caller<'a> {
    served: &'a Served,
    key: String,
}

impl Caller<'_> {
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.served.client.request(method, format!("{}{path}", self.served.url)).timeout(PATIENCE);
        request.bearer_auth(&self.key)
    }

    /// Calls with a body of JSON, and returns the status and the answer.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.call(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> StatusCode {
        self.call(Method::DELETE, path, None).await.0
    }

    /// Creates a session, and returns its path and its token.
    pub(crate) async fn session(&self, new: Value) -> (String, String) {
        let (status, made) = self.post("/v1/sessions", new).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        (format!("/v1/sessions/{}", text(&made["id"])), text(&made["token"]))
    }

    /// Writes a file, and returns the status and the ETag.
    pub(crate) async fn put(&self, session: &str, path: &str, content: &str) -> StatusCode {
        let request = self.request(Method::PUT, &format!("{session}/files?path={path}"));
        request.body(content.to_owned()).send().await.unwrap().status()
    }

    /// Returns the status of a command.
    pub(crate) async fn run_status(&self, session: &str) -> StatusCode {
        self.post(&format!("{session}/commands"), json!({ "command": "true" })).await.0
    }

    /// Runs a line that the policy asks about, and approves it.
    pub(crate) async fn run_approved(&self, session: &str, line: &str) -> (i64, String) {
        let pending = || async { self.get("/v1/approvals").await.1.as_array().unwrap().clone() };
        let approve = async {
            until("a question", || async { !pending().await.is_empty() }).await;
            let path = format!("/v1/approvals/{}", text(&pending().await[0]["id"]));
            let answer = json!({ "decision": "approve", "scope": "once" });
            assert_eq!(self.post(&path, answer).await.0, StatusCode::OK);
        };
        tokio::join!(self.run(session, line), approve).0
    }

    /// Runs a line, and returns the exit code and the output.
    pub(crate) async fn run(&self, session: &str, line: &str) -> (i64, String) {
        let (status, done) = self.post(&format!("{session}/commands"), json!({ "command": line })).await;
        assert_eq!(status, StatusCode::OK, "{done}");
        (done["exit_code"].as_i64().unwrap(), text(&done["output"]))
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}

/// Waits until a check holds.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, check: impl Fn() -> F) {
    let start = Instant::now();
    while !check().await {
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
