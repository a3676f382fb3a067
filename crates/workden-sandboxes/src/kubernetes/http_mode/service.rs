//! What the server in a pod can do, over the routes of the protocol.
//!
//! The server sends files as text. Content that does not have the size that the server lists was changed on the way:
//! such a file is refused, so that no read returns other bytes than the file has, and no edit loses any.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use workden_core::{
    Entry, Error, ErrorKind, IfExists, Result, VirtualPath, directory_entry,
    sandbox::{Ended, Isolation, IsolationLevel, Usage},
};

use super::{
    super::{cluster::patiently, errors, report},
    HttpPod,
    messages::{self, ExecAnswer, ExecRequest},
    rows,
    server::CallLimits,
};
use crate::served::{FileService, RanLine, quoted};

/// How much later than a command's time limit the answer may come.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Bytes of an answer with output. Servers send 100,000 characters.
const OUTPUT_BYTES: usize = 8 * 1024 * 1024;

impl HttpPod {
    /// Runs a line. Returns the server's answer.
    async fn executed(&self, line: &str, time: Duration) -> Result<ExecAnswer> {
        // A server knows whole seconds, and zero means none to some.
        let timeout_seconds = time.as_secs_f64().ceil().max(1.0) as u64;
        let limits = CallLimits { time: time.saturating_add(ANSWER_TIME), bytes: OUTPUT_BYTES };
        self.call(async |server| server.ask("/exec", &ExecRequest { command: line, timeout_seconds }, limits).await)
            .await
    }
}

#[async_trait]
impl FileService for HttpPod {
    fn name(&self) -> &'static str {
        "the HTTP mode"
    }

    fn work_dir(&self) -> &VirtualPath {
        &self.work_dir
    }

    async fn rows(&self, directory: &VirtualPath) -> Result<Vec<Entry>> {
        let path = directory.to_string();
        let rows = self
            .call(async |server| server.ask("/ls", &messages::ListRequest { path: &path }, CallLimits::FILES).await)
            .await;
        match rows {
            Ok(rows) => Ok(rows::of_directory(directory, rows)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::not_found("list", directory)),
            Err(error) => Err(error),
        }
    }

    /// Returns one file or directory, as the listing of its directory shows it.
    async fn entry(&self, verb: &str, path: &VirtualPath) -> Result<Entry> {
        let Some(parent) = path.parent() else { return Ok(directory_entry(path.clone())) };
        let listed = match self.rows(&parent).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            listed => listed?,
        };
        listed.into_iter().find(|entry| entry.path == *path).ok_or_else(|| Error::not_found(verb, path))
    }

    async fn content(&self, verb: &str, path: &VirtualPath) -> Result<Bytes> {
        let name = path.to_string();
        let read = self.call(async |server| {
            let request = messages::ReadRequest { path: &name, offset: 0, limit: messages::ALL_LINES };
            server.ask::<_, messages::ReadAnswer>("/read", &request, CallLimits::FILES).await
        });
        let (read, entry) = tokio::join!(read, self.entry(verb, path));
        let entry = entry?;
        if entry.is_dir() {
            return Err(Error::is_directory(verb, path));
        }
        let content = match read {
            Ok(answer) => Bytes::from(answer.content.unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(Error::not_found(verb, path)),
            Err(error) => return Err(error),
        };
        match entry.size {
            Some(size) if size != content.len() as u64 => {
                let sentence = format!("cannot {verb} `{path}`: the server in the pod does not send its exact bytes");
                Err(Error::new(ErrorKind::NotText, sentence)
                    .hint(format!("it may not be UTF-8: use a command, such as `base64 {}`", quoted(&name))))
            }
            _ => Ok(content),
        }
    }

    async fn put(&self, path: &VirtualPath, content: Bytes) -> Result<()> {
        let name = path.to_string();
        let request = messages::WriteRequest { path: &name, content_b64: STANDARD.encode(content) };
        self.call(async |server| server.tell("/write", &request).await).await
    }

    async fn rename(&self, from: &VirtualPath, _: &VirtualPath, _: IfExists) -> Result<()> {
        // A command cannot check and rename in one step on every image.
        let sentence = format!("cannot move `{from}`: moving is not supported with the HTTP mode");
        Err(Error::new(ErrorKind::Unsupported, sentence).hint("use the command `mv`"))
    }

    async fn find(&self, at: &VirtualPath, pattern: &str) -> Result<Vec<Entry>> {
        let path = at.to_string();
        let found = self
            .call(async |server| {
                let question = messages::GlobRequest { pattern, path: &path };
                server.ask::<_, Vec<messages::Row>>("/glob", &question, CallLimits::FILES).await
            })
            .await;
        match found {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::not_found("search", at)),
            found => Ok(rows::below(at, found?)),
        }
    }

    async fn run(&self, line: &str, time: Duration) -> Result<RanLine> {
        let began = Instant::now();
        match self.executed(line, time).await {
            Ok(ExecAnswer { output, exit_code: Some(code), truncated }) => {
                let ended = if code == 124 { Ended::TimedOut } else { Ended::Exited(code) };
                Ok(RanLine { output, ended, is_cut: truncated == Some(true) })
            }
            Ok(_) => Err(Error::new(ErrorKind::Io, "invalid answer of the server in the pod to `/exec`: no exit code")),
            // Servers answer with an error of their own, or not at all, when a command takes too long.
            Err(error) if began.elapsed() >= time && matches!(error.kind(), ErrorKind::Io | ErrorKind::TimedOut) => {
                Ok(RanLine { output: String::new(), ended: Ended::TimedOut, is_cut: false })
            }
            Err(error) => Err(error),
        }
    }

    async fn usage(&self) -> Result<Usage> {
        let (age, idle) = self.times();
        self.call(async |server| server.health().await).await?;
        Ok(Usage::default().age(age).idle(idle))
    }

    async fn isolation(&self) -> Result<Isolation> {
        let serving = self.serving().await?;
        let lacking = [
            "the server in the pod is a process that commands can end or replace",
            "the server in the pod decides whether a command that timed out is stopped",
            "the pod stays if this process ends without stopping it",
            "calls to the pod are not encrypted",
        ];
        let seen = Isolation::new(IsolationLevel::Container).lacking(lacking.map(str::to_owned).to_vec());
        let pods = self.cluster.pods().await?;
        let pod = patiently(|| pods.get_opt(&serving.name)).await;
        let pod = pod.map_err(|error| errors::failed(&format!("read the pod `{}`", serving.name), &error))?;
        Ok(pod.map_or(seen.clone(), |pod| report::complete(seen, &pod, Some(serving.way))))
    }

    async fn end(&self) -> Result<()> {
        self.release().await
    }
}
