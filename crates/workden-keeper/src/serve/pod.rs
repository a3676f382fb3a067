//! A keeper in a pod. It waits on its socket for a launcher, which sends the token and the certificate before the first
//! command can run; then it serves that stream, and clients with the token over TLS, on the socket and on a port.
//!
//! Invariant: the keeper accepts one launch. The token is in no file, argument or variable of the pod, so commands
//! cannot learn it, although they run as the same user.

use std::{
    net::{Ipv4Addr, Ipv6Addr, TcpListener},
    sync::Arc,
    time::Duration,
};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    time::timeout,
};
use workden_core::{Error, ErrorKind, Result};
use workden_wire::{Launch, LaunchTarget, Lifetime, PodAccess, Reply, TokenHash, limits, read_launch, write_reply};

use super::{
    arguments::PodArguments,
    launch_config,
    lease::{self, Entrances},
    lifetime::{self, EndConditions, LauncherStream},
    runtime,
    signals::Signals,
    tls,
};
use crate::{config::KeeperConfig, keeper::Keeper, sys};

/// How long a launcher may take to send its line.
const LINE_TIME: Duration = Duration::from_secs(10);

/// Waits for a launcher, and serves until the end.
pub(super) fn run(pod: &PodArguments) -> Result<()> {
    sys::give_memory_back();
    // Before the token arrives.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let listener = lease::listen(&pod.socket)?;
    let runtime = runtime::build()?;
    let done = runtime.block_on(async {
        let again = listener.try_clone().and_then(UnixListener::from_std).map_err(|error| unusable(&error))?;
        let Some((stream, prepared)) = wait_for_launch(&again, pod.wait).await? else { return Ok(()) };
        drop(again);
        let Prepared { config, access, entrances, token } = prepared;
        let keeper = Arc::new(Keeper::new(config)?);
        let own = LauncherStream { stream, options: lease::options(token) };
        let ends = EndConditions { lease: Some(access.ttl), ..EndConditions::default() };
        lifetime::serve_until_end(keeper, Some(own), Some(Entrances { socket: Some(listener), ..entrances }), ends)
            .await
    });
    runtime.shutdown_background();
    done
}

/// Everything that a launch decides.
struct Prepared {
    config: KeeperConfig,
    access: PodAccess,
    entrances: Entrances,
    token: TokenHash,
}

/// Waits for the first valid launch; `None` when the pod ends before.
async fn wait_for_launch(listener: &UnixListener, wait: Option<Duration>) -> Result<Option<(UnixStream, Prepared)>> {
    let mut signals = Signals::new()?;
    let launched = async {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { continue };
            let prepared = match timeout(LINE_TIME, line(&mut stream)).await {
                Ok(Ok(line)) => read_launch(&mut line.as_slice()).and_then(prepare),
                Ok(Err(_)) | Err(_) => continue,
            };
            match prepared {
                Ok(prepared) => {
                    if reply(&mut stream, &Reply::Ready).await.is_ok() {
                        return (stream, prepared);
                    }
                }
                // The launcher can try again.
                Err(error) => drop(reply(&mut stream, &Reply::Refused(error)).await),
            }
        }
    };
    tokio::select! {
        launched = launched => Ok(Some(launched)),
        () = signals.told_to_end() => Ok(None),
        () = lifetime::after(wait) => Err(Error::new(ErrorKind::TimedOut, "no launcher connected to the keeper in time")),
    }
}

/// Reads one line, and no byte after it.
async fn line(stream: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        line.push(stream.read_u8().await?);
        if line.ends_with(b"\n") || line.len() > limits::LAUNCH_BYTES {
            return Ok(line);
        }
    }
}

pub(super) async fn reply(stream: &mut UnixStream, reply: &Reply) -> Result<()> {
    let mut line = Vec::new();
    write_reply(&mut line, reply)?;
    stream.write_all(&line).await.map_err(|error| unusable(&error))
}

fn prepare(launch: Launch) -> Result<Prepared> {
    let (LaunchTarget::Container { directory, environment: more }, Lifetime::Pod(access)) =
        (launch.target, launch.lifetime)
    else {
        return Err(Error::new(ErrorKind::InvalidArgument, "the keeper of a pod requires a launch for a pod"));
    };
    let token = TokenHash::parse(&access.token_sha256)?;
    let tls = tls::acceptor(&access)?;
    let port = listen_on(access.port)?;
    let mut environment: std::collections::BTreeMap<_, _> = std::env::vars().collect();
    environment.extend(more);
    let config = launch_config::container(directory, environment);
    let entrances = Entrances { token: token.clone(), socket: None, port: Some(port), tls: Some(tls) };
    Ok(Prepared { config, access, entrances, token })
}

/// Listens on all addresses. Clusters with only IPv4 do not have the other kind of socket.
fn listen_on(port: u16) -> Result<TcpListener> {
    let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    listener.map_err(|error| Error::new(ErrorKind::Io, format!("cannot listen on port {port}: {}", error.kind())))
}

fn unusable(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot use the socket of the keeper: {}", error.kind()))
}
