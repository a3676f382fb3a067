//! A minimal client: lines of JSON-RPC over two pipes.
//!
//! The clock runs from before a line is written until its answer is read to the end of the line. The
//! client parses the answer afterwards, so only the server and the pipes are measured.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::Failure;

/// How long a server may take to end after its input is closed.
const GOING: Duration = Duration::from_secs(10);

/// A running server and its pipes.
#[derive(Debug)]
pub(super) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    began: Instant,
    asked: u64,
}

/// The answer of a server, and its time.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) result: Value,
    pub(super) took: Duration,
    /// Since the process was started.
    pub(super) since_start: Duration,
}

impl Client {
    pub(super) fn start(command: &mut Command) -> Result<Self, Failure> {
        let began = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {:?}: {error}", command.get_program()))?;
        let output = BufReader::with_capacity(64 << 10, child.stdout.take().ok_or("the process has no output pipe")?);
        Ok(Self { input: child.stdin.take(), child, output, began, asked: 0 })
    }

    /// Performs the handshake.
    pub(super) fn greet(&mut self) -> Result<Answer, Failure> {
        let client = json!({ "name": "workden-bench", "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let answer = self.ask("initialize", &hello)?;
        self.write(&line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })))?;
        Ok(answer)
    }

    /// Calls a tool. Fails if the tool fails.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer, Failure> {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        match answer.result["isError"].as_bool() {
            Some(true) => Err(format!("`{tool}` failed: {}", answer.result["content"]).into()),
            _ => Ok(answer),
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<Answer, Failure> {
        self.asked += 1;
        let request = line(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }));
        let began = Instant::now();
        self.write(&request)?;
        loop {
            let said = self.read()?;
            let (took, since_start) = (began.elapsed(), self.began.elapsed());
            let mut message: Value = serde_json::from_slice(&said)?;
            // Notifications have no id.
            if message["id"] != self.asked {
                continue;
            }
            return match message["result"].take() {
                Value::Null => Err(format!("`{method}` was answered with {}", message["error"]).into()),
                result => Ok(Answer { result, took, since_start }),
            };
        }
    }

    /// Sends any line, and waits for any line.
    pub(super) fn exchange(&mut self, line: &[u8]) -> Result<Duration, Failure> {
        let began = Instant::now();
        self.write(line)?;
        self.read()?;
        Ok(began.elapsed())
    }

    /// The process of the server.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Closes the pipe and waits until the server has ended.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        drop(self.input.take());
        let began = Instant::now();
        while self.child.try_wait()?.is_none() {
            if began.elapsed() > GOING {
                return Err("the server did not exit after its input was closed".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Vec<u8>, Failure> {
        let mut said = Vec::new();
        self.output.read_until(b'\n', &mut said)?;
        match said.is_empty() {
            true => Err("the server exited before it answered".into()),
            false => Ok(said),
        }
    }

    fn write(&mut self, line: &[u8]) -> Result<(), Failure> {
        let input = self.input.as_mut().ok_or("the pipe to the server is closed")?;
        Ok(input.write_all(line)?)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a line at once, so that a partial line does not wake the server.
fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_among_other_lines_and_a_server_that_goes_is_noticed() {
        let script = r#"read -r request
            printf '{"method":"notifications/message"}\n{"id":1,"result":{"said":"%s"}}\n' "${#request}"
            read -r request"#;
        let mut client = Client::start(Command::new("sh").args(["-c", script])).unwrap();
        let answer = client.ask("ping", &json!({})).unwrap();
        let request = line(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": {} }));
        assert_eq!(answer.result["said"], (request.len() - 1).to_string());
        assert!(answer.took <= answer.since_start);
        let gone = client.ask("ping", &json!({})).unwrap_err().to_string();
        assert!(gone.contains("exited"), "{gone}");
        client.end().unwrap();
    }

    #[test]
    fn a_tool_that_fails_fails_the_benchmark() {
        let script = r#"read -r request; printf '{"id":1,"result":{"isError":true,"content":"no"}}\n'"#;
        let mut client = Client::start(Command::new("sh").args(["-c", script])).unwrap();
        assert!(client.call("read_file", &json!({})).is_err());
    }
}
