//! Connections to servers that commands have started.
//!
//! Invariant: only a server of the sandbox is reached. In a network namespace of its own there are no others; elsewhere
//! the process that listens must be one of the sandbox's.

mod held_stream;
mod listeners;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

pub(crate) use held_stream::HeldStream;
use listeners::{Owners, own_listeners};
use tokio::net::TcpStream;
use workden_core::{
    Error, ErrorKind, Result,
    sandbox::{Isolation, IsolationLevel, Wall},
};

/// Connects to a server on a port. `reapers` are the processes from which all commands of the sandbox descend.
pub(crate) async fn connect(port: u16, isolation: &Isolation, reapers: Vec<i32>) -> Result<TcpStream> {
    let addresses = match owners(isolation, reapers) {
        None => loopback(port).to_vec(),
        Some(owners) => {
            let look = tokio::task::spawn_blocking(move || own_listeners(port, &owners));
            look.await.unwrap_or_default().unwrap_or_else(|| loopback(port).to_vec())
        }
    };
    for address in addresses {
        if let Ok(stream) = TcpStream::connect(address).await {
            // Small messages of a terminal or a game should not wait for more.
            let _ = stream.set_nodelay(true);
            return Ok(stream);
        }
    }
    Err(Error::new(ErrorKind::NotFound, format!("no server of the sandbox listens on port {port}"))
        .hint("start one with a command, and let it listen on 127.0.0.1 or on all addresses"))
}

fn loopback(port: u16) -> [SocketAddr; 2] {
    [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]
}

/// Returns whose servers may be reached; `None` if there can be no other servers.
fn owners(isolation: &Isolation, reapers: Vec<i32>) -> Option<Owners> {
    match isolation.level {
        _ if isolation.walls.contains(&Wall::NetworkNamespace) => None,
        // A process of the container may have been started by another program than the keeper.
        IsolationLevel::Container => Some(Owners::AllProcesses),
        IsolationLevel::None | IsolationLevel::Landlock | IsolationLevel::Namespaces => {
            Some(Owners::DescendantsOf(reapers))
        }
    }
}
