//! Two hundred terminals that print at once, each to a client of its own.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use hyper::Method;
use serde_json::json;
use tokio::net::TcpStream;
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
const TICKS: usize = 50;
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
    let line = format!("i=0; while [ $i -lt {TICKS} ]; do date +%s%N; sleep 0.1; i=$((i + 1)); done");
    let start = json!({ "command": line, "terminal": { "rows": 24, "columns": 80 } });
    let mut paths = Vec::new();
    for at in 0..TERMINALS {
        let place = client.face.session(&sessions[at % SESSIONS]);
        let process = client.json(Method::POST, &format!("{place}/processes"), &start).await?;
        paths.push(format!("{place}/processes/{}/attach", process["id"]));
    }
    let began = Instant::now();
    let reading = paths.iter().map(|path| read(ours, path));
    let late = futures_util::future::try_join_all(reading);
    let looking = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        memory::of_process(ours.process())
    };
    let (late, held) = futures_util::future::join(late, looking).await;
    let (late, held) = (late?, held?);
    let mut samples = Samples::default();
    for each in &late {
        if each.len() != TICKS {
            return Err(
                format!("a terminal printed {} of {TICKS} lines within {:?}", each.len(), began.elapsed()).into()
            );
        }
        each.iter().for_each(|time| samples.add(*time));
    }
    for session in &sessions {
        client.delete(session).await?;
    }
    Ok(vec![
        Line::alone("200 terminals at once: a line is late by", &samples, Target::Within(LATE)),
        Line::bytes("the service meanwhile", held.proportional, MOST_BYTES),
    ])
}

/// Reads a terminal to its end, and returns how late each line came. What was printed before the client came is as late
/// as that.
async fn read(ours: &Workden, path: &str) -> Result<Vec<Duration>, Failure> {
    let side = ours.linux();
    let stream = TcpStream::connect(&side.address).await?;
    let mut request = format!("ws://{}{path}", side.address).into_client_request()?;
    request.headers_mut().insert("x-sandbox-token", side.key.parse()?);
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
