//! Reads of several clients at once.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    calls::SMALL,
    servers::{Face, Side},
};
use crate::Failure;

/// Clients that read at the same time.
const CLIENTS: usize = 8;
/// How long they read.
const TIME: Duration = Duration::from_secs(5);

/// What several clients came to.
pub(super) struct Load {
    /// Calls in a second, of all together.
    pub(super) rate: f64,
    /// The time within which 99 of 100 calls were answered.
    pub(super) latest: Duration,
}

/// Reads a small file again and again.
pub(super) async fn reads(side: &Side, session: &str) -> Result<Load, Failure> {
    let readers = futures_util::future::try_join_all((0..CLIENTS).map(|_| Reader::of(side, session))).await?;
    let began = Instant::now();
    let each = readers.into_iter().map(async |mut reader| {
        let mut times = Vec::new();
        while began.elapsed() < TIME {
            let start = Instant::now();
            reader.read().await?;
            times.push(start.elapsed());
        }
        Ok::<_, Failure>(times)
    });
    let mut times: Vec<Duration> = futures_util::future::try_join_all(each).await?.concat();
    let rate = times.len() as f64 / began.elapsed().as_secs_f64();
    times.sort_unstable();
    let latest = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    Ok(Load { rate, latest })
}

/// A connection that sends the same bytes again and again. Client and service share the processors: what the client
/// needs for itself, the service lacks.
struct Reader {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Reader {
    async fn of(side: &Side, session: &str) -> Result<Self, Failure> {
        let place = side.face.session(session);
        let (line, body) = match side.face {
            Face::Workden { .. } => (format!("GET {place}/files?path=read.txt"), String::new()),
            Face::Sandboxd => {
                (format!("POST {place}/files/read"), json!({ "path": "/workspace/read.txt" }).to_string())
            }
        };
        let (host, key, length) = (&side.address, &side.key, body.len());
        let head = format!(
            "{line} HTTP/1.1\r\nhost: {host}\r\nx-sandbox-token: {key}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n"
        );
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, request: (head + &body).into_bytes(), answer: Vec::with_capacity(4 * SMALL) })
    }

    /// Reads the file once, and checks that it was.
    async fn read(&mut self) -> Result<(), Failure> {
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err("the service closed the connection".into());
            }
            let mut fields = [httparse::EMPTY_HEADER; 64];
            let mut head = httparse::Response::new(&mut fields);
            let httparse::Status::Complete(start) = head.parse(&self.answer)? else { continue };
            let length = head.headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
            if head.code != Some(200) || length.is_none_or(|field| field.value != SMALL.to_string().as_bytes()) {
                return Err(format!("read: {}", String::from_utf8_lossy(&self.answer)).into());
            }
            let body = &self.answer[start..];
            match body.len() {
                SMALL if body.iter().all(|byte| *byte == b'r') => return Ok(()),
                more if more >= SMALL => return Err("read other bytes".into()),
                _ => {}
            }
        }
    }
}
