//! The MCP inspector from npm, by its two command lines: `--cli`, which connects for one request, and `mcpdo`,
//! whose daemon holds a connection for many.

use std::{path::Path, process::Command};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    clients::{
        Answer, Askable, Client, Era, installed,
        process::{Ran, run},
        served::{Reached, Served},
    },
    processes::eventually,
};

/// The inspector's name of an era.
fn word(era: Era) -> &'static str {
    match era {
        Era::Handshake => "legacy",
        Era::Modern => "modern",
    }
}

/// Returns `node` with a program of the inspector, whose home is a directory of the test.
fn program(file: &str, home: &TempDir) -> Command {
    let mut command = Command::new(installed::node());
    command.arg(installed::inspector(file)).env("HOME", home.path()).env("MCP_INSPECTOR_SECRET_STORE", "file");
    // The tests start it a hundred times; the cache makes every start but the first faster.
    command.env("NODE_COMPILE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("node"));
    command
}

fn header(token: &str) -> [String; 2] {
    ["--header".to_owned(), format!("Authorization: Bearer {token}")]
}

/// Parses the printed result; a failed tool also has one.
fn result(ran: &Ran) -> Value {
    const TOOL_FAILED: i32 = 5;
    assert!(ran.code == Some(0) || ran.code == Some(TOOL_FAILED), "{ran:?}");
    let result = serde_json::from_str::<Value>(&ran.out);
    assert!(result.is_ok(), "{ran:?}");
    let result = result.unwrap();
    assert_eq!(result["isError"] == true, ran.code == Some(TOOL_FAILED), "{ran:?}");
    result
}

/// `inspector --cli`, once for every request.
pub(crate) struct OneShot<'s> {
    served: &'s Served,
    era: Era,
    home: TempDir,
}

impl<'s> OneShot<'s> {
    pub(crate) fn of(served: &'s Served, era: Era) -> Self {
        Self { served, era, home: tempfile::tempdir().unwrap() }
    }

    /// Returns the command of a request.
    pub(crate) fn command(&self, request: &[&str]) -> Command {
        let mut command = program("launcher/build/index.js", &self.home);
        command.arg("--cli");
        match &self.served.reached {
            Reached::Started(words) => command.arg(env!("CARGO_BIN_EXE_workden")).args(words),
            Reached::Over { url, token } => command.arg(url).args(["--transport", "http"]).args(header(token)),
        };
        command.args(["--protocol-era", word(self.era)]).args(request);
        command
    }

    pub(crate) fn request(&self, request: &[&str]) -> Value {
        result(&run(&mut self.command(request), ""))
    }
}

impl Client for OneShot<'_> {
    fn tools(&mut self) -> Vec<Value> {
        // Strict: fails on a schema that some client would not accept.
        let ran = run(&mut self.command(&["--method", "tools/list", "--strict"]), "");
        assert_eq!(ran.err, "");
        result(&ran)["tools"].as_array().unwrap().clone()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let arguments = arguments.to_string();
        self.request(&["--method", "tools/call", "--tool-name", tool, "--tool-args-json", &arguments])
    }
}

/// `mcpdo` with its own daemon and connection.
pub(crate) struct Connected {
    home: TempDir,
    daemon: u64,
}

impl Connected {
    pub(crate) fn to(served: &Served, era: Era) -> Self {
        let mut client = Self { home: tempfile::tempdir().unwrap(), daemon: 0 };
        let mut command = client.command(&["--connection", "den", "connect", "--era", word(era)]);
        match &served.reached {
            Reached::Started(words) => command.args(["--", env!("CARGO_BIN_EXE_workden")]).args(words),
            Reached::Over { url, token } => {
                command.args(["--transport", "http", "--server-url", url]).args(header(token))
            }
        };
        let connected = result(&run(&mut command, ""));
        client.daemon = client.request(&["daemon", "status"])["pid"].as_u64().unwrap();
        assert_eq!(connected["protocolEra"], word(era));
        client
    }

    /// Returns the command of a request.
    pub(crate) fn command(&self, request: &[&str]) -> Command {
        let mut command = program("mcpdo/build/mcp-bin.js", &self.home);
        command.env("MCP_INSPECTOR_DAEMON_DIR", self.home.path().join("daemon"));
        command.env("MCP_INSPECTOR_DAEMON_TOKEN", "another-token-of-these-tests-for-the-daemon");
        command.args(["--format", "json"]).args(request);
        command
    }

    pub(crate) fn request(&self, request: &[&str]) -> Value {
        result(&run(&mut self.command(request), ""))
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        if self.daemon == 0 || std::thread::panicking() {
            let _ = self.command(&["daemon", "stop"]).output();
            return;
        }
        self.request(&["daemon", "stop"]);
        let process = format!("/proc/{}", self.daemon);
        eventually("the inspector's daemon does not end", || !Path::new(&process).exists());
    }
}

impl Client for Connected {
    fn tools(&mut self) -> Vec<Value> {
        self.request(&["@den", "tools/list"])["tools"].as_array().unwrap().clone()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request(&["@den", "tools/call", tool, "--tool-args-json", &arguments.to_string()])
    }
}

impl Askable for Connected {
    fn call_and_answer(&mut self, tool: &str, arguments: &Value, answer: Answer) -> (Value, String) {
        let pending = self.call(tool, arguments)["elicitationPending"].clone();
        let (id, question) = (pending["elicitationId"].as_str().unwrap(), pending["message"].as_str().unwrap());
        let said = match answer {
            Answer::Yes => json!({ "remember": false }).to_string(),
            Answer::YesAndDoNotAskAgain => json!({ "remember": true }).to_string(),
            Answer::No => "--decline".to_owned(),
        };
        (self.request(&["elicitation/respond", id, &said]), question.to_owned())
    }
}
