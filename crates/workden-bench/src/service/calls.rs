//! The calls that are compared, in the words of each service.

use bytes::Bytes;
use hyper::Method;
use serde_json::{Value, json};

use super::{client::Client, servers::Face};
use crate::Failure;

/// Bytes of the file that is read and written.
pub(super) const SMALL: usize = 4 << 10;
/// Entries of the directory that is listed.
const ENTRIES: usize = 100;

/// One kind of call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Run,
    Read,
    Write,
    List,
}

pub(super) const CALLS: [Call; 4] = [Call::Run, Call::Read, Call::Write, Call::List];

impl Call {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Run => "run `true`",
            Self::Read => "read 4 KiB",
            Self::Write => "write 4 KiB",
            Self::List => "list 100 entries",
        }
    }

    /// How often it is made in a round.
    pub(super) fn batch(self) -> usize {
        match self {
            Self::Run => 5,
            Self::Read | Self::Write | Self::List => 20,
        }
    }

    /// Makes the call, and checks its answer.
    pub(super) async fn make(self, client: &mut Client, session: &str) -> Result<(), Failure> {
        match self {
            Self::Run => run(client, session, "true").await.map(drop),
            Self::Read => read(client, session).await,
            Self::Write => write(client, session, &[b'w'; SMALL]).await,
            Self::List => list(client, session).await,
        }
    }
}

/// Creates a session, and waits for the first output of a command in it.
pub(super) async fn created(client: &mut Client) -> Result<String, Failure> {
    let (path, body) = match client.face.clone() {
        Face::Workden { runtime } => ("/v1/sessions", json!({ "runtime": runtime })),
        Face::Sandboxd => ("/sessions", json!({})),
    };
    let made = client.json(Method::POST, path, &body).await?;
    let id = made["id"].as_str().or(made["session"]["session_id"].as_str()).or(made["session_id"].as_str());
    let id = id.ok_or_else(|| format!("no session in {made}"))?.to_owned();
    match run(client, &id, "echo ready").await?.as_str() {
        "ready\n" => Ok(id),
        other => Err(format!("the first command printed {other:?}").into()),
    }
}

/// Makes the files that the calls use.
pub(super) async fn prepare(client: &mut Client, session: &str) -> Result<(), Failure> {
    let line = format!(
        "mkdir -p many && cd many && i=0 && while [ $i -lt {ENTRIES} ]; do echo $i > entry_$i; i=$((i + 1)); done && \
         cd .. && head -c {SMALL} /dev/zero | tr '\\0' r > read.txt"
    );
    run(client, session, &line).await.map(drop)
}

pub(super) async fn run(client: &mut Client, session: &str, line: &str) -> Result<String, Failure> {
    let place = client.face.session(session);
    let (path, body) = match client.face {
        Face::Workden { .. } => (format!("{place}/commands"), json!({ "command": line })),
        Face::Sandboxd => {
            let run: String = (0..32).map(|_| char::from(b"0123456789abcdef"[fastrand()])).collect();
            (format!("{place}/run"), json!({ "argv": ["sh", "-c", line], "env": {}, "run_id": run }))
        }
    };
    let done = client.json(Method::POST, &path, &body).await?;
    if done["exit_code"] != 0 {
        return Err(format!("`{line}`: {done}").into());
    }
    let output = done["output"].as_str().or(done["stdout"].as_str());
    Ok(output.unwrap_or_default().to_owned())
}

/// Returns a digit: the peer wants a new name for each command.
fn fastrand() -> usize {
    use std::hash::{BuildHasher, Hasher, RandomState};
    usize::try_from(RandomState::new().build_hasher().finish() & 15).unwrap_or(0)
}

pub(super) async fn read(client: &mut Client, session: &str) -> Result<(), Failure> {
    let place = client.face.session(session);
    let bytes = match client.face {
        Face::Workden { .. } => {
            client.call(Method::GET, &format!("{place}/files?path=read.txt"), Bytes::new(), "text/plain").await?
        }
        Face::Sandboxd => {
            let body = json!({ "path": "/workspace/read.txt" }).to_string().into();
            client.call(Method::POST, &format!("{place}/files/read"), body, "application/json").await?
        }
    };
    match bytes.len() == SMALL && bytes.iter().all(|byte| *byte == b'r') {
        true => Ok(()),
        false => Err(format!("read {} bytes, or others", bytes.len()).into()),
    }
}

async fn write(client: &mut Client, session: &str, content: &[u8]) -> Result<(), Failure> {
    let place = client.face.session(session);
    let (method, path) = match client.face {
        Face::Workden { .. } => (Method::PUT, format!("{place}/files?path=written.txt")),
        Face::Sandboxd => (Method::POST, format!("{place}/files/write?path=/workspace/written.txt")),
    };
    client.call(method, &path, Bytes::copy_from_slice(content), "application/octet-stream").await.map(drop)
}

async fn list(client: &mut Client, session: &str) -> Result<(), Failure> {
    let place = client.face.session(session);
    let listed = match client.face {
        Face::Workden { .. } => {
            client.json(Method::GET, &format!("{place}/files/list?path=many"), &Value::Null).await?
        }
        Face::Sandboxd => {
            client.json(Method::POST, &format!("{place}/files/list"), &json!({ "path": "/workspace/many" })).await?
        }
    };
    let entries = listed["entries"].as_array().or(listed.as_array());
    match entries.map(Vec::len) {
        Some(ENTRIES) => Ok(()),
        other => Err(format!("listed {other:?} entries, not {ENTRIES}").into()),
    }
}
