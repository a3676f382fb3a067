//! Connections to servers in the sandbox. Needs `python3`.

use futures_util::{AsyncReadExt, AsyncWriteExt, future::try_join_all};
use workden_core::{
    ErrorKind,
    sandbox::{PortStream, Sandbox},
};

use super::{
    calls::{AT_ONCE, job, printed, until, within},
    check::list_sandbox_checks,
};
use crate::{
    Failure, Outcome,
    verdict::{ensure, equal, refused},
};

list_sandbox_checks! { ports:
    what_is_sent_to_a_server_arrives_and_so_does_its_answer,
    a_server_may_listen_on_all_addresses_or_on_version_6,
    megabytes_go_both_ways_at_once,
    several_connections_are_open_at_a_time,
    a_port_without_a_server_is_not_found,
    a_connection_ends_with_its_server,
}

/// A server that sends back what it gets, on an address of the test; its port is in the file `port`.
const ECHO: &str = "
import os, socket, sys, threading
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
server = socket.socket(family)
server.bind((sys.argv[1], 0))
server.listen(64)
with open('port.new', 'w') as file:
    file.write(str(server.getsockname()[1]))
os.rename('port.new', 'port')
def echo(client):
    with client:
        while piece := client.recv(65536):
            client.sendall(piece)
while True:
    threading.Thread(target=echo, args=(server.accept()[0],), daemon=True).start()
";

/// Says something where there is no version 6.
const VERSION_6: &str = "python3 -c \"import socket; socket.socket(socket.AF_INET6).bind(('::1', 0))\" 2>&1 || true";

/// Starts the server, and returns its port.
async fn server(sandbox: &dyn Sandbox, address: &str) -> Result<u16, Failure> {
    // Another check may have left one in the same sandbox.
    printed(sandbox, "rm -f port").await?;
    job(sandbox, &format!("exec python3 -c \"{ECHO}\" {address}")).await?;
    until(sandbox, "[ -s port ]", AT_ONCE).await?;
    let port = printed(sandbox, "cat port").await?;
    port.trim().parse().map_err(|_| Failure::new(format!("{port:?} is not a port")))
}

/// Sends text, ends sending, and returns everything that comes back.
async fn exchange(mut stream: PortStream, text: &str) -> Result<String, Failure> {
    let exchanged = async {
        stream.write_all(text.as_bytes()).await?;
        stream.close().await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    within("an exchange", AT_ONCE, exchanged).await?.map_err(|error| Failure::new(error.to_string()))
}

/// The end of what is sent does not end what is received.
pub async fn what_is_sent_to_a_server_arrives_and_so_does_its_answer(sandbox: &dyn Sandbox) -> Outcome {
    let port = server(sandbox, "127.0.0.1").await?;
    equal("the answer", exchange(sandbox.connect_port(port).await?, "hello").await?, "hello")?;
    equal("a second answer", exchange(sandbox.connect_port(port).await?, "").await?, "")
}

/// A sandbox may have no version 6; then its server does not start.
pub async fn a_server_may_listen_on_all_addresses_or_on_version_6(sandbox: &dyn Sandbox) -> Outcome {
    for address in ["0.0.0.0", "::1"] {
        if address == "::1" && !printed(sandbox, VERSION_6).await?.is_empty() {
            continue;
        }
        let port = server(sandbox, address).await?;
        equal(
            format!("the answer at {address}"),
            exchange(sandbox.connect_port(port).await?, "hello").await?,
            "hello",
        )?;
    }
    Ok(())
}

/// Reading and writing do not wait for each other.
pub async fn megabytes_go_both_ways_at_once(sandbox: &dyn Sandbox) -> Outcome {
    let port = server(sandbox, "127.0.0.1").await?;
    let content: Vec<u8> = (0..4_000_000_u32).map(|number| (number % 251) as u8).collect();
    let (mut received, mut sent) = sandbox.connect_port(port).await?.split();
    let sending = async {
        sent.write_all(&content).await?;
        sent.close().await
    };
    let receiving = async {
        let mut all = Vec::new();
        received.read_to_end(&mut all).await.map(|_| all)
    };
    let both = within("4 MB", 2 * AT_ONCE, futures_util::future::try_join(sending, receiving)).await?;
    let ((), all) = both.map_err(|error| Failure::new(error.to_string()))?;
    ensure(all == content, format!("of {} bytes {} came back, or others", content.len(), all.len()))
}

/// Each has its own bytes.
pub async fn several_connections_are_open_at_a_time(sandbox: &dyn Sandbox) -> Outcome {
    let port = server(sandbox, "127.0.0.1").await?;
    let streams = try_join_all((0..20).map(|_| sandbox.connect_port(port))).await?;
    for (number, stream) in streams.into_iter().enumerate() {
        let text = format!("connection {number}");
        equal("its own bytes", exchange(stream, &text).await?, text)?;
    }
    Ok(())
}

/// The sandbox does not offer the servers of the machine around it, whose ports are more likely to be these.
pub async fn a_port_without_a_server_is_not_found(sandbox: &dyn Sandbox) -> Outcome {
    let port = server(sandbox, "127.0.0.1").await?;
    for unused in [1, if port == u16::MAX { port - 1 } else { port + 1 }] {
        refused(format!("port {unused}"), sandbox.connect_port(unused).await.map(drop), ErrorKind::NotFound)?;
    }
    Ok(())
}

/// What was sent before its end arrives.
pub async fn a_connection_ends_with_its_server(sandbox: &dyn Sandbox) -> Outcome {
    let port = server(sandbox, "127.0.0.1").await?;
    let mut stream = sandbox.connect_port(port).await?;
    let mut echoed = [0; 2];
    let exchanged = async {
        stream.write_all(b"hi").await?;
        stream.read_exact(&mut echoed).await
    };
    within("an exchange", AT_ONCE, exchanged).await?.map_err(|error| Failure::new(error.to_string()))?;
    for job in sandbox.jobs().await? {
        sandbox.kill_job(&job.id).await?;
    }
    // Bytes that were on their way may turn the end into an error.
    let rest = within("the end", AT_ONCE, stream.read(&mut echoed)).await?;
    ensure(matches!(rest, Ok(0) | Err(_)), format!("{rest:?} came after the end of the server"))?;
    refused("a new connection", sandbox.connect_port(port).await.map(drop), ErrorKind::NotFound).map(drop)
}
