//! Two hundred terminals that print at once, each to a client of its own.

use std::time::Duration;

use futures_util::StreamExt;
use hyper::Method;
use serde_json::json;
use tokio::{net::TcpStream, task::JoinSet};
use tokio_tungstenite::{
    client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use super::{calls, client::Client, servers::Workden};
use crate::{
    Failure,
    lines::{Line, Target},
    memory,
    samples::Samples,
};

const TERMINALS: usize = 200;
/// Sessions that they are spread over.
const SESSIONS: usize = 20;
/// Lines that each prints, one every tenth of a second.
const TICKS: usize = 150;
/// A line is this late at most, at the median.
const LATE: Duration = Duration::from_millis(100);
/// Memory of the service meanwhile.
const MOST_BYTES: u64 = 300_000_000;

/// Measures how late the lines of all terminals come.
pub(super) async fn streaming(ours: &Workden) -> Result<Vec<Line>, Failure> {
    eprintln!("running: {TERMINALS} terminals");
    let mut client = Client::of(ours.linux()).await?;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(calls::created(&mut client).await?);
    }
    // One process, since starting `date` and `sleep` for each line would be most of the work.
    let line = format!(
        "perl -MTime::HiRes=time,sleep -e '$| = 1; for (1..{TICKS}) {{ printf \"%.0f\\n\", time * 1e9; sleep 0.1 }}'"
    );
    let start = json!({ "command": line, "terminal": { "rows": 24, "columns": 80 } });
    let mut reading = JoinSet::new();
    for at in 0..TERMINALS {
        let place = client.face.session(&sessions[at % SESSIONS]);
        let process = client.json(Method::POST, &format!("{place}/processes"), &start).await?;
        // At once, so that no line waits for its client.
        let path = format!("{place}/processes/{}/attach", process["id"]);
        let (address, key) = (ours.linux().address.clone(), ours.linux().key.clone());
        reading.spawn(async move { read(&address, &key, &path).await.map_err(|error| error.to_string()) });
    }
    let held = memory::of_process(ours.process())?;
    let mut samples = Samples::default();
    while let Some(late) = reading.join_next().await {
        let late = late??;
        if late.len() != TICKS {
            return Err(format!("a terminal printed {} of {TICKS} lines", late.len()).into());
        }
        late.into_iter().for_each(|time| samples.add(time));
    }
    for session in &sessions {
        client.delete(session).await?;
    }
    Ok(vec![
        Line::alone("200 terminals at once: a line is late by", &samples, Target::Within(LATE)),
        Line::bytes("the service meanwhile", held.proportional, MOST_BYTES),
    ])
}

/// Reads a terminal to its end, and returns how late each line came.
async fn read(address: &str, key: &str, path: &str) -> Result<Vec<Duration>, Failure> {
    let stream = TcpStream::connect(address).await?;
    let mut request = format!("ws://{address}{path}").into_client_request()?;
    request.headers_mut().insert("x-sandbox-token", key.parse()?);
    let (mut socket, _) = client_async(request, stream).await?;
    let (mut late, mut held) = (Vec::new(), String::new());
    while let Some(message) = socket.next().await {
        match message? {
            Message::Binary(bytes) => held.push_str(&String::from_utf8_lossy(bytes.get(1..).unwrap_or_default())),
            Message::Text(_) => break,
            _ => continue,
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        while let Some((line, rest)) = held.split_once('\n') {
            let printed = Duration::from_nanos(line.trim().parse()?);
            late.push(now.saturating_sub(printed));
            held = rest.to_owned();
        }
    }
    Ok(late)
}
