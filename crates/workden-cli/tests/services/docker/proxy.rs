//! A proxy to the daemon over TCP, whose connections a test can cut.

use std::sync::Arc;

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, UnixStream},
    sync::watch,
};
use workden_sandboxes::docker::Daemon;

/// What the proxy does with bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    /// Nothing gets through, and neither side gets an error.
    Dead,
}

/// A proxy to the daemon.
pub(crate) struct Proxy {
    address: String,
    way: Arc<watch::Sender<Way>>,
    /// Connections from before a change of this number are closed.
    generation: Arc<watch::Sender<u64>>,
}

impl Proxy {
    /// Starts a proxy to the daemon of `DOCKER_HOST`, which must be a Unix socket.
    pub(crate) async fn new() -> Self {
        let host = std::env::var("DOCKER_HOST").unwrap();
        Self::to(host.strip_prefix("unix://").unwrap().to_owned()).await
    }

    async fn to(socket: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("tcp://{}", listener.local_addr().unwrap());
        let (way, generation) = (Arc::new(watch::Sender::new(Way::Open)), Arc::new(watch::Sender::new(0)));
        let (ways, generations) = (Arc::clone(&way), Arc::clone(&generation));
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = UnixStream::connect(&socket).await else { continue };
                let (near_in, near_out) = near.into_split();
                let (far_in, far_out) = far.into_split();
                let mut cut = generations.subscribe();
                cut.mark_unchanged();
                let (up, down) = (pass(near_in, far_out, ways.subscribe()), pass(far_in, near_out, ways.subscribe()));
                tokio::spawn(async move {
                    tokio::select! {
                        _ = async { tokio::join!(up, down) } => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Self { address, way, generation }
    }

    pub(crate) fn daemon(&self) -> Daemon {
        Daemon::at(&self.address).unwrap()
    }

    /// Closes all connections.
    pub(crate) fn sever(&self) {
        self.generation.send_modify(|number| *number += 1);
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut way: watch::Receiver<Way>) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        if way.wait_for(|way| *way == Way::Open).await.is_err() || to.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}
