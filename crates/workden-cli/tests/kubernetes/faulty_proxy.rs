//! `FaultyProxy`: a way to the API server that breaks on demand. `kubectl proxy` does the authentication behind it.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex},
};

use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};
use workden_sandboxes::kubernetes::Cluster;

use crate::places;

/// A request that is not answered as usual.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) method: &'static str,
    /// A part of the path and query.
    pub(crate) path: &'static str,
    pub(crate) instead: Instead,
    pub(crate) times: usize,
}

/// What happens to a request.
#[derive(Clone, Debug)]
pub(crate) enum Instead {
    /// It gets this answer: the status line, and the body.
    Answer(&'static str, String),
    /// The API server does what it says, and the answer is lost.
    LoseAnswer,
}

/// A proxy in front of the API server.
pub(crate) struct FaultyProxy {
    behind: Child,
    /// It ends when it cannot write.
    _said: BufReader<ChildStdout>,
    kubeconfig: NamedTempFile,
    shared: Arc<Shared>,
}

struct Shared {
    behind: u16,
    faults: Mutex<Vec<Fault>>,
    open: Mutex<Vec<AbortHandle>>,
    refuses: Mutex<bool>,
}

impl FaultyProxy {
    pub(crate) async fn start() -> Self {
        let mut behind = Command::new(places::kubectl_program())
            .arg("--kubeconfig")
            .arg(places::kubeconfig())
            .args(["proxy", "--port=0", "--reject-paths=^$"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(behind.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            behind: port,
            faults: Mutex::default(),
            open: Mutex::default(),
            refuses: Mutex::new(false),
        });
        let kubeconfig = NamedTempFile::new().unwrap();
        let text = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "faulty",
            "clusters": [{"name": "faulty", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "without-credentials", "user": {}}],
            "contexts": [{"name": "faulty", "context": {"cluster": "faulty", "user": "without-credentials"}}],
        });
        std::fs::write(&kubeconfig, text.to_string()).unwrap();
        tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { behind, _said: said, kubeconfig, shared }
    }

    /// Returns the cluster, as it is seen through this proxy.
    pub(crate) fn cluster(&self) -> Cluster {
        Cluster::kubeconfig(self.kubeconfig.path())
    }

    pub(crate) fn break_with(&self, fault: Fault) {
        self.shared.faults.lock().unwrap().push(fault);
    }

    /// How many faults have not happened.
    pub(crate) fn faults_left(&self) -> usize {
        self.shared.faults.lock().unwrap().iter().map(|fault| fault.times).sum()
    }

    /// Cuts all connections.
    pub(crate) fn cut(&self) {
        self.shared.open.lock().unwrap().drain(..).for_each(|open| open.abort());
    }

    /// Refuses connections, like an API server that has been killed; or accepts them again.
    pub(crate) fn refuse(&self, refuses: bool) {
        *self.shared.refuses.lock().unwrap() = refuses;
        if refuses {
            self.cut();
        }
    }
}

impl Drop for FaultyProxy {
    fn drop(&mut self) {
        let _ = self.behind.kill();
        let _ = self.behind.wait();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        if *shared.refuses.lock().unwrap() {
            continue;
        }
        let serving = tokio::spawn(one(client, Arc::clone(&shared)));
        shared.open.lock().unwrap().push(serving.abort_handle());
    }
}

/// Serves one request of a connection, and closes it.
async fn one(mut client: TcpStream, shared: Arc<Shared>) {
    let Some((head, mut rest)) = head(&mut client).await else { return };
    let mut behind = TcpStream::connect(("127.0.0.1", shared.behind)).await.unwrap();
    let (mut line, lower) = (head.split(' '), head.to_lowercase());
    let (method, path) = (line.next().unwrap_or_default(), line.next().unwrap_or_default());
    let fault = {
        let mut faults = shared.faults.lock().unwrap();
        let fits = |fault: &&mut Fault| fault.times > 0 && fault.method == method && path.contains(fault.path);
        faults.iter_mut().find(fits).map(|fault| {
            fault.times -= 1;
            fault.instead.clone()
        })
    };
    if let Some(Instead::Answer(status, body)) = fault {
        read_body(&mut client, &lower, &mut rest).await;
        let length = body.len();
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        let _ = client.write_all(answer.as_bytes()).await;
        let _ = client.shutdown().await;
        return;
    }
    let is_upgrade = lower.contains("\r\nupgrade:");
    let head = if is_upgrade { head } else { head.replacen("\r\n", "\r\nConnection: close\r\n", 1) };
    behind.write_all(head.as_bytes()).await.unwrap();
    if fault.is_some() {
        read_body(&mut client, &lower, &mut rest).await;
        behind.write_all(&rest).await.unwrap();
        let _ = behind.read_to_end(&mut Vec::new()).await;
        return;
    }
    behind.write_all(&rest).await.unwrap();
    let _ = copy_bidirectional(&mut client, &mut behind).await;
}

/// Reads the head of a request, and what has come after it.
async fn head(client: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            return Some((String::from_utf8(read).unwrap(), rest));
        }
        if client.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

async fn read_body(client: &mut TcpStream, head: &str, read: &mut Vec<u8>) {
    let length = head.split("\r\n").find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    while read.len() < length && client.read_buf(read).await.unwrap() > 0 {}
}
