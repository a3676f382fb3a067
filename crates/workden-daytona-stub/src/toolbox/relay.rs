//! A byte stream to a port on the loopback of a sandbox. The sandbox has a network of its own, so that a command
//! inside connects, and its standard streams are the connection.

use bytes::Bytes;
use futures_util::StreamExt;
use hyper::StatusCode;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf},
    task::JoinSet,
};
use workden_core::sandbox::{Command, Process, ProcessControl, ProcessEvent, ProcessEvents, SpawnRequest, Stream};

use crate::{answer::Refused, place::Place};

/// Says `+` when it is connected, and then copies both ways until the server closes.
const RELAY: &str = r#"exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
exec 4<&0
printf +
cat <&4 >&3 & i=$!
cat <&3
kill $i 2>/dev/null"#;
/// Bytes that are on their way in each direction.
const BUFFER: usize = 64 * 1024;

/// A connection. It ends with the guard, which ends the command.
pub(super) struct Relay {
    pub(super) stream: DuplexStream,
    pub(super) guard: RelayGuard,
}

/// Keeps a connection open.
#[derive(Debug)]
pub(super) struct RelayGuard(#[expect(dead_code, reason = "dropping it ends the tasks")] JoinSet<()>);

pub(super) async fn connect(place: &Place, port: u16) -> Result<Relay, Refused> {
    let words = ["bash", "-c", RELAY, "relay", &port.to_string()].map(str::to_owned).to_vec();
    let Process { mut events, control, .. } = place.spawn(&SpawnRequest::piped(Command::Program(words))).await?;
    let first = connected(&mut events).await.ok_or_else(|| {
        Refused::new(StatusCode::BAD_GATEWAY, format!("cannot connect to port {port} of the sandbox"))
    })?;
    let (stream, inner) = tokio::io::duplex(BUFFER);
    let (from, to) = tokio::io::split(inner);
    let mut tasks = JoinSet::new();
    tasks.spawn(send(from, control));
    tasks.spawn(receive(first, events, to));
    Ok(Relay { stream, guard: RelayGuard(tasks) })
}

/// Waits for the connection, and returns the bytes that came with the sign.
async fn connected(events: &mut ProcessEvents) -> Option<Bytes> {
    while let Some(Ok(event)) = events.next().await {
        match event {
            ProcessEvent::Printed(Stream::Output, bytes) => {
                return bytes.strip_prefix(b"+").map(|rest| bytes.slice_ref(rest));
            }
            ProcessEvent::Printed(Stream::Error, _) | ProcessEvent::LimitHit(_) => {}
            ProcessEvent::Ended(_) => return None,
        }
    }
    None
}

async fn send(mut from: ReadHalf<DuplexStream>, control: Box<dyn ProcessControl>) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let bytes = Bytes::copy_from_slice(buffer.get(..length).unwrap_or_default());
        if control.write(bytes).await.is_err() {
            return;
        }
    }
    // The control stays: dropping the input would not end the connection, which the guard does.
    std::future::pending().await
}

async fn receive(first: Bytes, mut events: ProcessEvents, mut to: WriteHalf<DuplexStream>) {
    let mut next = Some(first);
    loop {
        if let Some(bytes) = next.take()
            && to.write_all(&bytes).await.is_err()
        {
            return;
        }
        match events.next().await {
            Some(Ok(ProcessEvent::Printed(Stream::Output, bytes))) => next = Some(bytes),
            Some(Ok(ProcessEvent::Printed(Stream::Error, _) | ProcessEvent::LimitHit(_))) => {}
            Some(Ok(ProcessEvent::Ended(_)) | Err(_)) | None => break,
        }
    }
    let _ = to.shutdown().await;
}
