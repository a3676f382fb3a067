//! The official Python client, controlled through `session.py`.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek, Write},
    process::{ChildStdin, Command, Stdio},
    sync::mpsc,
};

use serde_json::{Value, json};

use crate::{
    clients::{
        Answer, Askable, Client, Era, installed,
        process::Process,
        served::{Reached, Served},
    },
    processes::PATIENCE,
};

/// A connected client.
pub(crate) struct Python {
    process: Process,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    /// Standard error of the client, and of the server that it started.
    complaints: File,
}

/// Whether the client announces that it can ask its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    Yes,
    No,
}

impl Python {
    pub(crate) fn connect(served: &Served, era: Era) -> Self {
        Self::connect_as(served, era, Asks::Yes)
    }

    pub(crate) fn connect_as(served: &Served, era: Era, asks: Asks) -> Self {
        let mut command = Command::new(installed::python());
        command.arg(installed::script("session.py")).env_remove("PYTHONPATH");
        let complaints = tempfile::tempfile().unwrap();
        command.stderr(complaints.try_clone().unwrap());
        let mut process = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let (input, output) = (process.0.stdin.take(), process.0.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).all(|l| sender.send(l).is_ok())
        });
        let mut client = Self { process, input, lines, complaints };
        let (mode, version) = match era {
            Era::Handshake => ("legacy", "2025-11-25"),
            Era::Modern => ("auto", "2026-07-28"),
        };
        let mut how = match &served.reached {
            Reached::Started(words) => json!({ "command": env!("CARGO_BIN_EXE_workden"), "args": words }),
            Reached::Over { url, token } => json!({ "url": url, "token": token }),
        };
        how["mode"] = mode.into();
        how["can_be_asked"] = (asks == Asks::Yes).into();
        let greeting = client.ask(&how);
        assert_eq!(greeting["version"], version, "{greeting}");
        assert!(greeting["instructions"].as_str().unwrap().contains("workspace"), "{greeting}");
        client
    }

    /// Sends one line and returns the line that answers it.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.input.as_mut().unwrap(), "{request}").unwrap();
        let line = self.lines.recv_timeout(PATIENCE);
        assert!(line.is_ok(), "no answer to {request}\n{}", self.complained());
        serde_json::from_str(&line.unwrap()).unwrap()
    }

    fn complained(&mut self) -> String {
        let mut text = String::new();
        self.complaints.rewind().unwrap();
        self.complaints.read_to_string(&mut text).unwrap();
        text
    }

    /// Closes the connection as the client does; it must end without an error message.
    pub(crate) fn end(mut self) {
        drop(self.input.take());
        let code = self.process.wait();
        assert_eq!((code, self.complained().as_str()), (Some(0), ""));
    }
}

impl Client for Python {
    fn tools(&mut self) -> Vec<Value> {
        self.ask(&json!({ "do": "tools" }))["tools"].as_array().unwrap().clone()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask(&json!({ "do": "call", "tool": tool, "args": arguments }))["result"].clone()
    }
}

impl Askable for Python {
    fn call_and_answer(&mut self, tool: &str, arguments: &Value, answer: Answer) -> (Value, String) {
        let answer = match answer {
            Answer::Yes => json!({ "action": "accept", "content": {} }),
            Answer::YesAndDoNotAskAgain => json!({ "action": "accept", "content": { "remember": true } }),
            Answer::No => json!({ "action": "decline" }),
        };
        let done = self.ask(&json!({ "do": "call", "tool": tool, "args": arguments, "answer": answer }));
        assert_eq!(done["asked"].as_array().map(Vec::len), Some(1), "{done}");
        (done["result"].clone(), done["asked"][0].as_str().unwrap().to_owned())
    }
}
