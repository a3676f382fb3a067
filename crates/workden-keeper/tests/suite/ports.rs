//! Connections to servers in a keeper on the host, where other servers are near.

use std::{
    net::{Ipv4Addr, TcpListener},
    time::Duration,
};

use futures_util::{AsyncReadExt, AsyncWriteExt};
use workden_core::{
    ErrorKind,
    sandbox::{JobRequest, Sandbox},
};

use crate::common::TestKeeper;

const SERVE: &str = "exec python3 -c \"
import socket
server = socket.create_server(('127.0.0.1', 0))
open('port', 'w').write(str(server.getsockname()[1]) + '\\n')
while True:
    client = server.accept()[0]
    client.sendall(client.recv(100))
\"";

/// Starts a server in the sandbox, and returns its port.
async fn server(test: &TestKeeper) -> u16 {
    test.keeper.start_job(&JobRequest::shell(SERVE)).await.unwrap();
    loop {
        let text = std::fs::read_to_string(test.directory.path().join("port")).unwrap_or_default();
        match text.trim().parse() {
            Ok(port) if text.ends_with('\n') => return port,
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

#[tokio::test]
async fn a_server_of_the_machine_is_not_reached() {
    let test = TestKeeper::new();
    let of_machine = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    of_machine.set_nonblocking(true).unwrap();
    // A command runs, so there are processes of the sandbox.
    let own = server(&test).await;
    let port = of_machine.local_addr().unwrap().port();
    let refused = test.keeper.connect_port(port).await.err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    assert_eq!(refused.sentence(), format!("no server of the sandbox listens on port {port}"));
    assert!(of_machine.accept().is_err(), "a connection came");
    assert!(test.keeper.connect_port(own).await.is_ok());
}

#[tokio::test]
async fn an_open_connection_is_use_of_the_sandbox() {
    let test = TestKeeper::new();
    let port = server(&test).await;
    let mut stream = test.keeper.connect_port(port).await.unwrap();
    stream.write_all(b"hi").await.unwrap();
    let mut back = [0; 2];
    stream.read_exact(&mut back).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(test.keeper.usage().await.unwrap().idle, Duration::ZERO);
    drop(stream);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(test.keeper.usage().await.unwrap().idle >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_stopped_sandbox_has_no_ports() {
    let test = TestKeeper::new();
    let port = server(&test).await;
    let mut stream = test.keeper.connect_port(port).await.unwrap();
    test.keeper.stop().await.unwrap();
    let mut rest = [0; 1];
    assert!(matches!(stream.read(&mut rest).await, Ok(0) | Err(_)));
    assert_eq!(test.keeper.connect_port(port).await.err().unwrap().kind(), ErrorKind::Gone);
}
